"""The rooms of the house and the arrows between them, what each may not touch, and their size."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import tailrace

HOUSE = Path(tailrace.__file__).parent
ALL = ("errors", "quantities")  # may be used by every room but the worker

# room: the rooms it may know
ARROWS = {
    "errors": (),
    "quantities": (),
    "bag": (),
    "pools": (),
    "knowledge": ("bag", "pools"),
    "policy": ("bag",),
    "scheduler": ("bag", "pools", "knowledge", "policy"),
    "planning": ("bag", "pools", "knowledge"),
    "report": ("bag",),
    "worker": (),
    "drivers": ("bag", "pools", "worker"),
    "server": (
        "bag",
        "pools",
        "knowledge",
        "policy",
        "scheduler",
        "planning",
        "drivers",
        "worker",
        "report",
    ),
    "simulation": ("bag", "pools", "knowledge", "policy", "scheduler", "planning"),
    "python": ("bag", "pools", "scheduler", "server", "report", "cli"),
    "cli": (
        "bag",
        "pools",
        "knowledge",
        "policy",
        "scheduler",
        "server",
        "planning",
        "simulation",
        "report",
        "worker",
    ),
}
PURE = ("scheduler", "knowledge", "policy")
NO_CHANCE = ("time", "datetime", "random", "secrets", "os", "uuid", "threading", "socket")
MOST_LINES = 500
MODULES = sorted(HOUSE.rglob("*.py"))


def name_of(path: Path) -> str:
    return path.relative_to(HOUSE).as_posix()


def room_of(path: Path) -> str:
    return path.relative_to(HOUSE).parts[0].removesuffix(".py")


def imports(path: Path) -> Iterator[tuple[int, str]]:
    """Line and full name of each import, wherever in the file it stands."""
    package = ["tailrace", *path.relative_to(HOUSE).parts[:-1]]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            whole = ".".join([*base, *([node.module] if node.module else [])])
            yield from ((node.lineno, f"{whole}.{alias.name}") for alias in node.names)


def rooms_known(path: Path) -> Iterator[tuple[int, str, str]]:
    for line, name in imports(path):
        words = name.split(".")
        if words[0] == "tailrace" and len(words) > 1:
            yield line, name, words[1]


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_a_module_knows_only_the_rooms_it_may(path: Path) -> None:
    room = room_of(path)
    if room in ("__init__", "__main__"):
        return
    assert room in ARROWS, f"{name_of(path)}: {room} is a room without arrows; draw them here"
    may = (room, *ARROWS[room], *(() if room == "worker" else ALL), "__version__")
    wrong = [
        f"{name_of(path)}:{line} imports {name}, but {room} may know only {', '.join(may)}"
        for line, name, known in rooms_known(path)
        if known not in may
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("path", sorted((HOUSE / "server").glob("*/*.py")), ids=name_of)
def test_nothing_within_the_server_knows_that_it_is_called_by_http(path: Path) -> None:
    wrong = [
        f"{name_of(path)}:{line} imports {name}: say it without HTTP, and let web/ translate"
        for line, name in imports(path)
        if name.startswith("tailrace.server.web.") and path.parent.name != "web"
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("path", sorted((HOUSE / "worker").rglob("*.py")), ids=name_of)
def test_the_worker_needs_nothing_but_python(path: Path) -> None:
    wrong = [
        f"{name_of(path)}:{line} imports {name}, which is not in the standard library"
        for line, name in imports(path)
        if (top := name.split(".")[0]) not in sys.stdlib_module_names and top != "tailrace"
    ]
    assert not wrong, "\n".join(wrong)


def pure_modules() -> list[Path]:
    return [path for path in MODULES if room_of(path) in PURE]


@pytest.mark.parametrize("path", pure_modules(), ids=name_of)
def test_scheduler_knowledge_and_policy_know_no_clock_and_no_chance(path: Path) -> None:
    wrong = [
        f"{name_of(path)}:{line} imports {name}: the same events must give the same decisions"
        for line, name in imports(path)
        if name.split(".")[0] in NO_CHANCE
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("path", pure_modules(), ids=name_of)
def test_scheduler_knowledge_and_policy_make_no_sets(path: Path) -> None:
    """Their order differs from process to process; a dict with None for values keeps it."""
    wrong = [
        f"{name_of(path)}:{node.lineno} makes a set: use dict.fromkeys(…)"
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, (ast.Set, ast.SetComp)) or _calls_a_set(node)
    ]
    assert not wrong, "\n".join(wrong)


def _calls_a_set(node: ast.AST) -> bool:
    called = node.func if isinstance(node, ast.Call) else None
    return isinstance(called, ast.Name) and called.id in ("set", "frozenset", "hash", "id")


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_no_module_holds_two_nouns(path: Path) -> None:
    lines = len(path.read_text().splitlines())
    assert lines <= MOST_LINES, f"{name_of(path)} has {lines} lines: split it"


def test_an_arrow_against_the_house_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules[__name__], "HOUSE", tmp_path)
    wrong = tmp_path / "pools" / "terms.py"
    wrong.parent.mkdir()
    wrong.write_text("def f():\n    from ..scheduler.state import State\n")
    with pytest.raises(AssertionError, match=r"pools/terms.py:2 imports tailrace.scheduler.state"):
        test_a_module_knows_only_the_rooms_it_may(wrong)
