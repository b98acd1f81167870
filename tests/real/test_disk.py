"""A full disk: the run waits, says why, and goes on when there is room again."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.real.conftest import Folder


@pytest.fixture
def small_disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    place = tmp_path_factory.mktemp("small")
    mount = ["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", str(place)]
    if os.geteuid() != 0 or subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("mounting a small file system needs root")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def _fill(filler: Path) -> None:
    file = os.open(filler, os.O_WRONLY | os.O_CREAT)
    try:
        while True:
            os.write(file, b"x" * 4096)
    except OSError:
        os.close(file)


def test_a_full_disk_stops_nothing_for_good(folder: Folder, small_disk: Path) -> None:
    folder.write(
        "jobs", "echo begun >> begun; sleep 0.1; head -c 20000 /dev/urandom | base64\n" * 60
    )
    run = folder.start("run", "--commands", "jobs", "--no-report", TAILRACE_FOLDER=str(small_disk))
    folder.wait_for((folder.path / "begun").exists)
    filler = small_disk / "filler"
    _fill(filler)
    folder.wait_for(lambda: "full" in run.stderr, 60)
    filler.unlink()
    out, err = run.communicate(timeout=90)
    assert run.returncode == 0, (out, err)
    assert "60 of 60 tasks succeeded" in out
