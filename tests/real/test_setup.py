"""`[setup]`: made once on a machine, before the first task, and there for all of them."""

from __future__ import annotations

import base64
import hashlib
import zipfile
from pathlib import Path

from tests.real.conftest import Folder

PIP_S = 600  # it bootstraps itself, which is much work for a busy machine
BAG = """
command = 'python -c "import greeting; print(greeting.TEXT, {x})"; echo $COLOUR; sh -c "$SAY"'
then = "echo then $COLOUR"
[parameters]
x = [1, 2, 3, 4]
[env]
SAY = "echo said"
[setup]
requirements = "needed.txt"
script = '''
echo made >> made
python -c "import greeting"
export COLOUR="deep
blue"'''
"""


def write_wheel(folder: Path) -> None:
    """The smallest package that pip takes."""
    info = "greeting-1.0.dist-info"
    files = {
        "greeting.py": "TEXT = 'hello'\n",
        f"{info}/METADATA": "Metadata-Version: 2.1\nName: greeting\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    rows = [f"{name},sha256={_digest(text)},{len(text)}" for name, text in files.items()]
    files[f"{info}/RECORD"] = "\n".join([*rows, f"{info}/RECORD,,", ""])
    folder.mkdir()
    with zipfile.ZipFile(folder / "greeting-1.0-py3-none-any.whl", "w") as wheel:
        for name, text in files.items():
            wheel.writestr(name, text)


def _digest(text: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip("=")


def test_tasks_have_its_packages_and_variables_and_it_is_made_once(folder: Folder) -> None:
    write_wheel(folder.path / "wheels")
    folder.write("needed.txt", "--no-index\n--find-links wheels\ngreeting==1.0\n")
    folder.write("bag.toml", BAG)
    run = folder.start("run", "--quiet", "-j", "2")
    _, told = run.communicate(timeout=PIP_S)
    assert run.returncode == 0, (told, folder.tailrace("logs", "0").stdout)
    said = [result["stdout"] for result in folder.results()]
    assert said == [f"hello {x}\ndeep blue\nsaid\n" for x in (1, 2, 3, 4)] + ["then deep blue\n"]
    again = folder.tailrace("reproduce", "0")
    assert (again.returncode, again.stdout) == (0, said[0])
    folder.write("bag.toml", BAG.replace("[1, 2, 3, 4]", "[1, 2, 3, 4, 5]"))
    assert folder.tailrace("run", "--quiet").returncode == 0
    assert (folder.path / "made").read_text() == "made\n"


def test_a_setup_that_fails_is_told_as_such_and_pauses_the_bag(folder: Folder) -> None:
    folder.write(
        "bag.toml",
        'command = "echo ran >> ran; echo {x}"\n[parameters]\nx = {from = 1, to = 40}\n'
        "[setup]\nscript = 'echo tried >> tried; echo no such compiler >&2; exit 3'\n",
    )
    done = folder.tailrace("run", "--quiet")
    assert done.returncode == 5, done.stderr
    assert "the setup of the bag failed (exit 3): no such compiler" in done.stderr
    assert not (folder.path / "ran").exists()
    assert (folder.path / "tried").read_text() == "tried\n"
    refused = folder.tailrace("reproduce", "0")
    assert refused.returncode == 2 and "no such compiler" in refused.stderr
