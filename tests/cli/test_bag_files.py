"""`init` and `check`: from nothing to a bag file that runs."""

from __future__ import annotations

from pathlib import Path

from tests.cli.conftest import ask, write_sweep


def test_what_init_writes_is_checked_without_complaint(tmp_path: Path) -> None:
    told = ask(tmp_path, "init", "python model.py --alpha {alpha} --seed {seed}")
    assert told.code == 0
    assert "tailrace check bag.toml" in told.out and "tailrace run bag.toml" in told.out
    checked = ask(tmp_path, "check")
    assert checked.code == 0 and "model: 9 tasks, from bag.toml" in checked.out
    assert "python model.py --alpha 1 --seed 1" in checked.out
    assert "python model.py --alpha 3 --seed 3" in checked.out


def test_init_never_overwrites_unless_forced(tmp_path: Path) -> None:
    (tmp_path / "bag.toml").write_text("mine")
    told = ask(tmp_path, "init", "true {x}")
    assert told.code == 2 and "bag.toml is there already" in told.err
    assert (tmp_path / "bag.toml").read_text() == "mine"
    assert ask(tmp_path, "init", "--force", "true {x}").code == 0
    assert "true {x}" in (tmp_path / "bag.toml").read_text()
    assert ask(tmp_path, "init", "-o", "no/b.toml", "true").code == 2


def test_init_takes_one_quoted_command_and_options_on_either_side(tmp_path: Path) -> None:
    assert ask(tmp_path, "init", "echo {x}", "-o", "y.toml").code == 0
    text = (tmp_path / "y.toml").read_text()
    assert "echo {x}" in text and "y.toml" not in text
    told = ask(tmp_path, "init", "echo", "{x}")
    assert told.code == 2 and "Quote the command: tailrace init 'echo {x}'" in told.err
    told = ask(tmp_path, "init", "python", "m.py", "--alpha", "{alpha}")
    assert told.code == 2 and "Quote the command" in told.err
    assert not (tmp_path / "bag.toml").exists()


def test_check_shows_everything_and_starts_nothing(tmp_path: Path) -> None:
    write_sweep(tmp_path)
    told = ask(tmp_path, "check", "bag.toml").out
    for text in ("sweep: 6 tasks", "seed: 3 values", "staged", "work.sh", "time 1m",
                 "out.txt → results/{alpha}/{seed}.txt", "1 core"):  # fmt: skip
        assert text in told
    assert not (tmp_path / ".tailrace").exists()
    as_json = ask(tmp_path, "check", "--json").json
    assert as_json["count"] == 6 and as_json["first"][0] == "sh work.sh 0.1 1"


def test_check_of_a_wrong_file_names_file_line_and_remedy(tmp_path: Path) -> None:
    (tmp_path / "bag.toml").write_text('command = "echo {a}"\nparametres = {a = [1]}\n')
    told = ask(tmp_path, "check")
    assert told.code == 2 and told.err.startswith("tailrace: bag.toml:2: unknown key parametres")
    assert "did you mean parameters?" in told.err
    assert ask(tmp_path, "check", "none.toml").code == 2
    (tmp_path / "bag.toml").unlink()
    assert "tailrace init" in ask(tmp_path, "check").err


def test_a_csv_below_the_parameters_is_told_where_it_belongs(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("a,b\n1,2\n")
    file = tmp_path / "bag.toml"
    file.write_text('command = "echo {a}"\n[parameters]\ncsv = "d.csv"\n')
    told = ask(tmp_path, "check", "bag.toml")
    assert told.code == 2 and 'csv = "d.csv" belongs above [parameters]' in told.err
    file.write_text('command = "echo"\n[parameters]\ncsv = "d.csv"\n')
    told = ask(tmp_path, "check", "bag.toml")
    assert told.code == 2 and "move it above [parameters]" in told.err
    file.write_text('command = "wc {csv}"\n[parameters]\ncsv = "d.csv"\n')
    assert ask(tmp_path, "check", "bag.toml").code == 0, "a parameter may be called so"


def test_the_name_of_a_bag_is_that_of_its_program(tmp_path: Path) -> None:
    for line, name in (
        ("echo 5 > $TAILRACE_RESULT; echo {} > $TAILRACE_RESULT.log", "echo"),
        ("sleep 0.5 # {}", "sleep"),
        ("python3 models/decay.py {} > decay.csv", "decay"),
        ("LANG=C ./simulate {} >out.txt", "simulate"),
        ("$HOME/bin/x.sh {}", "x"),
    ):
        told = ask(tmp_path, "run", "--dry-run", "--json", "--", line, ":::", "1")
        assert told.code == 0 and told.json["name"] == name, (line, told)


def test_wrong_settings_of_a_bag_are_found_by_check(tmp_path: Path) -> None:
    (tmp_path / "bag.toml").write_text('command = "true"\n[settings]\ncores = "lots"\n')
    told = ask(tmp_path, "check")
    assert told.code == 2 and "bag.toml:3: settings.cores: 'lots'" in told.err
