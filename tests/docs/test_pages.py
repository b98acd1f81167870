"""The documentation is run: what a page says a command prints is what it prints."""

from __future__ import annotations

import re
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.docs import pages
from tests.docs.pages import ROOT, Ran

AT_ONCE = 4  # most of them wait most of the time
PAGES = pages.pages()
SHOWING = [path for path in PAGES if any(isinstance(s, pages.Command) for s in pages.steps(path))]
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.fixture(scope="module")
def runs():
    """All pages begin at once, and each test waits for its own."""
    with ThreadPoolExecutor(AT_ONCE) as room:
        yield {path: room.submit(pages.run, path) for path in SHOWING}


@pytest.mark.parametrize("path", SHOWING, ids=named)
def test_commands_print_what_the_page_shows(path: Path, runs: dict[Path, Future[list[Ran]]]):
    ran = runs[path].result()
    wrong = [
        pages.disagreement(path, r) for r in ran if not pages.agrees(r.command.expected, r.printed)
    ]
    assert not wrong, "\n\n".join(wrong)


def test_a_page_that_shows_something_else_is_found_out():
    assert not pages.agrees(["5 of 5 tasks succeeded"], ["4 of 5 tasks succeeded"])
    assert not pages.agrees(["in … s"], ["in 5 s", "and more"])
    assert not pages.agrees([], ["a surprise"])


def test_an_ellipsis_stands_for_what_varies():
    assert pages.agrees(["in … s"], ["in 5 s"])
    assert pages.agrees(["first", "…", "last"], ["first", "a", "b", "last"])
    assert pages.agrees(["a  …  c"], ["a    b     c"])


@pytest.mark.parametrize("path", PAGES, ids=named)
def test_links_and_pictures_lead_somewhere(path: Path):
    text = re.sub(r"^```.*?^```$", "", path.read_text(), flags=re.M | re.S)
    for target in LINK.findall(text):
        if "://" in target:
            continue
        name, _, anchor = target.partition("#")
        there = (path.parent / name).resolve() if name else path
        assert there.exists(), f"{named(path)} leads to {target}, which does not exist"
        if anchor and there.suffix == ".md":
            assert anchor in _anchors(there), f"{named(path)}: no heading for {target}"


def _anchors(path: Path) -> set[str]:
    heads = re.findall(r"^#+ (.+)$", path.read_text(), flags=re.M)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def test_every_page_can_be_reached_from_the_index():
    seen, todo = set[Path](), [ROOT / "README.md"]
    while todo:
        path = todo.pop()
        if path in seen or path.suffix != ".md":
            continue
        seen.add(path)
        targets = (t.partition("#")[0] for t in LINK.findall(path.read_text()) if "://" not in t)
        found = [(path.parent / target).resolve() for target in targets if target]
        todo += [f / "README.md" if f.is_dir() else f for f in found]
    assert set(PAGES) <= seen, sorted(map(named, set(PAGES) - seen))
