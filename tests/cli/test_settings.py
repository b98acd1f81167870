"""Settings: which one counts, where it came from, and what is wrong with it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.cli.conftest import ask

from tailrace.cli import settings
from tailrace.errors import BadInput

HOUR = 3_600_000_000


@pytest.fixture(autouse=True)
def empty_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("TAILRACE_CORES", "TAILRACE_PORT", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


def test_each_layer_stands_above_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = tmp_path / "a" / "b"
    project.mkdir(parents=True)
    assert settings.load({}, project).origin("cores") == "default"
    mine = tmp_path / "config" / "tailrace" / "config.toml"
    mine.parent.mkdir(parents=True)
    mine.write_text("# mine\ncores = 1\n")
    found = settings.load({}, project)
    assert (found.cores, found.origin("cores")) == (1, f"{mine}:2")
    above = tmp_path / "a" / "tailrace.toml"
    above.write_text("cores = 2")
    found = settings.load({}, project)
    assert (found.cores, found.origin("cores")) == (2, f"{above}:1")
    bag = project / "bag.toml"
    bag.write_text('command = "true"\n[settings]\ncores = 3\n')
    found = settings.load({}, project, bag)
    assert (found.cores, found.origin("cores")) == (3, f"{bag}:3")
    monkeypatch.setenv("TAILRACE_CORES", "4")
    found = settings.load({}, project, bag)
    assert (found.cores, found.origin("cores")) == (4, "TAILRACE_CORES")
    found = settings.load({"cores": 5}, project, bag)
    assert (found.cores, found.origin("cores")) == (5, "--cores")


def test_a_file_that_others_could_have_written_is_passed_over(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project = tmp_path / "open" / "mine"
    project.mkdir(parents=True)
    (tmp_path / "tailrace.toml").write_text("cores = 1")
    strange = tmp_path / "open" / "tailrace.toml"
    strange.write_text('notify = "touch taken"')
    strange.chmod(0o666)
    found = settings.load({}, project)
    assert (found.notify, found.cores) == ((), 1)
    assert f"chmod o-w {strange}" in capsys.readouterr().err
    strange.chmod(0o644)
    assert settings.load({}, project).notify == ("touch taken",)
    if os.geteuid() == 0:
        os.chown(strange, 12345, -1)
        assert settings.load({}, project).notify == ()


def test_the_local_pool_bills_by_the_unit_of_its_price(tmp_path: Path) -> None:
    free = settings.local_pool(settings.load({}, tmp_path))
    assert free.name == "local" and free.billing.cost(HOUR) == 0
    dear = settings.local_pool(settings.load({"price": "0.10 EUR/h", "minimum": "2h"}, tmp_path))
    assert dear.billing.currency == "EUR" and dear.billing.cost(1) == 200_000
    fine = settings.local_pool(settings.load({"price": "2 kWh/min"}, tmp_path))
    assert fine.billing.cost(61_000_000) == 4_000_000


@pytest.mark.parametrize(
    ("line", "said", "remedy"),
    [
        ("coers = 2", "unknown key coers", "did you mean cores?"),
        ("cores = 'many'", "'many' is not a number of cores", 'write cores = 4, "50%" or "all"'),
        ("cores = 0", "0 is not a number of cores above 0", "write cores"),
        ("memory = true", "true is not a quantity", "write memory"),
        ("port = 70000", "70000 is not a port", "write port = 8600"),
        ("port = {}", "a table is not a quantity", "write port"),
        ("price = '3 USD'", "is not a price such as 0.10 USD/h", "write price"),
        ("report = 'maybe'", "'maybe' is neither true nor false", 'write report = "auto"'),
        ("color = 'blue'", "'blue' is none of auto, always, never", "write color"),
        ("cores = = 2", "not valid TOML", "texts need quotes"),
    ],
)
def test_a_fault_names_file_line_and_remedy(
    tmp_path: Path, line: str, said: str, remedy: str
) -> None:
    (tmp_path / "tailrace.toml").write_text(f"# a comment\n{line}\n")
    with pytest.raises(BadInput) as fault:
        settings.load({}, tmp_path)
    text = str(fault.value)
    assert f"{tmp_path}/tailrace.toml:2: " in text and said in text and remedy in text


def test_a_fault_in_the_environment_or_a_flag_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(BadInput, match="--port: 'x' is not a port"):
        settings.load({"port": "x"}, tmp_path)
    monkeypatch.setenv("TAILRACE_PORT", "-1")
    with pytest.raises(BadInput, match="TAILRACE_PORT: '-1' is not a port"):
        settings.load({}, tmp_path)


def test_config_tells_where_each_comes_from(tmp_path: Path) -> None:
    (tmp_path / "tailrace.toml").write_text("cores = 2\n")
    told = ask(tmp_path, "config", TAILRACE_PORT="8600")
    rows = {line.split()[0]: line for line in told.out.splitlines() if line.strip()}
    assert f"{tmp_path}/tailrace.toml:1" in rows["cores"] and "TAILRACE_PORT" in rows["port"]
    assert "default" in rows["price"]
    assert ask(tmp_path, "config", "cores").out == "2\n"
    assert ask(tmp_path, "config", "--json").json["cores"]["value"] == 2
    assert ask(tmp_path, "config", "core").code == 2
    assert ask(tmp_path, "config", NO_COLOR="1").out.count("NO_COLOR") == 1
