"""Policies over the API: taken with a bag, tried in another process, told, changed by the owner."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.server.spoken import SPEC, Spoken, spoken

from tailrace.bag.policy import BagPolicy, Plain, Policy
from tailrace.scheduler.events import BagChanged, Change
from tailrace.server.records import reading
from tailrace.server.web import policies

BAGS = "/api/v1/bags"
RANKED = {"own": {"Rank": "Host.Speed"}, "plain": {"tasks_per_host": 4}}
COLUMN = {"type": "range", "name": "x", "start": "0", "step": "1", "count": 4}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Spoken]:
    with spoken(tmp_path) as made:
        yield made


def hand_in(server: Spoken, token: str = "secret", **spec: Any) -> tuple[int, Any]:
    return server.call("POST", BAGS, {"spec": {**SPEC, **spec}}, token)


def test_a_bag_brings_its_policy_along(server: Spoken) -> None:
    spec = {"policy": RANKED, "weight": 2.5, "tail_below": 7, "tail_stays": True,
            "losers_run_on": True}  # fmt: skip
    number = server.submit("true", **spec, timeout_us=9_000_000, most_running=3, pools=["lab"])
    terms = server.world.state.bags[number].terms
    assert terms.policy == BagPolicy(Policy(rank="Host.Speed"), Plain(tasks_per_host=4))
    assert (terms.weight, terms.tail_below, terms.tail_stays) == (2.5, 7, True)
    assert terms.losers_run_on
    status, told = server.call("GET", f"{BAGS}/{number}/policy")
    assert status == 200
    assert told["text"].splitlines() == [
        "JobRequirements =",
        "    (BOT.JobsRunning < 3) &&  // max_running = 3",
        "    (Host.RunningOfBot < 4) &&  // tasks_per_host = 4",
        '    (Host.Pool =?= "lab")  // pools = ["lab"]',
        "Rank = Host.Speed",
        "Deadline = 9  // timeout = 9s",
        'GridPolicy = Pool.Name =?= "lab"  // pools = ["lab"]',
    ]
    plain = {"max_running": 3, "tasks_per_host": 4, "pools": ["lab"], "timeout_us": 9_000_000}
    assert told["policy"] == {"own": {"Rank": "Host.Speed"}, "plain": plain}
    assert (told["weight"], told["tail_below"], told["tail_stays"]) == (2.5, 7, True)
    assert told["losers_run_on"]


def test_a_bag_without_one_is_not_tried(server: Spoken, monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[BagPolicy] = []
    monkeypatch.setattr(policies, "try_policy", tried.append)
    number = server.submit("true", timeout_us=9_000_000)
    assert server.world.state.bags[number].terms.policy is None and tried == []
    assert (
        server.call("GET", f"{BAGS}/{number}/policy")[1]["text"] == "Deadline = 9  // timeout = 9s"
    )
    server.submit("true", policy=RANKED)
    server.call("POST", f"{BAGS}/{number}/policy", {"own": {"Rank": "2"}})
    assert [one.own.rank for one in tried] == ["Host.Speed", "2"]


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"policy": {"own": {"Rank": "Host.Spede"}}}, "Rank, column 1: there is no attribute"),
        ({"policy": {"own": {"Rank": "1 +"}}}, "nothing follows +"),
        ({"policy": {"own": {"Concurrency": "-1"}}}, "Concurrency: it gives -1"),
        ({"policy": {"own": {"Rank": "Params.x"}}}, "Rank cannot look at Params.x"),
        ({"policy": {"own": {"Deadline": "Params.nix"}}}, "there is no attribute Params.nix"),
        ({"policy": {"own": {"Rank": "1"}, "params": {"x": [1]}}}, "came with the policy"),
        ({"policy": {"own": {"Rank": "1"}, "plain": {"priority": 1}}}, "both priority and Rank"),
        ({"policy": {"own": {"Deadline": "1"}}, "timeout_us": 5}, "both timeout and Deadline"),
        ({"policy": {"own": {"ReplicationRequirements": "Tail"}}}, "the bag is not repeatable"),
        ({"policy": {"plain": {"max_attempts": 2}}}, "the bag is not repeatable"),
        ({"policy": {"plain": {"max_running": 2}}}, "stand beside the policy"),
        ({"policy": {"plain": {"timeout_us": 2}}}, "stand beside the policy"),
        ({"policy": {"plain": {"tasks_per_host": 0}}}, "tasks_per_host is 0"),
        ({"policy": {"plain": {"max_attempts": -3}}}, "max_attempts is -3"),
        ({"policy": {"plain": {"priority": 1e300}}}, "priority is 1e+300"),
        ({"policy": {"plain": {"pools": ["a\"b"]}}}, "is no name and no pattern"),
        ({"policy": {"plain": {"hosts": [""]}}}, "is no name and no pattern"),
        ({"policy": {"plain": {"hosts": ["*" * 9]}}}, "repetitions"),
        ({"policy": {"plain": {"hosts": ["a"] * 1001}}}, "hosts has 1,001 names"),
        ({"policy": {"plain": {"pools": ["a" * 301]}}}, "'… has 301 characters"),
        ({"policy": {"own": {"Rank": "9" * 10_000_000}}}, "it may have 4000"),
        ({"weight": 0}, "a weight is a number above 0"),
        ({"weight": -1}, "a weight is a number above 0"),
        ({"tail_below": -1}, "tail_below a number of tasks"),
    ],
)  # fmt: skip
def test_what_cannot_be_believed_is_refused_and_nothing_is_kept(
    server: Spoken, spec: dict[str, Any], said: str
) -> None:
    status, told = hand_in(server, **spec)
    assert status == 400 and said in told["error"], told
    assert server.call("GET", BAGS)[1] == []


def test_whose_bag_it_is_the_client_does_not_say(server: Spoken) -> None:
    ada = server.token("user", "ada")
    status, told = hand_in(server, ada, owner="bob")
    assert status == 200
    assert server.world.state.bags[told["bag"]].terms.owner == "ada"
    assert server.world.state.bags[server.submit("true")].terms.owner == ""


def change(server: Spoken, number: int, token: str = "secret", **asked: Any) -> tuple[int, Any]:
    return server.call("POST", f"{BAGS}/{number}/policy", asked, token)


def test_a_change_stands_above_what_there_is(server: Spoken) -> None:
    number = server.submit("true", policy=RANKED)
    status, told = change(server, number, own={"Concurrency": "2"}, plain={"hosts": ["n*"]})
    assert status == 200 and told["policy"]["own"] == {"Rank": "Host.Speed", "Concurrency": "2"}
    _, told = change(server, number, unset=["Rank", "tasks_per_host"], plain={"priority": 3})
    assert told["policy"] == {
        "own": {"Concurrency": "2"}, "plain": {"priority": 3, "hosts": ["n*"]},
    }  # fmt: skip
    _, told = change(server, number, own={"Rank": "7"}, whole=True)
    assert told["policy"] == {"own": {"Rank": "7"}, "plain": {}}
    _, told = change(server, number, whole=True)
    assert told["text"] == "" and server.world.state.bags[number].terms.policy is None


def test_a_change_is_journalled_and_there_after_a_restart(tmp_path: Path) -> None:
    with spoken(tmp_path) as server:
        number = server.submit("true {x}", axes=[[COLUMN]])
        assert len(server.work()[1]["start"]) > 0, "it runs"
        assert change(server, number, plain={"priority": 3})[0] == 200
        assert reading.bag_row(server.world.store.link, number).terms.policy is not None
    with spoken(tmp_path) as server:
        now = BagPolicy(plain=Plain(priority=3))
        assert server.world.state.bags[number].terms.policy == now
        told = server.call("GET", f"{BAGS}/{number}/policy")[1]["text"]
        assert told == "Rank = 3  // priority = 3"


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"own": {"Concurrency": "Host.Cpu"}}, "Concurrency, column 1: there is no attribute"),
        ({"own": {"Concurrency": "Job.Params.x"}}, "Concurrency cannot look at Job.Params.x"),
        ({"own": {"Rank": "1"}}, "both priority and Rank"),
        ({"own": {"Deadline": "1"}}, "both timeout and Deadline"),
        ({"own": {"ReplicationRequirements": "Tail"}}, "the bag is not repeatable"),
        ({"plain": {"timeout_us": 1}}, "stand beside the policy"),
        ({"plain": {"max_running": 1}}, "stand beside the policy"),
        ({"plain": {"pools": ["!spot"]}}, "was handed in for lab, and stays there"),
        ({"unset": ["pools"]}, "was handed in for lab, and stays there"),
        ({"unset": ["timeout"]}, "'timeout' cannot be unset"),
        ({"unset": ["rank"]}, "did you mean Rank?"),
        ({"own": {"Rank": 1}}, "Expected `str"),
    ],
)
def test_a_change_that_cannot_be_leaves_all_as_it_was(
    server: Spoken, asked: dict[str, Any], said: str
) -> None:
    spec = {"policy": {"plain": {"priority": 2}}, "timeout_us": 5, "pools": ["lab"]}
    number = server.submit("true", **spec)
    before = server.call("GET", f"{BAGS}/{number}/policy")[1]
    status, told = change(server, number, **asked)
    assert status == 400 and said in told["error"], told
    assert server.call("GET", f"{BAGS}/{number}/policy")[1] == before


def test_a_long_trial_of_one_bag_holds_up_no_other(
    server: Spoken, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada, bob = server.token("user", "ada"), server.token("user", "bob")
    hers, his = server.submit("true", ada), server.submit("true", bob)
    may_end = threading.Event()

    def hold_hers(asked: BagPolicy) -> None:
        if asked.own.rank == "1":
            assert may_end.wait(60)

    monkeypatch.setattr(policies, "try_policy", hold_hers)

    async def both() -> tuple[int, int]:
        path = BAGS + "/{}/policy"
        first = asyncio.create_task(
            server.calling("POST", path.format(hers), {"own": {"Rank": "1"}}, ada)
        )
        await asyncio.sleep(0)
        second = await server.calling("POST", path.format(his), {"own": {"Rank": "2"}}, bob)
        assert not first.done()
        may_end.set()
        return (await first)[0], second[0]

    try:
        assert server.loop.run_until_complete(both()) == (200, 200)
    finally:
        may_end.set()


def test_of_one_bag_each_change_builds_on_the_one_before(server: Spoken) -> None:
    number = server.submit("true")
    path, asked = (
        f"{BAGS}/{number}/policy",
        [{"Rank": "1"}, {"Concurrency": "2"}, {"Deadline": "3"}],
    )

    async def at_once() -> list[tuple[int, Any]]:
        return await asyncio.gather(*(server.calling("POST", path, {"own": own}) for own in asked))

    assert [status for status, _ in server.loop.run_until_complete(at_once())] == [200] * 3
    told = server.call("GET", path)[1]["policy"]["own"]
    assert told == {"Rank": "1", "Concurrency": "2", "Deadline": "3"}


def test_only_its_owner_or_an_admin_may_see_and_set_it(server: Spoken) -> None:
    ada, bob = server.token("user", "ada"), server.token("user", "bob")
    number = server.submit("true", ada)
    assert server.call("GET", f"{BAGS}/{number}/policy", token=bob)[0] == 404
    assert change(server, number, bob, plain={"priority": 99})[0] == 404
    assert change(server, 77, ada, plain={"priority": 99})[0] == 404
    assert server.world.state.bags[number].terms.policy is None
    assert change(server, number, ada, plain={"priority": 1})[0] == 200
    assert change(server, number, server.token("admin", "eve"), plain={"priority": 2})[0] == 200
    terms = server.world.state.bags[number].terms
    assert terms.policy == BagPolicy(plain=Plain(priority=2)) and terms.owner == "ada"


def test_a_trial_tells_what_would_be_without_doing_it(server: Spoken) -> None:
    own = {"JobRequirements": "Host.NumCpus > 1", "Rank": "Host.NumCpus", "Concurrency": "3"}
    own["ReplicationRequirements"] = "Job.NumberOfReplicas < 2"
    number = server.submit("true", policy={"own": own}, repeatable=True)
    for host, cores in (("small", 1), ("large", 4)):
        server.work(host=host, capacity={"cores": 1000 * cores}, free={"cores": 0})
    state = server.world.state.bags[number]
    sent = sum(len(attempts) for attempts in state.live.values())
    status, told = server.call("GET", f"{BAGS}/{number}/policy/trial")
    assert status == 200
    first, second = told["hosts"]
    assert (first["host"], first["matches"], first["rank"], first["most"]) == (
        "large",
        True,
        4.0,
        3,
    )
    assert (second["host"], second["matches"]) == ("small", False)
    assert "JobRequirements" in second["why"]
    assert [task for task, _ in told["twice"]] == list(state.live)
    assert sent == sum(len(attempts) for attempts in state.live.values())
    assert server.call("GET", f"{BAGS}/77/policy/trial")[0] == 404
    assert change(server, number, own={"Rank": "Host.TimeLeft"})[0] == 200
    told = server.call("GET", f"{BAGS}/{number}/policy/trial")[1]
    assert [one["rank"] for one in told["hosts"]] == [None, None], "of nobody it is known"


def test_the_call_of_other_changes_sets_none(server: Spoken) -> None:
    number = server.submit("true", policy=RANKED)
    status, told = server.call("POST", f"{BAGS}/{number}/change", {"change": "policy"})
    assert status == 400 and "a policy is set by another call" in told["error"]
    assert server.world.state.bags[number].terms.policy is not None


def test_a_change_of_a_bag_that_is_gone_is_passed_over(server: Spoken) -> None:
    server.loop.run_until_complete(_told(server, BagChanged(77, Change.POLICY)))
    assert 77 not in server.world.state.bags


async def _told(server: Spoken, event: BagChanged) -> None:
    await server.world.tell(event)
