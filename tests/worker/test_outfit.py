"""The setup of a bag: made once by all workers of a machine together."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tailrace.worker.outfit import SetupFailed, outfit

CODE = """
import json, sys
from tailrace.worker.outfit import outfit
print(json.dumps(outfit(json.loads(sys.argv[1]), sys.argv[2], sys.argv[3]).variables))
"""
SCRIPT = 'echo made >> made; sleep 0.2; export A="$$"; export TAILRACE_X=1; HIDDEN=2'


def test_several_processes_make_it_once_and_have_the_same(tmp_path: Path) -> None:
    words = [sys.executable, "-c", CODE, json.dumps({"script": SCRIPT})]
    places = [str(tmp_path), str(tmp_path / "setups")]
    both = [
        subprocess.Popen([*words, *places], stdout=subprocess.PIPE, text=True) for _ in range(3)
    ]
    told = {one.communicate(timeout=60)[0] for one in both}
    assert len(told) == 1
    assert (tmp_path / "made").read_text() == "made\n"
    assert list(outfit({"script": SCRIPT}, *places).variables) == ["A"]


def test_modules_are_loaded_before_the_script(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "init").mkdir()
    shell = 'module() { shift; for one in "$@"; do export LOADED="$LOADED$one "; done; }\n'
    (tmp_path / "init" / "sh").write_text(shell)
    monkeypatch.setenv("MODULESHOME", str(tmp_path))
    setup = {"modules": ["gcc/12", "mpi"], "script": 'export SAW="$LOADED"'}
    found = outfit(setup, str(tmp_path), str(tmp_path / "setups")).variables
    assert found == {"LOADED": "gcc/12 mpi ", "SAW": "gcc/12 mpi "}


def test_one_that_failed_is_made_anew(tmp_path: Path) -> None:
    setup, place = {"script": "test -e there"}, str(tmp_path / "setups")
    with pytest.raises(SetupFailed, match=r"failed \(exit 1\): it said nothing"):
        outfit(setup, str(tmp_path), place)
    (tmp_path / "there").touch()
    assert outfit(setup, str(tmp_path), place).variables == {}
