"""Do studies again and write their pages."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import time
from pathlib import Path

from studies.runs import Runs

STUDIES = (
    "availability", "tornado", "bats", "gridbot", "real_traces", "other_simulators", "worlds_agree",
    "expert", "expert_losers", "expert_runs", "expert_frontier", "expert_causes",
    "expert_online", "expert_spot", "what_if", "ntdmr_agreement", "planned_tail",
)  # fmt: skip
PAGES = Path(__file__).parents[1] / "docs" / "studies"


def main() -> None:
    options = _options()
    runs = Runs(options.seeds, options.processes)
    options.folder.mkdir(parents=True, exist_ok=True)
    refuted = []
    for name in options.names or STUDIES:
        began = time.monotonic()
        study = importlib.import_module(f"studies.{name}")
        needs = getattr(study, "NEEDS", "")
        if needs and needs not in os.environ:
            print(f"{name}: left as it is, because {needs} is not set", file=sys.stderr, flush=True)
            continue
        page = options.folder / f"{name.replace('_', '-')}.md"
        text = study.main(runs, options.folder)
        page.write_text(text)
        print(f"{name}: {page}, {time.monotonic() - began:.0f} s", flush=True)
        if hasattr(study, "REFUTED") and study.REFUTED in text:
            refuted.append(name)
    if refuted:
        sys.exit(f"refuted by what was measured: {', '.join(refuted)}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m studies", description=__doc__)
    add = parser.add_argument
    add("names", nargs="*", metavar="NAME", help=f"of {', '.join(STUDIES)}; default: all")
    add("--seeds", type=int, default=20, help="runs of each case (default 20)")
    cores = len(os.sched_getaffinity(0))
    add("-j", dest="processes", type=int, default=cores, help="runs at once; default: all cores")
    add("--folder", type=Path, default=PAGES, help="where the pages go (default docs/studies)")
    options = parser.parse_args()
    for name in options.names:
        if name not in STUDIES:
            parser.error(f"there is no study {name!r}; there are {', '.join(STUDIES)}")
    return options


if __name__ == "__main__":
    main()
