"""The kernel, the scheduler in the virtual world, and the paper's text step by step: one law."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from studies.ntdmr_agreement import (
    Floats,
    Setting,
    apart,
    by_kernel,
    by_scheduler,
    by_steps,
    drawn,
    scenario,
)

RUNS, MODELLED = 200, 8000


def small(number: int, *, paper: bool = False) -> Setting:
    """A random setting, with fewer tasks and machines."""
    return drawn(number, paper=paper)._replace(tasks=26, cheap=8, dear=2)


PAPERS = small(4, paper=True)
# Of each of a pool's terms: failures told, leases, late results, losers ended.
SMALL = [PAPERS, small(14, paper=True), *(small(number) for number in (0, 1, 12, 3))]


def scheduled(one: Setting) -> Floats:
    what = scenario(one)
    return np.array([by_scheduler(what, seed) for seed in range(RUNS)])


def stepped(one: Setting) -> Floats:
    return np.array([by_steps(one, seed) for seed in range(RUNS)])


def furthest(some: Floats, one: Setting) -> float:
    """From the kernel, of five means; in standard errors."""
    return float(np.abs(apart(some, by_kernel(one, MODELLED))).max())


@pytest.mark.parametrize("one", SMALL, ids=lambda one: one.terms)
def test_the_scheduler_does_what_the_kernel_foretells(one: Setting) -> None:
    assert furthest(scheduled(one), one) < 4


@pytest.mark.parametrize("one", SMALL, ids=lambda one: one.terms)
def test_the_kernel_has_the_law_of_the_papers_text(one: Setting) -> None:
    assert furthest(stepped(one), one) < 4


@pytest.mark.parametrize(
    "more",
    [{"retry_first": False}, {"then": (PAPERS.patience, 0.35)}, {"n": -1}, {"n": 0, "t": 0.0}],
    ids=lambda more: " ".join(more),
)
def test_and_so_it_has_where_the_scheduler_does_otherwise(more: dict[str, Any]) -> None:
    """Or only now and then: machines that grow worse cannot be simulated."""
    one = PAPERS._replace(**more)
    assert furthest(stepped(one), one) < 4


@pytest.fixture(scope="module", params=[scheduled, stepped])
def runs(request: pytest.FixtureRequest) -> Floats:
    found: Floats = request.param(PAPERS)
    return found


@pytest.mark.parametrize(
    "other",
    [{"n": 2}, {"t": 0.0}, {"d": 0.8 * PAPERS.d}, {"dear": 1}, {"share": 0.8 * PAPERS.share},
     {"cancel": True}, {"patience": 1.5 * PAPERS.patience}],
    ids=lambda other: " ".join(other),
)  # fmt: skip
def test_another_setting_is_told_apart(runs: Floats, other: dict[str, Any]) -> None:
    """Else agreement would say little."""
    assert furthest(runs, PAPERS._replace(**other)) > 4
