"""Settings that tests estimate: the stand-in for the paper's experiment 11, and smaller ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec.structs import replace

from tailrace.planning.setting import Hosts, Setting

T_UR = 2066.0


def stand_in(points: int = 1000) -> np.ndarray:
    """Mean 2066 s, support from 1000 s: the paper has its law as a picture only."""
    chances = (np.arange(points) + 0.5) / points
    drawn = 1000 - (T_UR - 1000) * np.log1p(-chances)
    found: np.ndarray = 1000 + (drawn - 1000) * (T_UR - 1000) / (drawn - 1000).mean()
    return found


def paper(**changed: Any) -> Setting:
    """ExPERT 6.1: 150 tasks, 50 unreliable hosts, Table 2."""
    setting = Setting(
        tasks=150,
        cheap=Hosts(50, stand_in(), per_result=T_UR / 3600),
        dear=Hosts(25, np.array([T_UR]), per_result=34 * T_UR / 3600),
        patience_s=4 * T_UR,
        returned_from=np.zeros(1),
        returned=np.array([0.827]),
    )
    return replace(setting, **changed)


def sure(tasks: int, hosts: int, took_s: float = 10.0, **changed: Any) -> Setting:
    """Nothing is left to chance: each attempt returns after the same time."""
    setting = Setting(
        tasks=tasks,
        cheap=Hosts(hosts, np.array([took_s]), per_result=1.0),
        dear=Hosts(hosts, np.array([took_s]), per_result=100.0),
        patience_s=4 * took_s,
        returned_from=np.zeros(1),
        returned=np.ones(1),
    )
    return replace(setting, **changed)
