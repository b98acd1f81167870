"""The results somebody asks for: no more of them is read than is shown."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from tailrace.report.ends import FIRST_ROWS, LAST_ROWS, Ends
from tailrace.report.record import Result, Which
from tailrace.server.records.reader import Reader
from tailrace.server.records.reading import BagFacts


class Wanted:
    def __init__(self, here: Reader, facts: BagFacts, which: Which) -> None:
        self._here = here
        self._bag = facts.bag
        self._which = which
        self._count = {
            Which.ALL: facts.count,
            Which.DONE: facts.done,
            Which.FAILED: facts.failed,
        }[which]

    def results(self) -> Iterable[Result]:
        return self._here.results(self._bag, self._which)

    def ended(self) -> Iterable[Result]:
        """Those of them that say more than which task it is."""
        which = Which.DONE if self._which is Which.ALL else self._which
        return self._here.results(self._bag, which)

    def ends(self, *, every: bool) -> Ends:
        """The first and the last, or every one."""
        hidden = self._count - FIRST_ROWS - LAST_ROWS
        if every or hidden <= 0:
            return Ends(list(self.results()))
        top = list(islice(self.results(), FIRST_ROWS))
        return Ends(top, self._here.last_results(self._bag, LAST_ROWS, self._which), hidden)
