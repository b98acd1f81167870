from __future__ import annotations

import itertools
import subprocess
import sys
import tomllib
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailrace.bag import Bag, bag_from_commands, describe, load_bag_file, write_bag_file
from tailrace.bag.spec import BagSpec
from tailrace.bag.terms import Growth, Limits, Retries
from tailrace.bag.values import Listed, Range
from tailrace.errors import BadInput

from .conftest import Load

FULL = """\
name = "study"
command = ["python", "model.py", "--alpha", "{alpha}", "--seed={seed}"]
order = "shuffled"
seed = 5
budget = ["20 USD", "5 kWh"]
deadline = "8h"
timeout = "1h"
max_failures = 10
pools = ["local"]
keep_output = "1 MiB"
grace = "2s"
result = 'loss=(\\S+)'
inputs = ["model.py"]
on_over_limit = {memory = "x1.5 up to 4 GiB"}
[parameters]
alpha = [0.1, 0.2]
seed = {from = 1, to = 3}
[outputs]
"out.csv" = "results/{alpha}/{seed}.csv"
"log" = {target = "logs/{index}", required = false}
[needs]
cores = 0.5
memory = "2 GiB"
licence = 1
[limits]
time = "10m"
memory = "1 GiB"
[retries]
task_failed = 2
[env]
MODE = "fast"
LABEL = "{bag}-{alpha}"
"""


def test_a_bag_file_says_everything(load: Load, tmp_path: Path) -> None:
    bag = load(FULL, {"model.py": ""})
    terms = bag.terms()
    assert (terms.count, terms.name, terms.order_seed) == (6, "study", 5)
    assert terms.needs == {"cores": 500, "memory": 2 * 1024**3, "licence": 1000}
    assert terms.limits == Limits(time_us=600_000_000, memory=1024**3)
    assert terms.retries == Retries(task_failed=2)
    assert terms.growth == Growth(1.5, {"memory": 4 * 1024**3}, ("memory",))
    assert terms.budget == {"USD": 20_000_000, "kWh": 5_000_000}
    assert (terms.deadline_us, terms.timeout_us) == (28_800_000_000, 3_600_000_000)
    assert (terms.max_failures, terms.pools, terms.repeatable) == (10, ("local",), True)
    task = bag.task(4)
    assert task.argv == ("python", "model.py", "--alpha", "0.2", "--seed=2")
    assert task.params == {"alpha": 0.2, "seed": 2}
    assert task.env == {
        "TAILRACE_TASK": "4",
        "TAILRACE_PARAM_alpha": "0.2",
        "TAILRACE_PARAM_seed": "2",
        "LABEL": "study-0.2",
    }
    assert [(i.name, i.path) for i in task.inputs] == [("model.py", str(tmp_path / "model.py"))]
    assert [(o.name, o.target, o.required) for o in task.outputs] == [
        ("out.csv", "results/0.2/2.csv", True),
        ("log", "logs/4", False),
    ]
    assert bag.shared() == {
        "name": "study",
        "folder": str(tmp_path),
        "env": {"TAILRACE_BAG": "study", "MODE": "fast"},
        "needs": terms.needs,
        "limits": {"time_us": 600_000_000, "memory": 1024**3},
        "files": "staged",
        "keep_output": 1024**2,
        "result": {"regex": r"loss=(\S+)"},
        "grace_s": 2.0,
    }


def test_a_bag_file_with_only_a_command_is_one_task_here(load: Load) -> None:
    bag = load('command = "true"\n')
    assert (bag.count, bag.spec.name, bag.spec.files) == (1, "bag", "here")
    assert not bag.terms().repeatable
    assert bag.terms().needs == {"cores": 1000}
    assert bag.shared()["result"] == {}


def test_declared_files_make_a_bag_staged_and_repeatable(load: Load) -> None:
    bag = load('command = "true"\noutputs = ["x"]\n')
    assert (bag.spec.files, bag.spec.repeatable) == ("staged", True)


def test_flags_stand_above_the_file(load: Load) -> None:
    bag = load(
        FULL, {"model.py": ""}, name="other", budget="1 EUR", pools=("a", "b"), deadline=None
    )
    assert bag.spec.name == "other"
    assert bag.spec.budget == {"EUR": 1_000_000}
    assert bag.spec.pools == ("a", "b")
    assert bag.spec.deadline_us == 28_800_000_000


def test_an_unused_parameter_may_be_meant(load: Load) -> None:
    asked = load('command = "x"\nunused = "ok"\n[parameters]\na = [1, 2]\n')
    read = load('command = "x $TAILRACE_PARAM_a"\n[parameters]\na = [1, 2]\n')
    assert asked.task(1).env["TAILRACE_PARAM_a"] == read.task(1).env["TAILRACE_PARAM_a"] == "2"


def test_no_task_lies_beyond_the_ends(load: Load) -> None:
    bag = load('command = "true {a}"\n[parameters]\na = [1, 2]\n')
    for index in (-1, 2):
        with pytest.raises(IndexError):
            bag.task(index)


texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)
values = st.one_of(
    texts,
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
)
columns = st.lists(values, min_size=1, max_size=4).map(lambda found: Listed("p", tuple(found)))
ranges = st.builds(
    Range, st.just("p"), st.just("-1/3"), st.just("1/10"), st.integers(1, 9), st.just(False)
)


@given(st.lists(columns | ranges, max_size=3), texts, st.dictionaries(texts, texts, max_size=2))
def test_a_stored_sweep_comes_back_the_same(
    axes: list[Listed | Range], name: str, env: dict[str, str]
) -> None:
    env = {key: text.replace("{", "").replace("}", "") for key, text in env.items()}
    named = tuple((msgspec.structs.replace(axis, name=f"p{i}"),) for i, axis in enumerate(axes))
    bag = Bag(BagSpec(name=name, folder="/x", command="c", axes=named, env=env), lambda k: b"")
    spec, chunks = bag.encode()
    again = Bag.decode(spec, chunks.__getitem__)
    assert again.spec == bag.spec
    assert [again.task(i) for i in range(bag.count)] == [bag.task(i) for i in range(bag.count)]


lines = st.lists(st.text("ab c#'$", max_size=6).map(str.strip), max_size=40)


@given(lines.filter(lambda found: any(text and text[0] != "#" for text in found)))
def test_stored_commands_come_back_the_same(listed: list[str]) -> None:
    bag = bag_from_commands([text + "\n" for text in listed], Path("/x"), source="s")
    spec, chunks = bag.encode()
    again = Bag.decode(spec, chunks.__getitem__)
    expected = [text for text in listed if text and text[0] != "#"]
    assert [again.task(i).shell for i in range(again.count)] == expected
    assert again.params(0) == {"command": expected[0]}


def test_a_task_reads_the_one_chunk_it_lies_in() -> None:
    bag = bag_from_commands((f"echo {i}" for i in range(5000)), Path("/x"), source="s")
    spec, chunks = bag.encode()
    read: list[int] = []

    def chunk(number: int) -> bytes:
        read.append(number)
        return chunks[number]

    again = Bag.decode(spec, chunk)
    assert [again.task(i).shell for i in (3999, 3000, 0, 3001)] == [
        "echo 3999",
        "echo 3000",
        "echo 0",
        "echo 3001",
    ]
    assert read == [3, 0]


def test_only_a_few_chunks_are_kept_in_memory() -> None:
    bag = bag_from_commands((f"echo {i}" for i in range(20_000)), Path("/x"), source="s")
    spec, chunks = bag.encode()
    read: list[int] = []
    again = Bag.decode(spec, lambda number: (read.append(number), chunks[number])[1])
    for index in (*range(0, 20_000, 1000), 19_000, 0):
        again.task(index)
    assert read == [*range(20), 0]


FIND = """\
command = "x {a} {name} {seed}"
[parameters]
a = [0.1, 0.2]
name = ["x", "a,b=c"]
seed = {from = 1, to = 1000000}
"""


@pytest.mark.parametrize(
    ("text", "index"),
    [
        ("17", 17),
        ("a=0.1,name=x,seed=3", 2),
        ("a=0.20, name=a,b=c, seed=1000000", 3_999_999),
        ("seed=1,a=.2,name=x", 2_000_000),
    ],
)
def test_a_task_is_found_by_number_or_values(load: Load, text: str, index: int) -> None:
    assert load(FIND).find(text) == index


@pytest.mark.parametrize(
    ("text", "message", "remedy"),
    [
        ("4000000", "no task 4000000", "0 to 3999999"),
        ("-1", "no task -1", "0 to"),
        ("a=0.3,name=x,seed=1", "no task has a=0.3", "0.1, 0.2"),
        ("a=0.1,name=x,seed=0", "no task has seed=0", "from 1 to 1000000"),
        ("a=0.1,name=x", "more than one task", "0: a=0.1,name=x,seed=1; 1: a=0.1,name=x,seed=2"),
        ("sed=1", "'sed=1' names no task", "did you mean seed?"),
        ("what", "'what' names no task", "a=0.1,name=x,seed=1"),
    ],
)
def test_a_task_that_is_not_found_is_explained(
    load: Load, text: str, message: str, remedy: str
) -> None:
    with pytest.raises(BadInput) as caught:
        load(FIND).find(text)
    assert message in caught.value.message
    assert remedy in caught.value.remedy


def test_every_task_is_found_by_its_own_values(load: Load) -> None:
    bag = load(
        'command = "x {a} {b} {c} {one}"\nzip = [["a", "c"]]\ncsv = "rows.csv"\nunused = "ok"\n'
        '[parameters]\na = [1, 1, 2]\none = "x"\nb = [true, false]\nc = ["u", "v", "u"]\n',
        {"rows.csv": "id,kind\n01,p\n02,q\n03,p\n"},
    )
    for index in range(bag.count):
        named = ",".join(
            f"{name}={str(value).lower() if isinstance(value, bool) else value}"
            for name, value in bag.raw(index).items()
        )
        assert bag.find(named) == index


def test_an_overview_shows_what_would_run(load: Load) -> None:
    seen = describe(load(FULL, {"model.py": ""}))
    assert seen.count == 6
    assert seen.first[0] == "python model.py --alpha 0.1 --seed=1"
    assert len(seen.first) == 3
    assert seen.last == "python model.py --alpha 0.2 --seed=3"
    assert seen.axes == ("alpha: 2 values: 0.1, 0.2", "seed: 3 values: 1, 2, … 3")
    assert seen.needs == "0.5 cores, 2 GiB memory, 1 licence"
    assert seen.limits == "time 10m, memory 1 GiB, memory ×1.5 when over it"
    assert seen.order == "shuffled with seed 5"
    assert seen.budget == "20 USD, 5 kWh"
    assert seen.outputs == ("out.csv → results/{alpha}/{seed}.csv", "log → logs/{index} (optional)")
    assert seen.warnings == ()


def test_an_overview_warns_of_what_is_odd_but_no_fault(load: Load) -> None:
    bag = load(
        'command = "x {a}"\ncsv = "c.csv"\n[needs]\nmemory = "1 GiB"\n[limits]\nmemory = "2 GiB"\n',
        {"c.csv": "a,b\n1,2\n"},
    )
    memory, column = describe(bag).warnings
    assert "2 GiB" in memory and "1 GiB" in memory
    assert column.endswith(": b")


@pytest.mark.parametrize(
    "command",
    [
        "python model.py --alpha {alpha} --seed {seed:03d}",
        "echo \"{x}\" 'it''s' \\ ${HOME}",
        "true",
        "é {two words}",
    ],
)
def test_the_file_of_init_runs_as_it_is(tmp_path: Path, command: str) -> None:
    path = tmp_path / "bag.toml"
    path.write_text(write_bag_file(command))
    bag = load_bag_file(path)
    assert tomllib.loads(path.read_text())["command"] == command
    assert bag.count == 3 ** len(bag.sweep.names())


def test_every_option_of_the_file_of_init_is_valid(tmp_path: Path) -> None:
    text = write_bag_file("python model.py --alpha {alpha}")
    used = [
        line[1:] if line[:1] == "#" and line[1:2] not in ("", " ") else line
        for line in text.splitlines()
    ]
    path = tmp_path / "bag.toml"
    path.write_text("\n".join(used))
    spec = load_bag_file(path).spec
    assert spec.name == "model"
    options = set(tomllib.loads(path.read_text()))
    known = {
        "csv",
        "zip",
        "outputs",
    }  # they need files or names of the user's own; shown in comments
    assert options | known >= KEYS
    assert options <= KEYS


KEYS = {
    *("name", "command", "parameters", "zip", "csv", "repeat", "unused", "env", "needs", "limits"),
    *("then", "secrets", "setup", "priority", "weight", "tasks_per_host", "max_attempts", "hosts"),
    "policy",
    *(
        "matching",
        "replication",
        "round",
        "retries",
        "on_over_limit",
        "order",
        "seed",
        "files",
        "inputs",
        "outputs",
        "result",
        "budget",
    ),
    *(
        "deadline",
        "timeout",
        "max_failures",
        "max_running",
        "repeatable",
        "pools",
        "keep_output",
        "grace",
    ),
}


def test_the_scheduler_need_not_load_bag_files() -> None:
    code = "import sys, tailrace.bag.terms, tailrace.bag.order; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    heavy = {"tailrace.bag.bag", "tailrace.bag.bagfile", "tomllib", "csv", "difflib"}
    assert not heavy & set(loaded.stdout.split())


def test_the_public_names_are_those_of_the_package() -> None:
    import tailrace.bag as public

    for name in public.__all__:
        assert getattr(public, name).__module__.startswith("tailrace.bag.")
    with pytest.raises(AttributeError):
        _ = public.nothing  # type: ignore[attr-defined]


def test_orders_by_column_agree_with_sorting(load: Load) -> None:
    for order, axis in itertools.product(("", "-"), "abc"):
        bag = load(
            f'command = "x {{a}} {{b}} {{c}}"\norder = "{order}{axis}"\n[parameters]\n'
            'a = ["q", "p", "q"]\nb = {from = 0.5, to = 0, step = -0.25}\nc = [3, "x", 2]\n'
        )
        found = list(bag.order() or [])
        assert sorted(found) == list(range(27))
        keys = [bag.params(i)[axis] for i in found]
        runs = [key for key, _ in itertools.groupby(keys)]
        assert len(runs) == len(set(runs))


def test_a_number_of_retries_is_that_of_failed_tasks(load: Load) -> None:
    assert load('command = "x"\nretries = 4\n').terms().retries == Retries(task_failed=4)


def test_inputs_of_a_bag_that_runs_here_stay_where_they_are(load: Load) -> None:
    bag = load('command = "x"\nfiles = "here"\ninputs = ["m.py"]\n', {"m.py": ""})
    assert bag.task(0).inputs == ()
    assert not bag.spec.repeatable


def test_an_input_from_elsewhere_lies_under_its_last_part(load: Load, tmp_path: Path) -> None:
    (tmp_path.parent / "elsewhere.py").write_text("")
    bag = load(
        'command = "x {a}"\n[parameters]\na = [1, 2]\n'
        '[inputs]\n"case.json" = "data/{a}.json"\n"m.py" = "../elsewhere.py"\n',
        {"data/1.json": "", "data/2.json": ""},
    )
    named = [(i.name, Path(i.path).name) for i in bag.task(1).inputs]
    assert named == [("case.json", "2.json"), ("m.py", "elsewhere.py")]
    listed = load('command = "x"\ninputs = ["../elsewhere.py"]\n')
    assert listed.task(0).inputs[0].name == "elsewhere.py"
