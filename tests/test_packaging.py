"""The wheel holds all that a user without a clone needs."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package as `pip install .` lays it down, without its dependencies."""
    target = tmp_path_factory.mktemp("installed")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, "--target", str(target), str(ROOT)], check=True)
    return target


def test_the_demo_runs_without_a_clone(installed: Path, tmp_path: Path) -> None:
    run = "import sys; sys.argv = ['tailrace', 'demo', '--quiet']; import tailrace.cli.main as m; "
    where = f"import sys; sys.path.insert(0, {str(installed)!r}); "
    check = f"import tailrace; assert tailrace.__file__.startswith({str(installed)!r}); m.main()"
    code = [sys.executable, "-I", "-c", where + run + check]
    done = subprocess.run(code, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert list((tmp_path / "tailrace-demo/.tailrace/reports").glob("*.html"))


def test_the_command_runs_in_a_fresh_environment(tmp_path: Path) -> None:
    """Dependencies are those at hand, so that nothing is fetched."""
    fresh = tmp_path / "fresh"
    made = subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", str(fresh)], capture_output=True, text=True
    )
    if made.returncode:
        pytest.skip(f"no virtual environment can be made here: {made.stdout}{made.stderr}")
    site = Path(sysconfig.get_path("purelib", vars={"base": str(fresh)}))
    pip = [sys.executable, "-m", "pip", "--python", str(fresh / "bin/python"), "install"]
    pip += ["--quiet", "--no-deps", "--no-index", "--no-build-isolation", str(ROOT)]
    (site / "at-hand.pth").write_text(sysconfig.get_path("purelib"))
    done = subprocess.run([*pip, "--ignore-installed"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    command = [str(fresh / "bin/tailrace"), "--help"]
    told = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert told.returncode == 0, told.stderr
    assert "Usage: tailrace" in told.stdout
    where = [str(fresh / "bin/python"), "-c", "import tailrace; print(tailrace.__file__)"]
    loaded = subprocess.run(where, cwd=tmp_path, capture_output=True, text=True).stdout
    assert loaded.startswith(str(site))


def test_the_worker_zips_into_one_file(tmp_path: Path) -> None:
    from tailrace.worker.zipped import write

    made = tmp_path / "worker.pyz"
    write(str(made))
    names = zipfile.ZipFile(made).namelist()
    assert "__main__.py" in names
    assert any(name.endswith("agent.py") for name in names)
