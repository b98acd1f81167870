"""Every fault names its place and says what to do."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tailrace.bag import load_bag_file
from tailrace.errors import BadInput

from .conftest import Refuse

COMMAND = 'command = "x {a}"\n'
SWEEP = COMMAND + "[parameters]\na = [1, 2]\n"

FAULTS = {
    "unknown key": ('comand = "x"\n', 1, "unknown key comand", "did you mean command? known"),
    "unknown nested key": (SWEEP + "[limits]\ntme = 3\n", 5, "limits.tme", "did you mean time?"),
    "unknown key of a range": (
        COMMAND + "[parameters.a]\nfrom = 1\ntill = 2\n",
        4,
        "parameters.a.till",
        "from",
    ),
    "unknown outcome": (SWEEP + "[retries]\nfailed = 3\n", 5, "retries.failed", "task_failed"),
    "a pool described here": (SWEEP + "[pool.x]\nmax = 3\n", 4, "unknown key pool", "pools"),
    "wrong type of name": ("name = 3\n" + SWEEP, 1, "name is 3", ""),
    "wrong type of a limit": (SWEEP + "[limits]\ntime = [1]\n", 5, "limits.time", ""),
    "wrong type of a table": ("limits = 3\n" + SWEEP, 1, "should be a table", ""),
    "wrong type of repeatable": ('repeatable = "yes"\n' + SWEEP, 1, "true or false", ""),
    "a list in a list": (COMMAND + "[parameters]\na = [1,\n [2]]\n", 4, "a list inside a list", ""),
    "a table in env": (SWEEP + "[env]\nA = {b = 1}\n", 5, "env.A", "text or a number"),
    "a bad variable": (SWEEP + '[env]\n"A-B" = 1\n', 5, "A-B", "letters, digits"),
    "a word that is none": ('command = ["x", ["y"]]\n', 1, "a list", "words as texts"),
    "a value after all values": (
        'then = "x {a}"\n' + SWEEP,
        1,
        "{a} has no value when all",
        "only {bag} stands",
    ),
    "a value for a name": ('secrets = ["x=1"]\n' + SWEEP, 1, "is not a name", "stays in your"),
    "a secret of ours": ('secrets = ["TAILRACE_X"]\n' + SWEEP, 1, "our own", "another name"),
    "a secret told": (
        'secrets = ["A"]\n' + SWEEP + "[env]\nA = 1\n",
        1,
        "stands in [env]",
        "remove it",
    ),
    "an empty setup": (SWEEP + "[setup]\n", 4, "setup says nothing", "give script"),
    "a module that is none": (
        SWEEP + '[setup]\nmodules = ["a; rm b"]\n',
        5,
        "not the name of a module",
        "gcc/12",
    ),
    "an image that is none": (
        SWEEP + '[setup]\nimage = "--privileged"\n',
        5,
        "not the name of an image",
        "python:3.12",
    ),
    "an engine that is none": (
        SWEEP + '[setup]\nimage = "x"\nengine = "lorry"\n',
        6,
        "'lorry' is not known",
        "podman, docker",
    ),
    "an engine without an image": (
        SWEEP + '[setup]\nengine = "podman"\n',
        5,
        "engine without an image",
        "give image",
    ),
    "modules beside an image": (
        SWEEP + '[setup]\nimage = "x"\nmodules = ["gcc"]\n',
        6,
        "are not there in an image",
        "make an image that has them",
    ),
    "a folder in an image by half its path": (
        SWEEP + '[setup]\nimage = "x"\nmounts = ["data"]\n',
        6,
        "not the whole path",
        "/data",
    ),
    "a file that the engine cannot run": (
        SWEEP + '[setup]\nimage = "x.sif"\nengine = "docker"\n',
        6,
        "docker runs no .sif file",
        "apptainer",
    ),
    "no requirements": (SWEEP + '[setup]\nrequirements = "none.txt"\n', 5, "none.txt", ""),
    "nothing then": ('then = " "\n' + SWEEP, 1, "there is no command", "then = "),
    "a number then": ('then = ["x", 3]\n' + SWEEP, 1, "then holds 3", "texts in quotes"),
    "no command": ('name = "x"\n', None, "there is no command", "command = "),
    "an empty command": ('command = " "\n', 1, "there is no command", "command = "),
    "missing parameter": (
        'command = "x {alpha}"\n[parameters]\nalpa = [1]\n',
        1,
        "{alpha} is not a parameter",
        "did you mean alpa?",
    ),
    "missing parameter in argv": (
        'command = [\n "x",\n "{b}"]\n',
        3,
        "{b} is not a parameter",
        "{{b}}",
    ),
    "missing parameter in env": (
        SWEEP + '[env]\nA = "{b}"\n',
        5,
        "{b} is not a parameter",
        "a, index",
    ),
    "missing parameter in outputs": (
        'outputs = ["{a}/{b}"]\n' + SWEEP,
        1,
        "{b} is not a parameter",
        "a, index",
    ),
    "unused parameter": (SWEEP + "b = [3]\n", 4, "b is used nowhere", "$TAILRACE_PARAM_b"),
    "a key of the bag among the parameters": (
        SWEEP + "retries = 3\n",
        4,
        "retries is used nowhere",
        "retries is also a key of the bag: move it above [parameters]; or put {retries} into",
    ),
    "a placeholder that is none": (
        "command = \"awk '{print $1}'\"\n",
        1,
        "print $1",
        "{{print $1}}",
    ),
    "a format that does not suit": (
        'command = "x {a:.3f}"\n[parameters]\na = [1, "b"]\n',
        1,
        "{a:.3f} does not suit the value 'b'",
        ".3f for numbers",
    ),
    "duplicate parameter": (SWEEP + "a = [3]\n", 4, "a is given twice", "keep one"),
    "duplicate table": (SWEEP + "[parameters]\n", 4, "twice", ""),
    "reserved parameter": (
        'command = "x"\n[parameters]\nindex = [1]\n',
        3,
        "'index'",
        "are not index",
    ),
    "bad parameter name": ('command = "x"\n[parameters]\n"{" = [1]\n', 3, "'{'", "no braces"),
    "two names for one variable": (
        'command = "x {a b} {a-b}"\n[parameters]\n"a b" = 1\na-b = 2\n',
        4,
        "TAILRACE_PARAM_a_b",
        "rename",
    ),
    "empty list": (COMMAND + "[parameters]\na = []\n", 3, "a has no values", "one or more"),
    "empty range": (COMMAND + "[parameters]\na = {from = 2, to = 1}\n", 3, "is empty", "swap"),
    "no values": (COMMAND + "[parameters]\na = {from = 2, count = 0}\n", 3, "0 values", "from 1"),
    "endless range": (
        COMMAND + "[parameters]\na = {from = 2}\n",
        3,
        "needs from, and to",
        "to = 100",
    ),
    "step of zero": (
        COMMAND + "[parameters]\na = {from = 1, to = 2, step = 0}\n",
        3,
        "step of a is 0",
        "leads",
    ),
    "too much said": (
        COMMAND + "[parameters]\na = {from = 1, to = 2, step = 1, count = 2}\n",
        3,
        "to, step and count",
        "leave out",
    ),
    "log of zero": (
        COMMAND + '[parameters]\na = {from = 0, to = 2, count = 3, scale = "log"}\n',
        3,
        "above 0",
        "linear",
    ),
    "bad scale": (
        COMMAND + '[parameters]\na = {from = 1, to = 2, count = 3, scale = "lg"}\n',
        3,
        "'lg'",
        "did you mean log?",
    ),
    "infinite range": (COMMAND + "[parameters]\na = {from = 1, to = inf}\n", 3, "inf", "finite"),
    "too many tasks": (
        'command = "x {a} {b}"\n[parameters]\na = {from = 1, to = 100000}\n'
        "b = {from = 1, to = 100000}\n",
        2,
        "10,000,000,000 tasks",
        "cross fewer",
    ),
    "too large a number": (
        COMMAND + "[parameters]\na = [99999999999999999999]\n",
        3,
        "64 bits",
        "",
    ),
    "zip of different lengths": (
        'command = "x {a} {b}"\nzip = [["a", "b"]]\n[parameters]\na = [1, 2]\nb = [1, 2, 3]\n',
        2,
        "a has 2, b has 3",
        "equally long",
    ),
    "zip of an unknown": (
        'zip = [["a", "bb"]]\n' + SWEEP + "b = [1]\n",
        1,
        "zip names bb",
        "did you mean b?",
    ),
    "zipped twice": (
        'zip = [["a", "b"],\n ["b"]]\ncommand = "x {a} {b}"\n[parameters]\na = [1]\nb = [1]\n',
        2,
        "b is zipped twice",
        "once",
    ),
    "zip that is flat": ('zip = ["a"]\n' + SWEEP, 1, "list of lists", "zip = [["),
    "repeat that is a parameter": (
        'repeat = 2\ncommand = "{repeat}"\n[parameters]\nrepeat = 1\n',
        1,
        "also a parameter",
        "rename",
    ),
    "repeat of none": ("repeat = 0\n" + SWEEP, 1, "repeat is 0", "from 1"),
    "negative need": (SWEEP + "[needs]\ncores = -1\n", 5, "-1", "above 0"),
    "no cores": (SWEEP + "[needs]\ncores = 0\n", 5, "needs.cores is 0", "leave it out"),
    "nonsense need": (SWEEP + '[needs]\nmemory = "lots"\n', 5, "'lots'", ""),
    "negative memory": (SWEEP + '[needs]\nmemory = "-1 GiB"\n', 5, "-1 GiB", ""),
    "need in words": (SWEEP + '[needs]\ncores = "two"\n', 5, "not a number", "cores = 2"),
    "misspelt memory": (SWEEP + '[needs]\nmemroy = "2 GiB"\n', 5, "memroy", "did you mean memory?"),
    "infinite need": (SWEEP + "[needs]\ngpus = inf\n", 5, "no machine has", ""),
    "need as a truth": (SWEEP + "[needs]\ngpus = true\n", 5, "needs.gpus is true", "amount"),
    "limit of nothing": (SWEEP + "[limits]\ntime = 0\n", 5, "leaves nothing", ""),
    "retries of no kind": (
        'retries = "many"\n' + SWEEP,
        1,
        "whole number, or a table by outcome",
        "retries = 2",
    ),
    "negative retries": ("retries = -1\n" + SWEEP, 1, "-1", "from 0"),
    "growth without a limit": (
        'on_over_limit = {memory = "x2"}\n' + SWEEP,
        1,
        "sets no memory",
        "[limits]",
    ),
    "growth that is none": (
        'on_over_limit = {memory = "more"}\n' + SWEEP + '[limits]\nmemory = "1G"\n',
        1,
        "'more'",
        "x2 up to 16 GiB",
    ),
    "growth that shrinks": (
        'on_over_limit = {memory = "x2 up to 1M"}\n' + SWEEP + '[limits]\nmemory = "1G"\n',
        1,
        "already",
        "x2",
    ),
    "output clash": (
        'command = "x {a} {b}"\noutputs = ["r/{a}.csv"]\n[parameters]\na = [1, 2]\nb = [1, 2]\n',
        2,
        "tasks 0 and 1 would both publish r/1.csv",
        "it lacks {b}",
    ),
    "output outside": ('outputs = ["../{a}"]\n' + SWEEP, 1, "not inside", "without .."),
    "absolute output": (
        SWEEP + '[outputs]\n"o.csv" = "/tmp/{a}"\n',
        5,
        "not inside",
        "relative path",
    ),
    "output that is a folder": ('outputs = ["{a}/"]\n' + SWEEP, 1, "not inside", "slash"),
    "outputs here": (
        'files = "here"\noutputs = ["{a}"]\n' + SWEEP,
        1,
        "only with",
        "remove outputs",
    ),
    "missing input": ('inputs = [\n"no.py"]\n' + SWEEP, 2, "no.py does not exist", "looked in"),
    "bad files": ('files = "stagged"\n' + SWEEP, 1, "'stagged'", "did you mean staged?"),
    "NUL in a command": ('command = "x\\u0000y"\n', 1, "NUL", ""),
    "NUL in a value": (COMMAND + '[parameters]\na = ["b\\u0000"]\n', 3, "NUL", ""),
    "invalid regex": ("result = '('\n" + SWEEP, 1, "not a regular expression", "backslash"),
    "bad order": ('order = "shufled"\n' + SWEEP, 1, "'shufled'", "did you mean shuffled?"),
    "seed without shuffling": ("seed = 3\n" + SWEEP, 1, "shuffled order", "[parameters]"),
    "budget without a unit": ("budget = 20\n" + SWEEP, 1, "'20 USD'", ""),
    "two budgets in one unit": (
        'budget = ["1 USD",\n"2 USD"]\n' + SWEEP,
        2,
        "two budgets in USD",
        "one",
    ),
    "bad deadline": ('deadline = "tomorrow"\n' + SWEEP, 1, "'tomorrow' is not a duration", ""),
    "bad name": ('name = "a/b"\n' + SWEEP, 1, "'a/b'", "slash"),
    "described pools": (SWEEP + "[pools.a]\nmax = 1\n", 4, "pools is a table", ""),
    "invalid TOML": ('command = "x"\nname = bag\n', 2, "not valid TOML", "texts need quotes"),
    "an open quote": ('command = "x\nname = 1\n', 1, "not valid TOML", "command"),
    "an open bracket": ("command = [\n", 1, "not valid TOML", "lists need brackets"),
    "an empty file": ("\n", 1, "empty", "tailrace init"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_bag_file_is_refused_with_line_and_remedy(refuse: Refuse, fault: str) -> None:
    text, line, message, remedy = FAULTS[fault]
    found = refuse(text)
    assert message in found.message
    assert remedy in found.remedy
    assert found.file is not None and found.file.endswith("bag.toml")
    assert found.line == line


NOT_NUMBERS = ('"x"', '"3"', "true", "[1]", "{b = 1}", "nan", "-inf", "1e999999999",
               "1e-999999999", "99999999999999999999", "2024-01-02", "10:00:00")  # fmt: skip
RANGES = (
    {"from": "1", "to": "3"},
    {"from": "1", "to": "3", "step": "1"},
    {"from": "1", "to": "3", "count": "2"},
    {"from": "1", "count": "2", "step": "1"},
    {"from": "1", "to": "3", "count": "2", "scale": '"log"'},
)


def of_wrong_type() -> Iterator[tuple[str, str]]:
    """What is wrong, and the value of the parameter `a`."""
    for fields in RANGES:
        for key in fields:
            more = ("3", "1.5") if key == "scale" else ("1.5",) * (key == "count")
            for wrong in (*NOT_NUMBERS, *more):
                given = ", ".join(f"{k} = {v}" for k, v in {**fields, key: wrong}.items())
                yield f"parameters.a.{key}", f"{{{given}}}"
    yield from (("a", wrong) for wrong in ("[]", "{}", "[[1]]", "[{b = 1}]", "[1, [2]]"))


@pytest.mark.parametrize(("what", "given"), list(of_wrong_type()))
def test_a_parameter_of_a_wrong_type_is_refused(refuse: Refuse, what: str, given: str) -> None:
    found = refuse(f"{COMMAND}[parameters]\na = {given}\n")
    assert what in found.message and found.line == 3
    assert found.remedy or "use a text" in found.message


@pytest.mark.parametrize("key", ["zip", "csv", "repeat", "parameters"])
@pytest.mark.parametrize("wrong", ["1.5", "true", "2024-01-02", '[["b"], 1]', "{b = {c = [[1]]}}"])
def test_what_stands_beside_parameters_may_be_wrong_too(
    refuse: Refuse, key: str, wrong: str
) -> None:
    found = refuse(f"{COMMAND}{key} = {wrong}\n")
    assert found.line == 2 and (found.remedy or "use a text" in found.message)


CSV_FAULTS = {
    "not UTF-8": (b"a\n1\n\xe9\n", 3, "byte 0xe9 (at offset 4)", "UTF-8"),
    "UTF-16": ("a\n1\n".encode("utf-16"), 1, "byte 0xff", "UTF-16"),
    "ragged": (b"a,b\n1,2\n3\n", 3, "1 cells, the header has 2", "one cell per column"),
    "empty": (b"", 1, "empty", "header"),
    "only a header": (b"a\n", 1, "no row", "empty sweep"),
    "duplicate header": (b"a,b,a\n1,2,3\n", 1, "two columns are named 'a'", "rename"),
    "no name": (b"a,,c\n1,2,3\n", 1, "column 2 has no name", "letter"),
    "reserved name": (b"a,index\n1,2\n", 1, "'index'", "not index"),
    "NUL": (b"a\n1\n\x00\n", 3, "NUL", "remove"),
    "an open quote": (b'a\n1\n"2\n', 3, "not valid CSV", ""),
}


@pytest.mark.parametrize("fault", CSV_FAULTS)
def test_a_csv_is_refused_with_its_own_line(refuse: Refuse, fault: str) -> None:
    data, line, message, remedy = CSV_FAULTS[fault]
    found = refuse(COMMAND + 'csv = "cases.csv"\n', {"cases.csv": data})
    assert (found.file, found.line) == ("cases.csv", line)
    assert message in found.message
    assert remedy in found.remedy


def test_a_csv_that_is_not_there_is_named_where_it_is_asked_for(refuse: Refuse) -> None:
    found = refuse(COMMAND + 'csv = "cases.csv"\n', {"case.csv": "a\n1\n"})
    assert found.line == 2
    assert "no such file" in found.message
    assert "case.csv" in found.remedy


def test_a_folder_is_not_a_csv(refuse: Refuse) -> None:
    found = refuse(COMMAND + 'csv = "data"\n', {"data/x.csv": "a\n1\n"})
    assert found.line == 2 and "is a folder" in found.message


NOBODY = 65534


@contextmanager
def as_nobody() -> Iterator[None]:
    """Root may read everything, nobody may not."""
    root = os.geteuid() == 0
    if root:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)


def test_a_csv_that_may_not_be_read_says_so() -> None:
    with TemporaryDirectory(dir="/tmp") as folder:  # where nobody may go, unlike tmp_path
        os.chmod(folder, 0o755)
        bag, secret = Path(folder) / "bag.toml", Path(folder) / "secret.csv"
        bag.write_text(COMMAND + 'csv = "secret.csv"\n')
        secret.write_text("a\n1\n")
        load_bag_file(bag)  # whatever is imported on the way, nobody may not
        secret.chmod(0o000)
        with as_nobody(), pytest.raises(BadInput, match="may not be read") as caught:
            load_bag_file(bag)
    assert caught.value.line == 2


def test_a_parameter_that_is_a_column_too_is_refused(refuse: Refuse) -> None:
    found = refuse(COMMAND + 'csv = "c.csv"\n[parameters]\na = [1]\n', {"c.csv": "a\n1\n"})
    assert found.line == 4 and "a column of c.csv" in found.message


def test_a_bag_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    (tmp_path / "sweep.toml").write_text(SWEEP)
    with pytest.raises(BadInput, match="no such file") as caught:
        load_bag_file(tmp_path / "sweeep.toml")
    assert "sweep.toml" in caught.value.remedy


def test_a_folder_is_not_a_bag_file(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="is a folder"):
        load_bag_file(tmp_path)


def test_a_bag_file_that_is_not_utf8_is_refused_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "bag.toml").write_bytes(b'name = "x"\ncommand = "caf\xe9"\n')
    with pytest.raises(BadInput, match="0xe9") as caught:
        load_bag_file(tmp_path / "bag.toml")
    assert caught.value.line == 2


def test_a_fault_in_a_flag_names_the_flag_and_not_the_file(refuse: Refuse) -> None:
    found = refuse(SWEEP, max_failures=0)
    assert str(found).startswith("--max-failures: ") and found.flag == "--max-failures"
    assert found.file is None
    assert str(refuse(SWEEP, deadline="x")).startswith("--deadline: 'x' is not a duration")


def test_an_unknown_setting_is_refused(refuse: Refuse) -> None:
    assert "unknown key budgt" in refuse(SWEEP, budgt="1 USD").message
