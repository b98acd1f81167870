"""γ(t'): three epochs by hand, and what holds of any."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.knowledge.sent import back, expired, failed, of, out

from tailrace.errors import BadInput
from tailrace.knowledge import reliability
from tailrace.knowledge.characterisation import METHODS, Online, characterise, mixed
from tailrace.knowledge.sendings import Fate, Sending, Sendings

TAIL, D = 100.0, 20.0
FULL = [back(0, 5), back(10, 10), back(20, 15), expired(30, 20)]  # 3 of 4
NAMES = sorted(METHODS)


def epochs(*partial: Sending, full: list[Sending] = FULL) -> reliability.Reliability:
    return characterise(of(*full, *partial), Online(TAIL, D), method="paper").reliability


def test_three_epochs_as_in_the_paper() -> None:
    """Until T_tail 5, 5, 5, 10, 10 and 15 s were seen, so that F_s(10 s) = 5/6: of four sent 10 s
    before, three are back, and 3/4 : 5/6 = 0.9. Later on it is the mean of both epochs."""
    found = epochs(back(90, 5), back(90, 5), back(90, 10), out(90, 300))
    assert list(found.since_s) == [0, 90, 100]
    assert found.share == pytest.approx([0.75, 0.9, 0.825])
    assert found.next == found.at(1e9) == pytest.approx(0.825)
    assert found.at(50) == 0.75 and found.at(95) == pytest.approx(0.9) and found.at(-1) == 0.75


def test_what_comes_after_the_beginning_of_the_tail_is_not_known() -> None:
    """The last comes back 1 s after it, and one is sent then."""
    found = epochs(back(90, 5), back(90, 5), back(90, 10), back(90, 11), back(100, 1))
    assert found.share == pytest.approx([0.75, 0.9, 0.825])


def test_each_attempt_is_counted_as_far_as_its_own_time_goes() -> None:
    """Of 5, 5, 10 and 15 s one half is within 5 s, and all within 15 s: one of 1/2 + 1."""
    fresh = out(95, 300), back(85, 5)
    assert epochs(*fresh).share == pytest.approx([0.75] * 3)  # not below the least of before
    half = [*FULL, expired(40, 20), expired(50, 20)]
    assert epochs(*fresh, full=half).share == pytest.approx([1 / 2, 2 / 3, 7 / 12])


def test_it_is_limited_by_1_from_above() -> None:
    found = epochs(*(back(90, 5) for _ in range(4)))  # 1 : 6/7
    assert found.share == pytest.approx([0.75, 1, 0.875])


def test_it_is_limited_by_the_least_of_the_first_epoch_from_below() -> None:
    """Forty attempts are two sets: nineteen of the first twenty, and ten of the others, return."""
    first = [expired(0, 20), *(back(n, 5) for n in range(1, 30))]
    full = [*first, *(expired(n, 20) for n in range(30, 40))]
    found = epochs(back(90, 5), *(out(90, 300) for _ in range(9)), full=full)
    assert list(found.since_s) == [0, 20, 90, 100]
    assert found.share == pytest.approx([0.95, 0.5, 0.5, (0.725 + 0.5) / 2])


def test_an_empty_epoch_leaves_the_other_for_both() -> None:
    assert epochs().share == pytest.approx([0.75, 0.75])
    only = epochs(back(90, 5), back(90, 6), out(90, 300), out(90, 300), full=[])
    assert only.share == pytest.approx([0.5, 0.5])


@pytest.mark.parametrize("method", NAMES)
def test_of_what_was_just_sent_nothing_is_known(method: str) -> None:
    sent = of(*FULL, out(99, 300), out(99, 300))
    found = characterise(sent, Online(TAIL, D), method=method).reliability
    assert list(found.since_s) == [0, 99, 100] and list(found.sent) == [4, 0, 0]
    assert found.share == pytest.approx([0.75, 0.75, 0.75])
    assert found.mean == 0.75


def test_one_that_was_dropped_has_not_failed() -> None:
    """A loser: another had the result when it was out for 10 s, in which two of three return."""
    sent = of(back(0, 5), back(0, 10), back(0, 20), out(0, 10), failed(0, 1))
    found = characterise(sent, method="paper").reliability
    assert found.mean == pytest.approx(3 / (4 + 2 / 3))
    assert characterise(sent).reliability.mean == pytest.approx(4 / 5)  # what fails is told of


def test_where_failures_are_told_at_once_one_that_is_still_out_likely_returns() -> None:
    """Half fail within a second. What has been out for 5 s, of 10 s, is as good as back."""
    known = [back(n, 10) if n % 2 else failed(n, 1) for n in range(80)]
    fresh = [out(95, 300) for _ in range(10)] + [failed(95, 1) for _ in range(10)]
    found = characterise(of(*known, *fresh), Online(TAIL, D)).reliability
    assert found.at(95) == pytest.approx(0.5)
    assert (
        characterise(of(*known, *fresh), Online(TAIL, D), method="paper").reliability.sent[-2] == 0
    )


def test_it_is_no_surer_than_the_fewest_attempts_allow() -> None:
    """One was dropped when half of what returns would have been back."""
    found = characterise(of(back(0, 7), back(0, 8), out(1, 7)), Online(49, 48), method="paper")
    assert found.reliability.error[1] == 0.5


def test_where_few_could_be_back_what_was_before_holds() -> None:
    """Of those that return, one in two hundred would be back by now: that none of fifty is, says
    nearly nothing. Without what was before, the likeliest is that none will be."""
    known = [back(n / 10, 1 if n == 0 else 10) for n in range(200)]
    known += [expired(n / 10, 20) for n in range(200)]
    found = characterise(of(*known, *(out(98, 300) for _ in range(50))), Online(TAIL, D))
    assert found.reliability.at(98) == pytest.approx(0.5, abs=0.1)


def test_sets_do_not_part_what_was_sent_at_once() -> None:
    sent = of(*(back(0, 5) for _ in range(70)), *(expired(60, 20) for _ in range(30)))
    found = characterise(sent, method="paper").reliability
    assert list(found.since_s) == [0, 60] and list(found.share) == [1, 0]
    assert found.mean == pytest.approx(0.7)


def test_what_is_out_for_longer_than_its_time_out_has_failed() -> None:
    known = of(back(0, 5), out(1, 30), expired(2), failed(3, 4)).given_up(20)
    assert list(known.fate) == [Fate.RETURNED, Fate.EXPIRED, Fate.EXPIRED, Fate.FAILED]
    assert list(known.took_s) == [5, 20, 20, 4]


FATES = st.sampled_from((back, failed, expired, out))
SENT = st.lists(st.tuples(FATES, st.floats(0, 200), st.floats(0.01, 50)), max_size=120)
MADE = st.builds(lambda rows: of(back(0, 7), *(make(a, b) for make, a, b in rows)), SENT)


@pytest.mark.parametrize("method", NAMES)
@given(sent=MADE, tail_s=st.floats(8, 300), timeout_s=st.floats(0.1, 300) | st.just(math.inf))
def test_it_is_a_share_whatever_happened(
    method: str, sent: Sendings, tail_s: float, timeout_s: float
) -> None:
    for online in (None, Online(tail_s, timeout_s)):
        found = characterise(sent, online, method=method).reliability
        assert ((found.share >= 0) & (found.share <= 1)).all()
        assert ((found.error >= 0) & (found.error <= 0.5)).all()
        assert (np.diff(found.since_s) > 0).all()
        low, high = found.interval()
        assert 0 <= low <= found.mean + 1e-9 and found.mean - 1e-9 <= high <= 1
        since_s, share = found.steps()
        assert since_s[0] == 0 and share.size == since_s.size


@pytest.mark.parametrize("method", NAMES)
@given(sent=MADE)
def test_online_is_offline_where_all_is_known(method: str, sent: Sendings) -> None:
    """The tail begins when every attempt has come back, or its time-out has passed."""
    known = sent.which(~sent.how(Fate.OUT)).given_up(60.0)
    later = characterise(known, Online(1000.0, 60.0), method=method)
    after = characterise(known, method=method)
    assert later.reliability.since_s[:-1] == pytest.approx(after.reliability.since_s)
    assert later.reliability.share[:-1] == pytest.approx(after.reliability.share, abs=1e-9)
    assert later.turnaround.mean_s == pytest.approx(after.turnaround.mean_s)
    assert later.reliability.next == pytest.approx(after.reliability.mean, abs=1e-9)


@pytest.mark.parametrize("share", [0.0, -0.1, 1.0001, math.nan, math.inf])
def test_a_reliability_that_is_none_is_refused(share: float) -> None:
    with pytest.raises(BadInput, match="above 0 and at most 1"):
        reliability.constant(share)


def test_another_runs_reliability_counts_as_thirty() -> None:
    own = characterise(of(*(back(n, 5) for n in range(10))))
    other = characterise(of(*(back(n, 5) for n in range(5)), *(expired(n, 9) for n in range(5))))
    found = mixed(own, other)
    assert found.reliability.next == pytest.approx((10 * 1 + 30 * 0.5) / 40)
    assert found.sent == 10 and found.pools == ("p",)
    online = characterise(of(*(back(n, 5) for n in range(10))), Online(TAIL, D))
    assert mixed(online, other).reliability.share == pytest.approx([0.625, 0.625])
    assert mixed(None, other).reliability.next == 0.5


def test_a_method_nobody_knows_is_refused() -> None:
    with pytest.raises(BadInput, match="no method of characterisation 'guess'") as refused:
        characterise(of(back(0, 1)), method="guess")
    assert "measured, paper" in str(refused.value)


def test_a_method_may_be_added(monkeypatch: pytest.MonkeyPatch) -> None:
    def sure(seen: Sendings, online: Online | None) -> object:
        return METHODS["paper"](seen, online)[0], reliability.constant(1.0)

    monkeypatch.setitem(METHODS, "sure", sure)
    found = characterise(of(back(0, 1), expired(0, 3)), method="sure")
    assert found.reliability.next == 1 and found.method == "sure"
