"""A policy is tried in another process: what ends or holds it is told to the owner."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tests.policy.reader import read

from tailrace.bag.policy import BagPolicy, Plain, Policy
from tailrace.errors import BadInput
from tailrace.policy.expression import Kind
from tailrace.server import policytrial
from tailrace.server.policytrial import is_quick, try_policy


def asked(**texts: str) -> BagPolicy:
    return BagPolicy(Policy(**texts), Plain(max_running=3), {"alpha": (1, 2)})


def test_a_good_one_is_believed() -> None:
    try_policy(asked(job_requirements='Params.alpha > 1 || regexp("^n.*e", Host.Name)'))


def test_no_file_of_the_folder_gets_into_the_trial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "msgspec.py").write_text("raise SystemExit(1)")
    monkeypatch.chdir(tmp_path)
    try_policy(asked(rank="1"))


def test_a_bad_one_is_refused_in_the_words_of_the_reader() -> None:
    with pytest.raises(
        BadInput, match=r"Rank, column 1: there is no attribute Host\.Spede"
    ) as fault:
        try_policy(asked(rank="Host.Spede"))
    assert "Host.Speed" in fault.value.remedy


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Host.Foo > 1", "JobRequirements, column 1: there is no attribute Host.Foo"),
        ("(" * 40 + "true" + ")" * 40, "JobRequirements, column 33: nested too deeply"),
        ("true) || (true", "JobRequirements, column 5: ) closes nothing"),
        ("1", "JobRequirements: it gives the number 1, but should give true or false"),
    ],
)
def test_beside_plain_words_a_fault_is_told_where_its_owner_wrote_it(text: str, told: str) -> None:
    beside = BagPolicy(Policy(job_requirements=text), Plain(pools=("!spot",)))
    with pytest.raises(BadInput) as fault:
        policytrial.trial(beside)
    assert fault.value.message == told


def test_one_that_is_slow_on_texts_made_for_it_is_refused() -> None:
    slow = 'regexp("^[ab]+[ab]+[ab]+$", Host.Name)'
    many = " || ".join([slow] * 50)
    with pytest.raises(BadInput, match="takes too long"):
        try_policy(asked(job_requirements=many))


def test_one_that_holds_the_child_is_refused() -> None:
    with pytest.raises(BadInput, match="takes too long"):
        try_policy(asked(rank="1"), most_s=0.001)


def test_one_that_ends_the_child_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(BadInput, match="ends the process"):
        try_policy(asked(rank="1"))


def test_slow_ones_are_found_by_what_they_take(monkeypatch: pytest.MonkeyPatch) -> None:
    quick = read('regexp("^node.*[0-9]$", Host.Name)')
    assert is_quick(quick)
    monkeypatch.setattr(policytrial, "MOST_EVALUATION_S", -1.0)
    assert not is_quick(quick) and not is_quick(read("1", Kind.NUMBER))
