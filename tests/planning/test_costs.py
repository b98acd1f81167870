"""What the paper says of costs, reckoned here."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from tests.planning.settings import T_UR, paper

from tailrace.planning.estimate import sample
from tailrace.planning.setting import Setting
from tailrace.planning.strategy import Strategy
from tailrace.pools.terms import HOUR_US, Billing
from tailrace.quantities import price

STRATEGY = Strategy(3, T_UR, 2 * T_UR, 0.1)


def priced(c_ur: float, c_r: float, t_r: float = T_UR) -> Setting:
    setting = paper()
    assert setting.dear is not None
    return replace(
        setting,
        cheap=replace(setting.cheap, per_result=c_ur * T_UR),
        dear=replace(setting.dear, turnarounds=setting.dear.turnarounds * t_r / T_UR,
                     per_result=c_r * t_r),
    )  # fmt: skip


def per_task(setting: Setting) -> float:
    return float(sample(setting, [STRATEGY], 200).means("cost_per_task")[0])


def reliable(setting: Setting) -> float:
    return float(sample(setting, [STRATEGY], 200).means("reliable_sent")[0])


def test_fifty_machines_of_a_cloud_for_two_hours_cost_34_dollars() -> None:
    billing = Billing.at(price("0.34 USD/h"), HOUR_US)
    assert 50 * billing.cost(2 * HOUR_US) == 34_000_000


@pytest.mark.parametrize("alpha", [0.5, 3.0])
def test_who_minds_the_climate_pays_a_reliable_result_alpha_times_as_dear(alpha: float) -> None:
    """C_r = α T_ur / T_r C_ur, whatever T_r is."""
    t_r = 1.5 * T_UR
    setting = priced(1.0, alpha * T_UR / t_r, t_r)
    dear = reliable(setting) / setting.tasks
    cheap = per_task(priced(1.0, 0.0, t_r))
    assert per_task(setting) == pytest.approx(cheap + dear * alpha * T_UR)


def test_who_has_the_grid_for_nothing_pays_for_reliable_results_alone() -> None:
    setting = priced(0.0, 34 / 3600)
    expected = reliable(setting) * T_UR * 34 / 3600 / setting.tasks
    assert per_task(setting) == pytest.approx(expected)


def test_who_has_graphics_processors_pays_fifty_times_the_energy_on_others() -> None:
    """T_r = 100 T_ur and C_r = C_ur / 2: a reliable result takes fifty times as much."""
    setting = priced(1.0, 0.5, 100 * T_UR)
    assert setting.dear is not None
    assert setting.dear.per_result == pytest.approx(50 * setting.cheap.per_result)
    assert per_task(setting) > per_task(priced(1.0, 0.0, 100 * T_UR))
