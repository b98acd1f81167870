"""Who stands in line for the hosts of a pool: by rank, by owner, and by what each bag has had.

The next of a line is found without a look at the others, however many they are. What a bag has had
(see `scale`) changes while it stands there: it grows, and the bag moves back when its turn comes.
If it shrinks, since the bag holds less, it enters once more, further ahead, and its old entry does
not count any more. Who has nothing to send keeps his place until somebody comes to it.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush, heapreplace
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tailrace.scheduler.kin import Kin
    from tailrace.scheduler.scale import Scale
    from tailrace.scheduler.state import Bag

    Place: TypeAlias = float | Kin  # a rank, or those who are asked about as one

Entry = tuple[float, int, int]  # what it has had, its number, which of its entries
Line = list[Entry]  # a heap
MOST_IDLE = 64  # entries of a line that do not count, and as many again as do


class Lines:
    __slots__ = ("_crowd", "_entered", "_places", "_scale", "by_rank", "judged", "standing")

    def __init__(self, scale: Scale) -> None:
        self._scale = scale
        self.by_rank: dict[Place, dict[str, Line]] = {}  # and by owner
        self.judged: dict[int, None] = {}  # bags that are alone in how they look to their rank
        self.standing: dict[int, int] = {}  # the others, and which entry of each counts
        self._places: dict[int, tuple[Place, float]] = {}  # their ranks, and what that entry says
        self._crowd: dict[Place, int] = {}  # how many stand at each rank
        self._entered = 0

    def add(self, bag: Bag, rank: Place | None) -> None:
        """None: it has to be judged. Who stands here already, stays where he is, or moves up."""
        if rank is None:
            self.judged[bag.id] = None
        elif bag.id not in self.standing:
            self.enter(bag, rank)
        else:
            self.move_up(bag)

    def place(self, bag: Bag) -> Place:
        """Of one that stands here."""
        return self._places[bag.id][0]

    def enter(self, bag: Bag, rank: Place) -> None:
        """By what it has had now; where it stood before does not count any more."""
        self._go(bag.id)
        self._crowd[rank] = self._crowd.get(rank, 0) + 1
        self._stand(bag, rank, self._had(bag))

    def _stand(self, bag: Bag, rank: Place, had: float) -> None:
        self._entered += 1
        self.standing[bag.id], self._places[bag.id] = self._entered, (rank, had)
        line = self.by_rank.setdefault(rank, {}).setdefault(bag.terms.owner, [])
        if len(line) > 2 * len(self.standing) + MOST_IDLE:
            line[:] = [entry for entry in line if self._counts(entry)]
            heapify(line)
        heappush(line, (had, bag.id, self._entered))

    def _counts(self, entry: Entry) -> bool:
        return self.standing.get(entry[1]) == entry[2]

    def move_up(self, bag: Bag) -> None:
        """If it has less than where it stands says."""
        place = self._places.get(bag.id)
        if place is None:
            return
        rank, said = place
        had = self._had(bag)
        if had < said:
            self._stand(bag, rank, had)

    def _had(self, bag: Bag) -> float:
        return self._scale.had(bag) / bag.terms.weight

    def sort_anew(self, find: Callable[[int], Bag | None]) -> None:
        """All have been reckoned anew."""
        bags = [(find(number), self._places[number][0]) for number in self.standing]
        self.by_rank.clear()
        self.standing.clear()
        self._places.clear()
        self._crowd.clear()
        for bag, rank in bags:
            if bag is not None:
                self.enter(bag, rank)

    def leave(self, bag: Bag) -> None:
        self.judged.pop(bag.id, None)
        self._go(bag.id)

    def _go(self, number: int) -> None:
        """From where it stands, if it does; a place where nobody is left, is forgotten."""
        if self.standing.pop(number, None) is None:
            return
        place = self._places.pop(number)[0]
        self._crowd[place] -= 1
        if not self._crowd[place]:
            del self._crowd[place]
            self.by_rank.pop(place, None)

    def owners(self, rank: Place) -> dict[str, Line]:
        """Those with a line at this rank; the empty ones are forgotten."""
        owners = self.by_rank.get(rank, {})
        for owner in [owner for owner, line in owners.items() if not line]:
            del owners[owner]
        if not owners:
            self.by_rank.pop(rank, None)
        return owners

    def foremost(self, line: Line, find: Callable[[int], Bag | None]) -> Bag | None:
        """Who is first in line, and stays there. Those who have left are forgotten on the way."""
        while line:
            before, number, entry = line[0]
            bag = find(number)
            if self.standing.get(number) != entry:
                heappop(line)
            elif bag is None or not bag.queued:
                heappop(line)
                self._go(number)
            elif (had := self._had(bag)) > before:
                heapreplace(line, (had, number, entry))
                self._places[number] = self._places[number][0], had
            else:
                return bag
        return None

    def walk(self, line: Line, find: Callable[[int], Bag | None]) -> Iterator[Bag]:
        """In their order, for as long as somebody asks; those who had their turn stand in line
        again with what they have had until then."""
        passed: list[Entry] = []
        try:
            while (bag := self.foremost(line, find)) is not None:
                passed.append(heappop(line))
                yield bag
        finally:
            for entry in passed:
                heappush(line, entry)  # which moves back when its turn comes
