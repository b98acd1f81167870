"""`sbatch` scripts as people have them: what becomes of each line, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tailrace.bag import slurmunits
from tailrace.bag.arrayids import read_array
from tailrace.bag.bag import Bag
from tailrace.bag.batchfile import is_script, load_batch_script
from tailrace.errors import BadInput

GIB = 1 << 30
MINUTE_US = 60_000_000


def load(folder: Path, lines: str, *words: str, array: str | None = None, **flags: Any) -> Bag:
    text = f"#!/bin/bash\n{lines}\necho $SLURM_ARRAY_TASK_ID\n"
    (folder / "job.sh").write_text(text)
    return load_batch_script(folder / "job.sh", words, array, folder, **flags)


def refused(folder: Path, lines: str, **flags: Any) -> BadInput:
    with pytest.raises(BadInput) as caught:
        load(folder, lines, **flags)
    assert caught.value.remedy
    return caught.value


@pytest.mark.parametrize(
    ("text", "numbers", "most"),
    [
        ("1-5", [1, 2, 3, 4, 5], None),
        ("0-15:4", [0, 4, 8, 12], None),
        ("1,3,5-7", [1, 3, 5, 6, 7], None),
        ("7,5,5-6%2", [5, 6, 7], 2),
        ("0-2%1", [0, 1, 2], 1),
        ("42", [42], None),
        ("[1-3]", [1, 2, 3], None),
    ],
)
def test_the_numbers_of_an_array(text: str, numbers: list[int], most: int | None) -> None:
    array = read_array(text)
    at = array.column.reader()
    assert [at(i) for i in range(array.size)] == numbers
    assert (array.least, array.most, array.most_running) == (numbers[0], numbers[-1], most)


def test_the_largest_array_is_no_work() -> None:
    assert read_array("0-9999999").size == 10_000_000


@pytest.mark.parametrize(
    "text", ["", "5-1", "1-", "a", "1-5:0", "1-5%", "1-5%0", "-3", "1--5", "1-99999999999", "1;2"]
)
def test_what_is_no_array(text: str) -> None:
    with pytest.raises(BadInput, match="array"):
        read_array(text)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 5400), ("30:15", 1815), ("2:00:00", 7200), ("1-12", 129600), ("1-12:30", 131400),
     ("1-0:0:1", 86401), ("0", None), ("UNLIMITED", None)],
)  # fmt: skip
def test_times_as_slurm_writes_them(text: str, seconds: int | None) -> None:
    assert slurmunits.seconds(text) == seconds


REAL = """\
#SBATCH --job-name=sweep        # Job name
#SBATCH -p long
#SBATCH --mail-type=END,FAIL
#SBATCH --mail-user someone@example.org
#SBATCH --nodes=1
#SBATCH --ntasks=1 --cpus-per-task=4
#SBATCH --mem=8gb
#SBATCH --time=02:30:00
#SBATCH --output=array_%A-%a.log
#SBATCH --array=1-5%2
##SBATCH --mem=1T
"""


def test_a_script_of_a_university_page(tmp_path: Path) -> None:
    """All forms of options: a blank, an equals sign, a short one, two to a line, a comment."""
    bag = load(tmp_path, REAL)
    spec = bag.spec
    assert (bag.count, spec.name, spec.most_running) == (5, "sweep", 2)
    assert spec.needs == {"cores": 4000, "memory": 8 * GIB}
    assert (spec.limits.time_us, spec.limits.memory) == (150 * MINUTE_US, 8 * GIB)
    assert spec.batch is not None and [one.split(" ")[0] for one in spec.batch.unheeded] == [
        "--partition=long", "--mail-type=END,FAIL", "--mail-user=someone@example.org",
    ]  # fmt: skip


def test_what_a_task_finds_around_it(tmp_path: Path) -> None:
    stored = load(tmp_path, REAL, "in.csv", "--fast")
    bag = Bag(stored.spec, lambda k: b"", number=7)
    task, env = bag.task(2), {**bag.shared()["env"], **bag.task(2).env}
    assert task.argv == ("job.sh", "in.csv", "--fast")
    assert task.printed is not None and task.printed.stdout == "array_7-3.log"
    wanted = {"ARRAY_JOB_ID": "7", "ARRAY_TASK_ID": "3", "JOB_ID": "70000002",
              "ARRAY_TASK_MIN": "1", "ARRAY_TASK_MAX": "5", "ARRAY_TASK_COUNT": "5",
              "ARRAY_TASK_STEP": "1", "JOB_NAME": "sweep", "CPUS_PER_TASK": "4", "NTASKS": "1",
              "MEM_PER_NODE": "8192", "JOB_PARTITION": "long",
              "SUBMIT_DIR": str(tmp_path)}  # fmt: skip
    assert {key: env[f"SLURM_{key}"] for key in wanted} == wanted


@pytest.mark.parametrize(
    ("pattern", "name"),
    [("%x-%A_%4a.o%j", "job.sh-3_0009.o30000000"), ("100%%.txt", "100%.txt"), (r"\%a", "%a"),
     ("%b.out", "%b.out")],
)  # fmt: skip
def test_names_of_output_files(tmp_path: Path, pattern: str, name: str) -> None:
    spec = load(tmp_path, f"#SBATCH -o '{pattern}'", array="9").spec
    printed = Bag(spec, lambda k: b"", number=3).task(0).printed
    assert printed is not None and (printed.stdout, printed.stderr) == (name, None)


def test_output_that_goes_nowhere_is_kept_in_the_result(tmp_path: Path) -> None:
    assert load(tmp_path, "#SBATCH -o /dev/null -e /dev/null").task(0).printed is None
    printed = load(tmp_path, "#SBATCH -o /dev/null -e e.%j").task(0).printed
    assert printed is not None and (printed.stdout, printed.stderr) == ("", "e.0")


def test_a_script_without_an_array_is_one_task(tmp_path: Path) -> None:
    bag = load(tmp_path, "#SBATCH -c2")
    env = {**bag.shared()["env"], **bag.task(0).env}
    assert bag.count == 1 and not [name for name in env if "ARRAY" in name]


def test_flags_stand_above_the_script(tmp_path: Path) -> None:
    flags = {"needs": {"memory": "1 GiB"}, "name": "mine", "limits": {"time": "5m"}}
    spec = load(tmp_path, REAL, array="1-3", **flags).spec
    assert spec.needs == {"cores": 4000, "memory": GIB} and spec.name == "mine"
    assert spec.limits.time_us == 5 * MINUTE_US and spec.most_running is None


@pytest.mark.parametrize(
    ("lines", "needs"),
    [
        ("-n 3 --mem-per-cpu=500", {"cores": 3000, "memory": 1500 << 20}),
        ("--gres=gpu:a100:2 -c 8", {"cores": 8000, "gpus": 2000}),
        ("--gres=gpu", {"cores": 1000, "gpus": 1000}),
        ("--gres=gpu:0", {"cores": 1000}),
        ("--gres=none -G 0", {"cores": 1000}),
        (
            "-G 2 --cpus-per-gpu=4 --mem-per-gpu=1G",
            {"cores": 8000, "gpus": 2000, "memory": 2 * GIB},
        ),
        ("--gpus-per-task=v100:1", {"cores": 1000, "gpus": 1000}),
        ("--mem=0 --cpus-per-t=2", {"cores": 2000}),
        ("-Hkc2", {"cores": 2000}),
    ],
)
def test_what_a_task_needs(tmp_path: Path, lines: str, needs: dict[str, int]) -> None:
    assert load(tmp_path, f"#SBATCH {lines}").spec.needs == needs


@pytest.mark.parametrize(
    ("lines", "line", "said"),
    [
        ("#\n#SBATCH --nodes=4", 3, "several machines"),
        ("#SBATCH -n 8\nsrun ./solver", 2, "one parallel program"),
        ("#SBATCH --dependency=afterok:17", 2, "--dependency"),
        ("#SBATCH --time=soon", 2, "'soon' is not a time"),
        ("#SBATCH --mem=lots", 2, "'lots' is not a size"),
        ("#SBATCH -c 0", 2, "'0' is not a number from 1"),
        ("#SBATCH --array=5-1", 2, "ends before it begins"),
        ("#SBATCH --parition=long", 2, "did you mean partition?"),
        ("#SBATCH --mem-per", 2, "mem-per-cpu, mem-per-gpu"),
        ("#SBATCH --time", 2, "has no value"),
        ("#SBATCH 1-10", 2, "is not an option"),
        ("#SBATCH --comment='open", 2, "quote"),
        ("#SBATCH -o logs/%a.out", 2, "mkdir -p"),
        ("#SBATCH -o %N.out", 2, "%N"),
        ("#SBATCH -D nowhere", 2, "there is no folder"),
        ("#SBATCH -J ''", 2, "not a name"),
        ("#SBATCH -t 1\r", 2, "DOS line ends"),
    ],
)
def test_what_is_refused_names_its_line(tmp_path: Path, lines: str, line: int, said: str) -> None:
    fault = refused(tmp_path, lines)
    assert (fault.file, fault.line) == (str(tmp_path / "job.sh"), line)
    assert said in str(fault)


def test_a_bad_flag_is_named_by_itself(tmp_path: Path) -> None:
    assert refused(tmp_path, "", array="1-").flag == "--array"


def test_lines_behind_the_first_command_are_comments(tmp_path: Path) -> None:
    assert load(tmp_path, "#SBATCH -c 2\n\n# text\ncd .\n#SBATCH -c 99").spec.needs["cores"] == 2000


def test_variables_that_are_exported(tmp_path: Path) -> None:
    batch = load(tmp_path, "#SBATCH --export=ALL,DATA='a,b c',N=3").spec.batch
    assert batch is not None and (batch.env["DATA"], batch.env["N"]) == ("a,b c", "3")
    batch = load(tmp_path, "#SBATCH --export=NONE").spec.batch
    assert batch is not None and "--export=NONE" in batch.unheeded[0]


def test_what_is_a_batch_script(tmp_path: Path) -> None:
    (tmp_path / "job").write_text("#!/usr/bin/env python3\n#SBATCH -t 5\nprint(1)\n")
    (tmp_path / "plain.sh").write_text("#!/bin/sh\necho '#SBATCH'\n")
    (tmp_path / "data").write_bytes(b"#!\xff\n#SBATCH\n")
    names = ("job", "plain.sh", "data", "nothing", ".")
    assert [is_script(tmp_path / name) for name in names] == [True, False, False, False, False]
