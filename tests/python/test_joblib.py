"""joblib and scikit-learn on tailrace, by one changed line."""

from __future__ import annotations

import os
from typing import Any

import pytest

import tailrace

joblib = pytest.importorskip("joblib", reason="joblib is not installed; `pip install joblib`")


@pytest.fixture(autouse=True)
def registered() -> None:
    tailrace.register_joblib()


def test_parallel_runs_in_other_processes_and_keeps_the_order() -> None:
    with joblib.parallel_config("tailrace", n_jobs=2):
        found = joblib.Parallel()(joblib.delayed(_with_pid)(x) for x in range(300))
    assert [x for x, _ in found] == list(range(300))
    assert os.getpid() not in {pid for _, pid in found}


def test_an_exception_ends_the_whole_and_leaves_the_backend_usable() -> None:
    with joblib.parallel_config("tailrace", n_jobs=2):
        with pytest.raises(ZeroDivisionError):
            joblib.Parallel()(joblib.delayed(_inverse)(x) for x in (1, 0, 2))
        assert joblib.Parallel()(joblib.delayed(_inverse)(x) for x in (1, 2)) == [1.0, 0.5]


def test_equal_batches_share_no_argument_that_they_change() -> None:
    with joblib.parallel_config("tailrace", n_jobs=2):
        found = joblib.Parallel(batch_size=1)(joblib.delayed(_longer)([]) for _ in range(6))
    assert found == [[0]] * 6


def test_a_stop_iteration_of_a_call_is_not_the_end_of_the_results() -> None:
    for way in ("list", "generator"):
        with (
            joblib.parallel_config("tailrace", n_jobs=2),
            pytest.raises(RuntimeError, match="raised StopIteration"),
        ):
            list(joblib.Parallel(return_as=way)(joblib.delayed(next)(iter([])) for _ in range(2)))


def test_a_grid_search_gives_what_it_gives_elsewhere() -> None:
    reason = "scikit-learn is not installed; `pip install scikit-learn`"
    pytest.importorskip("sklearn", reason=reason)
    ours = _searched("tailrace")
    plain = _searched("sequential")
    assert ours.best_params_ == plain.best_params_
    scores = "mean_test_score"
    assert list(ours.cv_results_[scores]) == pytest.approx(list(plain.cv_results_[scores]))


def _searched(backend: str) -> Any:
    from sklearn.datasets import load_iris
    from sklearn.model_selection import GridSearchCV
    from sklearn.svm import SVC

    search = GridSearchCV(SVC(random_state=0), {"C": [0.1, 1, 10], "kernel": ["linear", "rbf"]})
    search.set_params(cv=3, n_jobs=2)
    with joblib.parallel_config(backend):
        return search.fit(*load_iris(return_X_y=True))


def _with_pid(x: int) -> tuple[int, int]:
    return x, os.getpid()


def _longer(items: list[int]) -> list[int]:
    items.append(0)
    return items


def _inverse(x: int) -> float:
    return 1 / x
