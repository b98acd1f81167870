"""Families of processes, found by parents."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tailrace.worker import tree


@given(st.data())
def test_each_process_is_listed_once_and_after_its_parent(data: st.DataObject) -> None:
    """Whoever else is asked for: in a container all processes are found one by one."""
    count = data.draw(st.integers(1, 12))
    parents = {pid: data.draw(st.integers(1, pid - 1)) for pid in range(2, count + 1)}
    roots = data.draw(st.lists(st.integers(1, count)))
    found = tree.below(roots, parents)
    assert len(set(found)) == len(found)
    assert set(found) == {pid for pid in range(1, count + 1) if _up(pid, parents) & set(roots)}
    assert all(found.index(parents[pid]) < found.index(pid) for pid in found if pid in parents
               and parents[pid] in found)  # fmt: skip


def _up(pid: int, parents: dict[int, int]) -> set[int]:
    """It and all above it."""
    found = {pid}
    while pid in parents:
        pid = parents[pid]
        found.add(pid)
    return found
