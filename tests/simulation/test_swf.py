"""Standard Workload Format: jobs are read, and bad lines are named."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from tailrace.errors import BadInput
from tailrace.simulation.swf import Swf, read_swf

LOG = """\
; Version: 2.2
; Computer: a small one
;
; UnixStartTime: 844000000
  1   0   5  100   4  99.5 -1   8 200 -1  1 3 1 -1 1 -1 -1 -1

  2  30  -1   -1  -1  -1   -1   2 200 -1  5 3 1 -1 1 -1 -1 -1  ; cancelled
  3  20   0    7   1  -1   -1  -1  -1 -1  1 4 1 -1 1 -1 -1 -1
"""
LINE = " ".join(["1"] * 18)


def log(tmp_path: Path, text: str = LOG) -> Swf:
    path = tmp_path / "log.swf"
    path.write_text(text)
    return read_swf(path, "log.swf")


def test_a_log_gives_submit_times_run_times_and_processors(tmp_path: Path) -> None:
    found = log(tmp_path)
    assert found.submit_us().tolist() == [0, 30_000_000, 20_000_000]
    assert found.run_s().tolist() == [100, -1, 7]
    assert found.processors().tolist() == [4, 2, 1]
    assert found.column("cpu")[0] == 99.5


def test_complete_jobs_come_in_the_order_of_submission(tmp_path: Path) -> None:
    found = log(tmp_path).complete()
    assert found.column("job").tolist() == [1, 3]


def test_archives_keep_logs_compressed(tmp_path: Path) -> None:
    (tmp_path / "log.swf.gz").write_bytes(gzip.compress(LOG.encode()))
    assert len(read_swf(tmp_path / "log.swf.gz", "log.swf.gz").rows) == 3


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (f"; a\n{LINE}\n1 2 3\n", r"log.swf:3: this line has 3 fields\n.*18 numbers"),
        (f"{LINE} 19\n", r"log.swf:1: this line has 19 fields"),
        (f"\n{LINE.replace('1 1', '1 soon', 1)}\n", r"log.swf:2: field 2 \(submit\) is 'soon'"),
        (f"{LINE[:-1]}nan\n", r"log.swf:1: field 18 \(think\) is 'nan', not a number\n.*write -1"),
        (f"inf{LINE[1:]}\n", r"log.swf:1: field 1 \(job\) is 'inf'"),
        ("; only a header\n", r"log.swf: there is no job in it"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(BadInput, match=told):
        log(tmp_path, text)


def test_a_file_that_is_not_there_or_not_packed_is_told(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no such file"):
        read_swf(tmp_path / "no.swf", "no.swf")
    (tmp_path / "log.swf.gz").write_text(LOG)
    with pytest.raises(BadInput, match=r"log.swf.gz: it cannot be unpacked"):
        read_swf(tmp_path / "log.swf.gz", "log.swf.gz")
