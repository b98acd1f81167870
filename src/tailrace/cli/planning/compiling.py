"""The estimator is compiled when it is first used on a machine: its user is told why he waits."""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from tailrace.planning.estimate import Samples
    from tailrace.planning.setting import Setting
    from tailrace.planning.strategy import Strategy

SOON_S = 1.5  # what was compiled before is there by then
PLAIN_S = 60.0  # without a terminal, where mostly nobody waits


def sampled(
    setting: Setting, strategies: Sequence[Strategy], repetitions: int, seed: int
) -> Samples:  # fmt: skip
    from tailrace.planning import estimate

    setting.check(strategies)
    ready()
    return estimate.sample(setting, strategies, repetitions, seed)


def ready() -> None:
    """By a bag of one task, which takes no time of its own."""
    from tailrace.planning import estimate

    told = threading.Timer(SOON_S if sys.stderr.isatty() else PLAIN_S, _tell)
    told.daemon = True
    told.start()
    try:
        estimate.warm_up()
    finally:
        told.cancel()


def _tell() -> None:
    click.echo("tailrace: compiling the estimator, once on this machine: some seconds …", err=True)
