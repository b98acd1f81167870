"""Makes the pictures of the README by really running the demo. Needs Debian's `chromium`.

python docs/pictures/make.py
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from io import StringIO
from pathlib import Path

from rich.console import Console

from tailrace.cli.here.live import panel
from tailrace.cli.here.progress import Progress
from tailrace.report.table import results_table
from tailrace.server.records import reading

HERE = Path(__file__).parent
TAILRACE = Path(sys.executable).with_name("tailrace")
FONT = re.compile(r"@font-face \{.*?\}\s*", re.S)  # the picture fetches nothing


def main() -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "demo"
        subprocess.run([TAILRACE, "demo", "--quiet", "--folder", folder], check=True)
        link = reading.open_store(folder / ".tailrace")
        draw_live_view(link)
        draw_results(link)
        link.close()
        draw_frontier()
        photograph(next((folder / ".tailrace" / "reports").glob("*.html")))


def draw_live_view(link) -> None:
    """The panel as it stood when 7 in 10 tasks were done."""
    facts = reading.bag(link, 1)
    progress = Progress(facts.name, facts.count, 0, 0, facts.submitted_us)
    for item in reading.feed(link, 1, 0):
        progress.take(item)
        if progress.done >= 0.7 * facts.count:
            break
    save("live.svg", "tailrace run bag.toml", panel(progress, progress.at_us), wide=84)


def draw_results(link) -> None:
    table = results_table(reading.results(link, 1), first=3, last=3)
    save("results.svg", "tailrace results", table, wide=84)


def draw_frontier() -> None:
    """Of the how-to page about plans, with its own numbers."""
    page = (HERE.parent / "how-to" / "plan.md").read_text()
    times = re.search(r'title="times.csv"\n(.*?)```', page, re.S)[1]
    command = re.search(r"^\$ tailrace (plan frontier .*) -o", page, re.M)[1]
    with tempfile.TemporaryDirectory() as place:
        (Path(place) / "times.csv").write_text(times)
        words = [*command.split(), "--plot", HERE / "frontier.svg"]
        subprocess.run([TAILRACE, *words], cwd=place, check=True, stdout=subprocess.DEVNULL)


def save(name: str, title: str, shown: object, wide: int) -> None:
    console = Console(record=True, width=wide, file=StringIO(), force_terminal=True)
    console.print(shown)
    svg = FONT.sub("", console.export_svg(title=title, unique_id=name.partition(".")[0]))
    (HERE / name).write_text(svg)


def photograph(report: Path) -> None:
    picture = HERE / "report.png"
    subprocess.run(
        [
            "chromium",
            "--headless",
            "--no-sandbox",
            "--hide-scrollbars",
            "--window-size=1000,965",
            f"--screenshot={picture}",
            report.as_uri(),
        ],
        check=True,
        capture_output=True,
    )


if __name__ == "__main__":
    main()
