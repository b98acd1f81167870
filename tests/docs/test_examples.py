"""Every example, and every bag file of the documentation, is a good one; the examples run."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.docs import pages
from tests.docs.pages import ROOT

from tailrace.bag.bagfile import load_bag_file

TAILRACE = str(Path(sys.executable).with_name("tailrace"))
EXAMPLES = sorted(path.parent for path in ROOT.glob("examples/*/bag.toml"))

# What makes each small enough for a test, and what it needs.
REDUCED = {
    "option-pricing": {"strike": "[90, 110]", "seed": "[1, 2]", "paths": "500"},
    "dose-response": {"seed": "[1, 2]"},
    "render": {"frame": "[0, 30]", "clock": "[0, 0.5]", "width": "40"},
    "screen": {"shard": "[0, 3]"},
}
PROGRAMS = {"render": ("povray", "povray"), "screen": ("phmmer", "hmmer")}
SCENARIO = re.compile(r"^\[pools\.", re.MULTILINE)  # or the settings of a rehearsal
BAD_ON_PURPOSE = {"clash.toml"}  # the page shows how it is refused


@pytest.fixture
def example(request, tmp_path: Path) -> Path:
    folder = tmp_path / request.param
    shutil.copytree(
        ROOT / "examples" / request.param, folder, ignore=shutil.ignore_patterns(".tailrace")
    )
    if (folder / "make_data.py").exists():
        subprocess.run([sys.executable, "make_data.py"], cwd=folder, check=True)
    return folder


def reduce(folder: Path) -> None:
    text = (folder / "bag.toml").read_text()
    for name, values in REDUCED[folder.name].items():
        text, times = re.subn(rf"^{name} = .*$", f"{name} = {values}", text, flags=re.M)
        assert times == 1, f"{name} is not a parameter of {folder.name}"
    (folder / "bag.toml").write_text(text)


@pytest.mark.parametrize("example", [path.name for path in EXAMPLES], indirect=True)
def test_an_example_runs_to_its_end(example: Path):
    program, package = PROGRAMS.get(example.name, ("sh", ""))
    if shutil.which(program) is None:
        pytest.skip(f"needs the Debian package {package}")
    reduce(example)
    run = subprocess.run(
        [TAILRACE, "run", "--quiet", "--no-report"], cwd=example, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    told = subprocess.run(
        [TAILRACE, "results", "--json"], cwd=example, capture_output=True, check=True
    )
    results = json.loads(told.stdout)
    assert {result["outcome"] for result in results} == {"succeeded"}
    LOOK[example.name](example, results)


def good_prices(folder: Path, results: list) -> None:
    prices = {r["params"]["strike"]: r["value"]["price"] for r in results}
    assert prices[90] > prices[110] > 0


def good_curves(folder: Path, results: list) -> None:
    assert len(list(folder.glob("results/*/*.csv"))) == len(results) == 8
    assert (folder / "results/0.5/1.csv").read_text().startswith("hour,concentration\n0.0,0.0\n")


def good_frames(folder: Path, results: list) -> None:
    frames = [folder / "frames/000.png", folder / "frames/030.png"]
    assert all(frame.read_bytes().startswith(b"\x89PNG") for frame in frames)
    assert frames[0].read_bytes() != frames[1].read_bytes()


def good_hits(folder: Path, results: list) -> None:
    assert [result["value"] for result in results] == [0, 3]
    assert (folder / "hits/03.tbl").read_text().count("\nrelative-3-") == 3


LOOK = {
    "option-pricing": good_prices,
    "dose-response": good_curves,
    "render": good_frames,
    "screen": good_hits,
}


@pytest.mark.parametrize("example", [path.name for path in EXAMPLES], indirect=True)
def test_the_bag_of_an_example_passes_the_check(example: Path):
    assert load_bag_file(example / "bag.toml").count > 10


def shown_bags() -> list[tuple[Path, pages.File]]:
    found = [(p, s) for p in pages.pages() for s in pages.steps(p) if isinstance(s, pages.File)]
    files = [(p, f) for p, f in found if f.name.endswith(".toml") and f.name != "tailrace.toml"]
    return [(p, f) for p, f in files if not SCENARIO.search(f.text)]


@pytest.mark.parametrize(
    ("path", "bag"), shown_bags(), ids=[f"{p.stem}-{f.name}" for p, f in shown_bags()]
)
def test_a_bag_file_in_the_documentation_passes_the_check(
    path: Path, bag: pages.File, tmp_path: Path
):
    if bag.name in BAD_ON_PURPOSE:
        pytest.skip("bad on purpose; the page shows the message")
    for step in pages.steps(path):
        if isinstance(step, pages.File):
            (tmp_path / step.name).write_text(step.text)
    _invent_inputs(tmp_path, bag)
    assert load_bag_file(tmp_path / bag.name).count >= 1


def _invent_inputs(folder: Path, bag: pages.File) -> None:
    """Files that the page makes with commands."""
    for name in ("decay.py", "cases/dry.json", "cases/wet.json"):
        if not (folder / name).exists():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text("")
