from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tailrace.bag import Bag
from tailrace.bag.bagfile import load_bag_file
from tailrace.bag.outputs import check_outputs
from tailrace.bag.overwriting import check_overwriting
from tailrace.bag.spec import BagSpec, FileRule
from tailrace.bag.tables import Origin
from tailrace.bag.values import Listed, Range
from tailrace.errors import BadInput

from .conftest import Load, Refuse

BIG = "[parameters]\na = {from = 1, to = 10000}\nb = {from = 1, to = 1000}\n"
COMMAND = 'command = "x {a} {b}"\n'


@pytest.mark.parametrize(
    "target",
    [
        "r/{a}/{b}.csv",
        "r/{a}-{b}.csv",
        "{b}_{a}",
        "r/{index}",
        "{index}/{a}",
        "{a:05d}/{b:04d}",
        "{bag}/{a}.{b}",
        "{a}-{b}{a}",
        "{a}{b}-{a}",
        "{b}{a}/{b}.csv",
        "x{a}{b}_{b}-{a}y",
    ],
)
def test_ten_million_targets_are_told_apart_without_making_them(
    load: Load, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[int] = []
    scope = Bag.scope
    monkeypatch.setattr(Bag, "scope", lambda bag, index: made.append(index) or scope(bag, index))
    assert load(COMMAND + f'outputs = ["{target}"]\n' + BIG).count == 10_000_000
    assert len(made) < 10


@pytest.mark.parametrize(
    ("target", "hint"), [("r/{a}", "{b}"), ("{a}{b}", "{index}"), ("{a:.0e}/{b}", "{index}")]
)
def test_targets_of_a_large_bag_that_do_not_tell_are_refused(
    refuse: Refuse, target: str, hint: str
) -> None:
    found = refuse(COMMAND + f'outputs = ["{target}"]\n' + BIG)
    assert found.line == 2
    assert "10,000,000 tasks" in found.message
    assert hint in found.remedy


@pytest.mark.parametrize(
    ("files", "task", "path"),
    [
        ('inputs = ["1.txt"]\noutputs = {"o" = "{a}.txt"}', 0, "1.txt"),
        ('inputs = ["./d/../2.txt"]\noutputs = {"o" = "./{a}.txt"}', 1, "2.txt"),
        ('inputs = ["d/{a}.txt"]\noutputs = {"o" = "{b}/{a}.txt"}', 0, "d/1.txt"),
        ('outputs = {"o" = "bag{a}.toml"}', 0, "bag1.toml"),
        ('outputs = {"o" = "{b}{a}.csv"}', 1, "d2.csv"),
    ],
)  # fmt: skip
def test_nothing_is_published_over_what_the_bag_reads(
    tmp_path: Path, files: str, task: int, path: str
) -> None:
    text = f"{COMMAND}{files}\n[parameters]\na = [1, 2]\n"
    text += 'b = ["d"]\n' if ".csv" not in files else ""
    (tmp_path / "d").mkdir()
    for name in ("1.txt", "2.txt", "d/1.txt", "d/2.txt"):
        (tmp_path / name).write_text("")
    if ".csv" in files:
        (tmp_path / "d2.csv").write_text("b\nd\n")
        text = 'csv = "d2.csv"\n' + text
    (tmp_path / "bag1.toml").write_text(text)
    with pytest.raises(BadInput, match=f"task {task} would publish over {path},") as found:
        load_bag_file(tmp_path / "bag1.toml")
    assert found.value.line == text[: text.index("outputs")].count("\n") + 1


@pytest.mark.parametrize(
    ("read", "target"),
    [("in/{a}.txt", "out/{a}-{b}.txt"), ("{a}.txt", "{a}-{b}.out"), ("{a}.txt", "{a}-{b}-o.txt"),
     ("model.py", "{a}-{b}.py"), ("/etc/{a}", "{a}/{b}"), ("../{a}", "{a}-{b}")],
)  # fmt: skip
def test_ten_million_targets_beside_inputs_are_told_apart_without_making_them(
    read: str, target: str
) -> None:
    axes = ((Range("a", "1", "1", 10_000),), (Range("b", "1", "1", 1000),))
    files = {"inputs": (FileRule("i", read),), "outputs": (FileRule("o", target),)}
    spec = BagSpec(name="n", folder="/x", command="c", axes=axes, files="staged", **files)
    bag = Bag(spec, lambda k: b"")
    bag.scope = None  # type: ignore[assignment]
    check_overwriting(bag, Origin())


def test_targets_that_only_look_ambiguous_are_compared(load: Load) -> None:
    assert load(COMMAND + 'outputs = ["{a}{b}"]\n[parameters]\na = [1, 2]\nb = [1, 2]\n').count == 4


@pytest.mark.parametrize(
    ("target", "parameters"),
    [
        ("{a}{b}", "a = [1, 11]\nb = [11, 1]"),
        ("{a}/{b}", "a = [1, 1]\nb = [2]"),
        ("{a:.1f}/{b}", "a = [0.11, 0.12]\nb = [1]"),
        ("{a}/{b}", 'a = ["x", "x/."]\nb = [1]'),
        ("{a}-{b}", 'a = ["x-y", "x"]\nb = ["z", "y-z"]'),
    ],
)
def test_two_tasks_for_one_target_are_refused(refuse: Refuse, target: str, parameters: str) -> None:
    found = refuse(COMMAND + f'outputs = ["{target}"]\n[parameters]\n{parameters}\n')
    assert "would both publish" in found.message


def test_two_outputs_of_one_task_must_differ(refuse: Refuse) -> None:
    text = 'command = "x"\n[outputs]\na = "r"\nb = "./r"\n'
    assert "two outputs would be published as ./r" in refuse(text).message


def test_an_output_that_meets_another_of_another_task_is_refused(refuse: Refuse) -> None:
    text = 'command = "x {a}"\n[outputs]\nu = "{a}"\nv = "1"\n[parameters]\na = [0, 1]\n'
    assert "would both publish 1" in refuse(text).message


@pytest.mark.parametrize("value", ["..", "../../etc", "/etc/passwd", ""])
def test_no_value_leads_out_of_the_folder(refuse: Refuse, value: str) -> None:
    text = f'command = "x {{a}}"\noutputs = ["{{a}}"]\n[parameters]\na = ["{value}", "b"]\n'
    assert "outside the bag's folder" in refuse(text).message


@pytest.mark.parametrize(
    "files",
    [
        'outputs = {{"out" = "r/{long}"}}',
        'outputs = {{"{long}" = "{{a}}"}}',
        'outputs = ["r/{part}/{{a}}{{a}}/x"]',
        'inputs = {{"{long}" = "bag.toml"}}',
        'outputs = ["{deep}/{{a}}"]',
    ],
)
def test_a_name_that_no_file_system_has_is_refused_with_its_place(
    load: Load, refuse: Refuse, files: str
) -> None:
    """256 bytes, which may be 128 letters; one less is taken."""
    names = {"long": "ü" * 128, "part": "p", "deep": "/".join(["d" * 99] * 41)}
    head = 'command = "x {a}"\n' + files.format(**names)
    found = refuse(f'{head}\n[parameters]\na = ["{"v" * 128}"]\n')
    assert found.line == 2 and "more than 255 bytes" in found.remedy
    names = {"long": "ü" * 127 + "x", "part": "p", "deep": "d" * 100}
    head = 'command = "x {a}"\n' + files.format(**names)
    assert load(f'{head}\n[parameters]\na = ["{"v" * 127}"]\n').count == 1


def test_a_csv_tells_its_targets_apart(load: Load, refuse: Refuse) -> None:
    text = 'command = "x {id}"\ncsv = "c.csv"\noutputs = ["r/{id}"]\n'
    assert load(text, {"c.csv": "id\n1\n2\n"}).count == 2
    assert "tasks 0 and 2" in refuse(text, {"c.csv": "id\n1\n2\n1\n"}).message


texts = st.text("a/.-1", max_size=3)
axes = st.lists(
    st.lists(texts, min_size=1, max_size=3).map(tuple).map(lambda found: Listed("p", found))
    | st.builds(
        Range,
        st.just("p"),
        st.just("-1"),
        st.sampled_from(["1", "1/2"]),
        st.integers(1, 4),
        st.just(False),
    ),
    min_size=1,
    max_size=3,
)
targets = st.lists(
    st.sampled_from(["{p0}", "{p1}", "{p2}", "{index}", "/", "-", ".", "a", "1"]),
    min_size=1,
    max_size=6,
)


@settings(suppress_health_check=[HealthCheck.filter_too_much])
@given(axes, st.lists(targets.map("".join), min_size=1, max_size=2))
def test_a_small_bag_passes_exactly_when_its_targets_differ_and_stay_inside(
    columns: list[Listed | Range], places: list[str]
) -> None:
    named = [
        type(c)(f"p{i}", *[getattr(c, f) for f in c.__struct_fields__[1:]])
        for i, c in enumerate(columns)
    ]
    places = [place for place in places if all(f"p{i}" not in place for i in range(len(named), 3))]
    rules = tuple(FileRule(f"o{i}", place) for i, place in enumerate(places))
    spec = BagSpec(
        name="n",
        folder="/x",
        command="c",
        axes=tuple((c,) for c in named),
        outputs=rules,
        files="staged",
    )
    bag = Bag(spec, lambda k: b"")
    published = [o.target for i in range(bag.count) for o in bag.task(i).outputs]
    normal = [
        "/".join(part for part in path.split("/") if part not in ("", ".")) for path in published
    ]
    outside = [
        path.startswith("/") or ".." in path.split("/") or path.split("/")[-1] in ("", ".")
        for path in published
    ]
    good = len(set(normal)) == len(normal) and not any(outside)
    try:
        check_outputs(bag, Origin())
    except BadInput:
        assert not good
    else:
        assert good
