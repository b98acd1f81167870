"""What hatch_build.py compiles can be compiled, and is, only when it is asked for."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest
from click.testing import CliRunner
from hatch_build import modules

import tailrace
from tailrace.cli.main import tailrace_command
from tailrace.cli.version import version

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src"
MARK = "mypyc_attr(allow_interpreted_subclasses=True)"
HATCHLING = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d"]


def classes(path: Path) -> Iterator[ast.ClassDef]:
    yield from (n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.ClassDef))


def taken(path: Path) -> dict[str, str]:
    """Names that the module imports from others, and from where."""
    nodes = (n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.ImportFrom))
    return {alias.asname or alias.name: n.module or "" for n in nodes for alias in n.names}


@pytest.mark.parametrize("name", modules())
def test_a_compiled_module_has_no_records(name: str) -> None:
    """mypyc passes a metaclass no keywords: `eq=False` would be lost without a word."""
    for found in classes(SOURCE / name):
        where = f"{name}:{found.lineno} {found.name}"
        assert not found.keywords, f"{where} has keywords: give it a module that is not compiled"
        bases = [ast.unparse(base) for base in found.bases]
        assert "msgspec.Struct" not in bases, f"{where} is a record: give it a module of its own"


def marked(found: ast.ClassDef) -> bool:
    """Compiled, it may still be derived from by what is interpreted."""
    return MARK in map(ast.unparse, found.decorator_list)


def test_nothing_interpreted_inherits_from_what_is_compiled_and_not_marked() -> None:
    bases = {(_dotted(name), one.name) for name in modules() for one in classes(SOURCE / name)
             if not marked(one)}  # fmt: skip
    for path in SOURCE.rglob("*.py"):
        if path.relative_to(SOURCE).as_posix() in modules():
            continue
        homes = taken(path)
        for found in classes(path):
            for base in map(ast.unparse, found.bases):
                home = homes.get(base.split(".")[0], "")
                assert (home, base) not in bases, f"{path}:{found.lineno} {found.name} of {home}"


@pytest.mark.parametrize("name", [name for name in modules() if "/replication/" in name])
def test_a_users_package_may_derive_from_every_strategy(name: str) -> None:
    for found in classes(SOURCE / name):
        assert marked(found), f"{name}:{found.lineno} {found.name} lacks @{MARK}"


def _dotted(name: str) -> str:
    return name.removesuffix(".py").replace("/", ".")


def built(folder: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    own = {key: value for key, value in os.environ.items() if key not in ("TAILRACE_COMPILE", "CC")}
    command, environ = [*HATCHLING, str(folder)], {**own, **environ}
    return subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True)


def test_unless_asked_the_wheel_is_pure_python(tmp_path: Path) -> None:
    done = built(tmp_path, CC="no-such-compiler")
    assert done.returncode == 0, done.stderr
    assert [path.name.split("-", 2)[2] for path in tmp_path.iterdir()] == ["py3-none-any.whl"]


def test_without_a_compiler_it_says_what_to_install(tmp_path: Path) -> None:
    done = built(tmp_path, TAILRACE_COMPILE="1", CC="no-such-compiler")
    assert done.returncode != 0
    assert "no C compiler 'no-such-compiler'" in done.stderr
    assert "build-essential" in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.iterdir())


def test_the_version_tells_the_form(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert CliRunner().invoke(tailrace_command, ["--version"]).output == f"{version()}\n"
    monkeypatch.setattr(tailrace, "__file__", str(tmp_path / "__init__.py"))
    assert version() == f"tailrace {tailrace.__version__}"
    library = tmp_path / "scheduler" / f"brain{EXTENSION_SUFFIXES[0]}"
    library.parent.mkdir()
    library.touch()
    assert version() == f"tailrace {tailrace.__version__} (compiled)"
