"""Typical values on which an expression is tried when it is read.

The first row is that of something new: a host without a past, a bag just submitted. In the others
the values vary, each in its own rhythm, under all combinations of the booleans that are read.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from tailrace.policy.ads import MOST_TEXT, Values
from tailrace.policy.attributes import Attribute, Plain, Type
from tailrace.policy.needs import Needs

ROWS = 8
MOST_BOOLEANS = 4  # combined; 16 times 8 rows are enough


def known(needs: Needs) -> Iterator[Values]:
    """Everything is known."""
    combined = [one for one in needs.attributes if one.type is Type.BOOLEAN][:MOST_BOOLEANS]
    for row in range(ROWS):
        values = {one.key: _at(one, row, place) for place, one in enumerate(needs.attributes)}
        for chosen in product((False, True), repeat=len(combined)):
            by_key = zip((one.key for one in combined), chosen, strict=True)
            yield {**values, **dict(by_key)}


def lacking(needs: Needs) -> Iterator[Values]:
    """What may be UNDEFINED is: each alone, and all of it."""
    optional = [one.key for one in needs.attributes if one.may_lack]
    for values in known(needs):
        for key in optional:
            yield {**values, key: None}
        if len(optional) > 1:
            yield {**values, **dict.fromkeys(optional)}


def costly(needs: Needs, literals: tuple[str, ...]) -> Iterator[Values]:
    """Long texts of a single letter: on them a pattern goes back and forth the most."""
    letters = dict.fromkeys("".join(literals)[:100])
    for letter in letters:
        text = letter * (MOST_TEXT - 1) + "!"
        for values in list(known(needs))[:2]:
            yield {key: text if isinstance(one, str) else one for key, one in values.items()}


def _at(one: Attribute, row: int, place: int) -> Plain:
    samples = one.samples or ("",)
    return samples[0 if row == 0 else (row * (1 + place % 3) + place) % len(samples)]
