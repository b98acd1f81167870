"""Strategies that a bag names: read with the bag, and refused before it is handed in."""

from __future__ import annotations

from pathlib import Path

import pytest

from tailrace.bag.bag import Bag
from tailrace.bag.bagfile import load_bag_file
from tailrace.bag.terms import Strategy
from tailrace.errors import BadInput
from tailrace.scheduler.strategies import MATCHING, REPLICATION, admit

HEAD = 'command = "true {size}"\nrepeatable = true\n'
TAIL = "[parameters]\nsize = [3, 1, 2]\n"


def load(folder: Path, *lines: str, head: str = HEAD) -> Bag:
    bag = folder / "bag.toml"
    bag.write_text(head + "".join(f"{line}\n" for line in lines) + TAIL)
    return load_bag_file(bag, admit=admit)


def refused(folder: Path, *lines: str, head: str = HEAD) -> str:
    with pytest.raises(BadInput) as fault:
        load(folder, *lines, head=head)
    assert fault.value.remedy
    return str(fault.value)


def test_they_reach_the_terms_through_the_stored_bag(tmp_path: Path):
    bag = load(tmp_path, 'matching = "fjbcr"', 'round = "10s"',
               'replication = {strategy = "ntdmr", n = 2, mr = 0.5}')  # fmt: skip
    terms = Bag.decode(bag.encode()[0], lambda k: b"").terms()
    assert terms.matching == Strategy("fjbcr")
    assert terms.replication == Strategy("ntdmr", {"n": 2, "mr": 0.5})
    assert terms.round_us == 10_000_000


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('matching = "fastest"', "no matching strategy 'fastest'"),
        ('replication = "wrq"', "did you mean wqr?"),
        ('replication = {strategy = "wqr", mots = 2}', "wqr has no option 'mots'"),
        ('replication = {strategy = "wqr", most = "two"}', "most is 'two', not a whole number"),
        ('replication = {strategy = "wqr", most = true}', "most is True, not a whole number"),
        ('replication = {strategy = "wqr", most = 0}', "must be 1 (nothing is replicated) or more"),
        ('replication = {strategy = "ntdmr", d_s = 0}', "d_s is 0, but must be above 0"),
        ('replication = {strategy = "ntdmr", n = [1]}', "neither a number nor a text"),
        ('matching = {strategy = "fcfs", most = 2}', "fcfs takes no options"),
        ("replication = {most = 2}", "replication names no strategy"),
        ('round = "0s"', "0s is no time at all"),
        ('matching = "maxmax"', 'order = "-size"'),
        ('matching = "minmax"\norder = "shuffled"', 'order = "size"'),
    ],
)
def test_what_cannot_be_is_refused_with_its_line(line: str, words: str, tmp_path: Path):
    told = refused(tmp_path, line)
    assert words in told
    assert told.startswith(f"{tmp_path}/bag.toml:3: ")


def test_the_longest_first_goes_with_an_order_by_a_parameter(tmp_path: Path):
    bag = load(tmp_path, 'matching = "maxmax"', 'order = "-size"')
    assert list(bag.order() or []) == [0, 2, 1]


@pytest.mark.parametrize("says", ["", "repeatable = false\n"])
def test_a_bag_that_is_not_repeatable_is_not_replicated(says: str, tmp_path: Path):
    told = refused(tmp_path, 'replication = "wqr"', head=f'command = "true {{size}}"\n{says}')
    assert "the bag is not repeatable" in told and "--repeatable" in told
    staged = 'command = "true {size}"\nfiles = "staged"\n'
    assert load(tmp_path, 'replication = "wqr"', head=staged).terms().repeatable


def test_every_strategy_there_is_can_be_named(tmp_path: Path):
    for name in MATCHING:
        load(tmp_path, f'matching = "{name}"', 'order = "size"')
    for name in REPLICATION:
        load(tmp_path, f'replication = "{name}"')
