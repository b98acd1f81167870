"""Whether the tasks of a bag whose files travel have the inputs that they had in an earlier one.

Files are compared by what is in them, as the catalogues of both bags name it: the clocks of two
machines have no part in it. Inputs that all tasks share are left out: a change of theirs is asked
about, as one of a program.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from tailrace.bag.bag import Bag
from tailrace.bag.catalogue import Catalogue
from tailrace.server.catalogues import Catalogues
from tailrace.server.files.blobs import of_bag

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


class Brought:
    def __init__(self, catalogues: Catalogues, bag: Bag, giver: str) -> None:
        """`giver` holds the catalogue of the new bag."""
        self._catalogues = catalogues
        self._bag = bag
        self._giver = giver
        self._before: dict[int, Catalogue] = {}

    def is_kept(self, old: Bag) -> bool:
        """Are the files of this bag here, those it brought along and those its tasks left?"""
        found = self._of(old, of_bag(old.number))
        if found is not None:
            self._before[old.number] = found
        return found is not None

    def alike(self, old: Bag, tasks: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Which of these tasks, by their numbers in the new bag; `old` is kept."""
        import numpy as np

        others = self._differing(self._before[old.number], self._now)
        if not others:
            return np.ones(len(tasks), bool)
        return np.array([self._has_none(index, others) for index in tasks.tolist()], bool)

    @cached_property
    def _now(self) -> Catalogue:
        return self._of(self._bag, self._giver) or {}

    def _of(self, bag: Bag, holder: str) -> Catalogue | None:
        name = bag.spec.catalogue
        return None if name is None else self._catalogues.held(holder, name)

    def _differing(self, before: Catalogue, now: Catalogue) -> set[str]:
        spec = self._bag.spec
        shared = {str(Path(spec.folder) / r.place) for r in spec.inputs if "{" not in r.place}
        paths = (now.keys() | before.keys()) - shared
        return {path for path in paths if path not in now or now[path] != before.get(path)}

    def _has_none(self, index: int, paths: set[str]) -> bool:
        return not any(one.path in paths for one in self._bag.task(index).inputs)
