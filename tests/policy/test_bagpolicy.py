"""What a bag file says of policies: plain words, expressions, both, and how they are shown."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.policy.reader import of_bag, policy, table

from tailrace.bag.policy import BagPolicy, HostPolicy, Plain, Policy
from tailrace.bag.policysaid import check_policies
from tailrace.bag.tables import Origin
from tailrace.errors import BadInput
from tailrace.policy.ads import BagAd, HostAd, PoolAd, Scene, TaskAd
from tailrace.policy.bagpolicy import check_policy, compiled, show, whole
from tailrace.policy.policies import compile_host_policy, compile_policy, read_host_policy


def test_expressions_numbers_and_booleans_are_taken() -> None:
    found = of_bag("JobRequirements = 'Host.Reliable'\nRank = 2.5\nGridPolicy = true").policy
    assert found and found.own == Policy(
        job_requirements="Host.Reliable", rank="2.5", grid_policy="true"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("JobRequirement = 1", ":3: unknown key policy.JobRequirement\n  did you mean JobReq"),
        ("Rank = [1]", "bag.toml:3: policy.Rank is a list, but should be an expression"),
        ("Rank = 1\nConcurrency = -1", "bag.toml:4: Concurrency: it gives -1"),
        ("Rank = 1\nDeadline = 0", "bag.toml:4: Deadline: it gives 0"),
        ("Rank = '''\n1 +\n Host.Spede'''", "bag.toml:3: Rank, line 2, column 2: there is no"),
        ("Rank = 'Rank + 1'", "Rank reads Rank: this has no end"),
        ("GridPolicy = 'Host.Reliable'", "GridPolicy cannot look at Host.Reliable"),
        ("ReplicationRequirements = 'Host.Reliable'", "Job.Replica1.Host"),
        ("priority = 3", "unknown key policy.priority"),
        ("tail_below = 0", "bag.toml:3: policy.tail_below is 0"),
        ("tail_stays = 1\ntail_below = 1", "policy.tail_stays is 1, but should be true or false"),
        ("losers = 'stop'", "policy.losers is 'stop'"),
        ("losers = true", "policy.losers is true"),
        ("tail_stays = true", "bag.toml:3: a tail that stays needs its beginning"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_with_its_line(text: str, message: str) -> None:
    with pytest.raises(BadInput) as fault:
        of_bag(text)
    assert message in str(fault.value)


@pytest.mark.parametrize(
    ("own", "plain", "message"),
    [
        ("Rank = 1", "priority = 3", "bag.toml:3: the bag has both priority and Rank"),
        ("Deadline = 1", "timeout = '1h'", "bag.toml:3: the bag has both timeout and Deadline"),
        ("", "max_running = 0", "bag.toml:1: max_running is 0\n  it is a whole number from 1"),
        ("", "max_attempts = 1.5", "bag.toml:1: max_attempts is 1.5"),
        ("", "tasks_per_host = -1", "bag.toml:1: tasks_per_host is -1"),
        ("", "priority = '1'", "bag.toml:1: priority is '1'"),
        ("", "priority = nan", "bag.toml:1: priority is NaN\n  write a smaller number"),
        ("", "priority = 1e400", "bag.toml:1: priority is 1E+400"),
        ("", "weight = 0", "bag.toml:1: weight is 0\n  it is a number above 0"),
        ("", "weight = nan", "bag.toml:1: weight is NaN"),
        ("", "weight = inf", "bag.toml:1: weight is Infinity"),
        ("", "timeout = '0s'", "bag.toml:1: timeout: 0s leaves nothing"),
        ("", "pools = ['a\"b']", "bag.toml:1: 'a\"b' is no name and no pattern"),
        ("", "pools = ['!']", "is no name and no pattern"),
        ("", "pools = ['!!a']", "is no name and no pattern"),
        ("", "pools = ['']", "is no name and no pattern"),
        ("", "pools = [1]", "bag.toml:1: pools is not a list of names"),
        ("", "hosts = 3", "bag.toml:1: hosts is 3, but should be a name or a list of names"),
        ("", "hosts = ['*****']", "bag.toml:1: hosts: "),
        ("JobRequirements = 'true) || (true'", "hosts = 'a*'", ":3: JobRequirements, column 5"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_plain_words_is_told_with_its_line(
    own: str, plain: str, message: str
) -> None:
    with pytest.raises(BadInput) as fault:
        of_bag(own, plain)
    assert message in str(fault.value)


def test_what_the_scheduler_knows_by_itself_is_no_policy() -> None:
    found = of_bag(plain="timeout = '2h'\nmax_running = 9\npools = ['lab', 'my pool']\nweight = 2")
    assert found.policy is None
    assert (found.timeout_us, found.most_running, found.weight) == (7_200_000_000, 9, 2.0)
    assert found.pools == ("lab", "my pool")


def test_the_tail_of_a_bag_is_said_beside_its_expressions() -> None:
    found = of_bag("tail_below = 100\ntail_stays = true")
    assert (found.policy, found.tail_below, found.tail_stays) == (None, 100, True)


@pytest.mark.parametrize(("written", "run_on"), [("", False), ("end", False), ("run on", True)])
def test_losers_end_or_run_on(written: str, run_on: bool) -> None:
    assert of_bag(f'losers = "{written}"' if written else "").losers_run_on is run_on


def test_a_policy_that_runs_tasks_twice_needs_tasks_that_bear_it() -> None:
    once = replace(of_bag(plain="max_attempts = 1"), repeatable=False)
    check_policies(once, Origin(), check_policy)
    for own, plain in (("ReplicationRequirements = 'Tail'", ""), ("", "max_attempts = 2")):
        twice = replace(of_bag(own, plain), repeatable=False)
        with pytest.raises(BadInput, match="lets a task run twice at once, but the bag is not"):
            check_policies(twice, Origin(), check_policy)


def test_parameters_of_the_bag_are_known_to_who_gives_them() -> None:
    text = "Params.alpha > 1 ? Host.Reliable : true"
    assert compile_policy(Policy(job_requirements=text), {"alpha": (1, 2)})


ALL_PLAIN = """
priority = 5
max_running = 100
tasks_per_host = 4
pools = ["!spot", "clu*"]
hosts = "node0*"
max_attempts = 3
timeout = "2h"
"""


def test_plain_words_become_expressions() -> None:
    assert whole(policy(plain=ALL_PLAIN)) == Policy(
        job_requirements="(BOT.JobsRunning < 100) && (Host.RunningOfBot < 4)"
        ' && (regexp("^clu.*$", Host.Pool) && !(Host.Pool =?= "spot"))'
        ' && (regexp("^node0.*$", Host.Name))',
        rank="5",
        replication_requirements="Job.NumberOfReplicas < 3",
        deadline="7200",
        grid_policy='regexp("^clu.*$", Pool.Name) && !(Pool.Name =?= "spot")',
    )


def test_plain_words_and_expressions_have_both_to_hold() -> None:
    own = '"""Tail // or\n || Host.Reliable"""'
    found = policy(f"JobRequirements = {own}", "max_running = 9")
    both = compiled(found).job_requirements
    assert both
    for running, reliable, may in ((8, True, True), (9, True, False), (8, False, False)):
        asking, bag = HostAd({"Host.Reliable": reliable}), BagAd({"BOT.JobsRunning": running})
        bag.values["BOT.Tail"] = False
        assert both.evaluate(asking.scene, asking, bag) is may


def test_what_a_host_holds_of_a_bag_is_counted_without_asking() -> None:
    found = compiled(policy("Concurrency = 'Host.NumCpus'", "tasks_per_host = 4"))
    assert found.job_requirements is None
    assert found.concurrency
    for cores in (2, 64):
        asking = HostAd({"Host.NumCpus": cores})
        assert found.concurrency.evaluate(asking.scene, asking) == cores


def test_an_expression_may_read_what_a_plain_word_says() -> None:
    found = compiled(policy("Deadline = 'Rank * 2000'", "priority = 4"))
    assert found.deadline and found.deadline.value == 8000


@pytest.mark.parametrize(
    ("pools", "admitted"),
    [
        (("!spot",), ["cluster", "spot2", "Spot"]),
        (("cluster", "spot"), ["cluster", "spot"]),
        (("spot*",), ["spot", "spot2"]),
        (("*", "!spot*"), ["cluster", "Spot"]),
        (("spot?",), ["spot2"]),
        (("sp.t",), []),
    ],
)
def test_pools_are_asked_and_hosts_used_alike(pools: tuple[str, ...], admitted: list[str]) -> None:
    found = compiled(BagPolicy(plain=Plain(pools=pools)))
    assert found.grid_policy and found.job_requirements
    for name in ("cluster", "spot", "spot2", "Spot"):
        pool, asking = PoolAd({"Pool.Name": name}), HostAd({"Host.Pool": name})
        assert found.grid_policy.evaluate(pool.scene, pool) is (name in admitted)
        assert found.job_requirements.evaluate(asking.scene, asking) is (name in admitted)


@pytest.mark.parametrize(("most", "more"), [(1, [0]), (3, [0, 1, 2])])
def test_max_attempts_counts_those_at_once(most: int, more: list[int]) -> None:
    found = compiled(BagPolicy(plain=Plain(max_attempts=most))).replication_requirements
    assert found
    allowed = [n for n in range(5) if found.evaluate(Scene(), TaskAd({"Job.NumberOfReplicas": n}))]
    assert allowed == more


def test_the_whole_policy_is_shown_with_the_words_it_came_from() -> None:
    own = "JobRequirements = '!Tail'\nConcurrency = '2 * Host.NumCpus'"
    assert (
        show(policy(own, ALL_PLAIN)) + "\n"
        == """\
JobRequirements =
    (BOT.JobsRunning < 100) &&  // max_running = 100
    (Host.RunningOfBot < 4) &&  // tasks_per_host = 4
    (regexp("^clu.*$", Host.Pool) && !(Host.Pool =?= "spot")) &&  // pools = ["!spot", "clu*"]
    (regexp("^node0.*$", Host.Name)) &&  // hosts = ["node0*"]
    (!Tail)
Rank = 5  // priority = 5
ReplicationRequirements = Job.NumberOfReplicas < 3  // max_attempts = 3
Concurrency = 2 * Host.NumCpus
Deadline = 7200  // timeout = 7200s
GridPolicy = regexp("^clu.*$", Pool.Name) && !(Pool.Name =?= "spot")  // pools = ["!spot", "clu*"]
"""
    )


def shown(policy: BagPolicy) -> dict[str, str]:
    """What is shown, cut into policies again."""
    found: dict[str, str] = {}
    name = ""
    for line in show(policy).splitlines():
        if not line.startswith((" ", "}")):
            name, _, line = line.partition(" =")
        found[name] = f"{found.get(name, '')}{line}\n"
    return found


names = st.sampled_from(["spot", "!spot", "clu*", "node0?", "!a.b-c", "x y"])
plains = st.builds(
    Plain,
    priority=st.none() | st.integers(-99, 99) | st.floats(-1e9, 1e9),
    max_running=st.none() | st.integers(1, 2**31 - 1),
    tasks_per_host=st.none() | st.integers(1, 99),
    pools=st.lists(names, max_size=3).map(tuple),
    hosts=st.lists(names, max_size=3).map(tuple),
    max_attempts=st.none() | st.integers(1, 9),
    timeout_us=st.none() | st.integers(1, 10**15),
)
owns = st.builds(
    Policy,
    job_requirements=st.sampled_from([None, "!Tail", "Tail // so\n || true"]),
    replication_requirements=st.sampled_from([None, "Tail ? true : false"]),
    concurrency=st.sampled_from([None, "Tail ? 1 : 2"]),
    grid_policy=st.sampled_from([None, "Pool.Reliable"]),
)


@given(owns, plains)
def test_all_plain_words_compile_and_mean_what_is_shown(own: Policy, plain: Plain) -> None:
    policy = BagPolicy(own, plain)
    first = compile_policy(whole(policy))
    fields = {name: field for field, name in zip(Policy.__struct_fields__, ORDER, strict=True)}
    again = compile_policy(Policy(**{fields[name]: text for name, text in shown(policy).items()}))
    for field in Policy.__struct_fields__:
        one, other = getattr(first, field), getattr(again, field)
        assert (one is None) is (other is None)
        assert one is None or without_blanks(one.flat.text) == without_blanks(other.flat.text)


ORDER = (
    "JobRequirements", "Rank", "ReplicationRequirements", "Concurrency", "Deadline", "GridPolicy",
)  # fmt: skip


def without_blanks(text: str) -> str:
    return text.replace(" ", "")


@given(owns, plains)
def test_a_policy_travels_as_json(own: Policy, plain: Plain) -> None:
    policy = BagPolicy(own, plain)
    assert msgspec.json.decode(msgspec.json.encode(policy), type=BagPolicy) == policy


def test_a_worker_has_its_say() -> None:
    text = "HostRequirements = 'BOT.Owner == \"alice\"'\nHostRank = 'BOT.Priority'"
    found = read_host_policy(table(text))
    assert found == HostPolicy('BOT.Owner == "alice"', "BOT.Priority")
    says, bag = compile_host_policy(found), BagAd({"BOT.Owner": "bob", "BOT.Priority": 2.0})
    assert says.host_requirements and says.host_rank
    assert says.host_requirements.evaluate(bag.scene, bag) is False
    assert says.host_rank.evaluate(bag.scene, bag) == 2.0


def test_the_say_of_a_worker_is_checked_with_its_line() -> None:
    with pytest.raises(BadInput, match=r"bag\.toml:2: HostRank: it gives the text"):
        read_host_policy(table("HostRank = 'BOT.Owner'"))
