"""GridBot, section 7: its experiments on virtual grids, with policies by our scheduler."""

from __future__ import annotations

from pathlib import Path

from studies import verdict
from studies.gridbot import (
    community,
    grids,
    picture,
    ranks,
    replication,
    rivals,
    shortcut,
    small,
    split,
    throughput,
)
from studies.gridbot.page import PAGE as PAGE
from studies.runs import Runs
from studies.verdict import REFUTED as REFUTED


def main(runs: Runs, folder: Path) -> str:
    return study(runs, folder)


def study(runs: Runs, folder: Path, part: float = 1.0) -> str:
    """With so much of the machines and tasks of each scenario; the picture goes to the folder."""
    by_policy, ranked = replication.run(runs, part), ranks.run(runs, part)
    few, volunteers = small.run(runs, part), community.run(runs, part)
    beside, great = rivals.run(runs, part), throughput.run(runs, part)
    parts, asked = split.run(runs, part), shortcut.run(runs, part)
    measured = grids.run(runs)
    first = volunteers[community.PRINTED][0]
    picture.draw(folder / "gridbot.svg", ranked, few[0], first, great)
    usual, _, spike = throughput.around(great)
    return PAGE.format(
        claims=verdict.claims(
            *replication.claims(by_policy), *ranks.claims(ranked), *small.claims(few),
            *community.claims(volunteers), *rivals.claims(beside), *throughput.claims(great),
            *split.claims(parts), *shortcut.claims(asked), *grids.claims(measured),
        ),
        grids=grids.rows(measured),
        replication=replication.rows(by_policy),
        factors=replication.factors(by_policy),
        tried=replication.tried(by_policy),
        ranks=ranks.rows(ranked),
        turnarounds=ranks.turnarounds(ranked),
        small=small.rows(few),
        community=community.rows(volunteers),
        run_on=community.run_on(volunteers),
        wider=community.wider(volunteers),
        boinc=rivals.boinc_rows(beside),
        condor=rivals.condor_rows(beside),
        great=throughput.rows(great),
        spike=f"{spike / usual:.1f}",
        split=split.rows(parts),
        shortcut=shortcut.rows(asked),
    )  # fmt: skip
