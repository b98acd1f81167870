"""What a server knows of its hosts, and policies act on, outlives it, however it ends."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

from tests.real.grid import Grid
from tests.real.served import serving, wait_for

POOLS = "pools = ['bad', 'good']\n"
WHERE_IT_FAILS = "command = 'test \"$WHERE\" != bad || exit 7; echo {n}'\n" + POOLS
FIRST_THERE = "JobRequirements = 'Job.Failures > 0 || Host.Pool == \"bad\"'\n"
MANY = "command = 'echo {n}'\n[parameters]\nn = { from = 1, to = 5 }\n" + "[policy]\n"


def test_a_policy_that_looks_at_a_record_acts_on_it_after_the_server_was_killed(
    tmp_path: Path,
) -> None:
    with ExitStack() as stack:
        grid = Grid(stack.enter_context(serving(tmp_path)))
        port = grid.server.owner.address.rpartition(":")[2]
        stack.enter_context(grid.joined("bad")), stack.enter_context(grid.joined("good"))
        wait_for(lambda: grid.hosts("bad") and grid.hosts("good"))
        bag = grid.submit(f"{WHERE_IT_FAILS}[parameters]\nn = [1]\n[policy]\n{FIRST_THERE}")
        grid.ends(bag)
        assert [one.pool for one in grid.sent(bag)] == ["bad", "good"]

        grid.server.process.kill()
        grid.server.process.wait()
        grid.server = stack.enter_context(serving(tmp_path, "--port", port))
        wait_for(lambda: len(_tried(grid, bag)) == 2)
        bag = grid.submit(f"{MANY}JobRequirements = 'Host.ErrorRate < 0.5'\n")
        grid.ends(bag)
        assert [one.pool for one in grid.sent(bag)] == ["good"] * 5
        assert _tried(grid, bag) == {"bad": "JobRequirements is false", "good": ""}

        assert grid.server.end() == 0
        grid.server = stack.enter_context(serving(tmp_path, "--port", port))
        wait_for(lambda: len(_tried(grid, bag)) == 2)
        bag = grid.submit(f"{MANY}JobRequirements = 'Host.Succeeded > 4'\n")
        grid.ends(bag)
        assert [one.pool for one in grid.sent(bag)] == ["good"] * 5


def _tried(grid: Grid, bag: int) -> dict[str, str]:
    """Hosts that are there, and why one would get no task of the bag."""
    told = grid.ask("policy", "test", str(bag), "--json")
    return {one["pool"]: one["why"] for one in told.json["hosts"]} if told.code == 0 else {}
