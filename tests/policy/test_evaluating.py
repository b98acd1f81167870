"""At run time: what a policy gives, what counts as "no", and which ads it takes."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.policy.reader import read

from tailrace.bag.policy import Policy
from tailrace.policy.ads import MOST_TEXT, BagAd, HostAd, PoolAd, Scene, TaskAd
from tailrace.policy.attributes import ATTRIBUTES, Pace, Scope
from tailrace.policy.expression import Fault, Kind, No
from tailrace.policy.names import may_stand_alone
from tailrace.policy.policies import compile_policy

PAPER = Policy(
    job_requirements='!Tail ? true : regexp("myhost", Host.Name) && Host.ErrorRate < 0.1',
    rank="!Tail ? 1 : Host.JobsToday",
    replication_requirements="NumberOfReplicas < 3 && Job.Replica1.Host.ErrorRate > 0.1",
    concurrency="2 * Host.NumCpus",
    deadline="Concurrency * 2000",
)


def host(name: str = "myhost01", error_rate: float = 0.05) -> HostAd:
    return HostAd(
        {
            "Host.Name": name,
            "Host.ErrorRate": error_rate,
            "Host.JobsToday": 7,
            "Host.NumCpus": 4,
        }
    )


def test_the_papers_example_outside_the_tail() -> None:
    policy, bag, asking = compile_policy(PAPER), BagAd({"BOT.Tail": False}), host("other", 0.9)
    assert policy.job_requirements and policy.rank
    assert policy.job_requirements.evaluate(asking.scene, asking, bag) is True
    assert policy.rank.evaluate(asking.scene, asking, bag) == 1


@pytest.mark.parametrize(
    ("name", "error_rate", "may"),
    [("myhost01", 0.05, True), ("myhost01", 0.5, False), ("x", 0.0, False)],
)
def test_the_papers_example_in_the_tail(name: str, error_rate: float, may: bool) -> None:
    policy, bag, asking = compile_policy(PAPER), BagAd({"BOT.Tail": True}), host(name, error_rate)
    assert policy.job_requirements and policy.rank and policy.concurrency and policy.deadline
    assert policy.job_requirements.evaluate(asking.scene, asking, bag) is may
    assert policy.rank.evaluate(asking.scene, asking, bag) == 7
    assert policy.concurrency.evaluate(asking.scene, asking) == 8
    assert policy.deadline.evaluate(asking.scene, asking) == 16_000


@pytest.mark.parametrize(
    ("replicas", "rate", "more"), [(1, 0.2, True), (3, 0.2, False), (1, 0.1, False)]
)
def test_the_papers_replication(replicas: int, rate: float, more: bool) -> None:
    found = compile_policy(PAPER).replication_requirements
    assert found
    values = {"Job.NumberOfReplicas": replicas, "Job.Replica1.Host.ErrorRate": rate}
    assert found.evaluate(Scene(), TaskAd(values)) is more


def test_all_policies_of_a_bag_may_be_shown_at_once() -> None:
    policy, bag, asking = compile_policy(PAPER), BagAd({"BOT.Tail": True}), host()
    policy.show(asking.scene, asking, bag)
    assert policy.rank and policy.rank.found(asking.scene) == 7
    assert policy.deadline and policy.deadline.found(asking.scene) == 16_000


def test_what_changes_in_an_ad_is_seen() -> None:
    rank, asking = read("Host.JobsToday", Kind.NUMBER), host()
    assert rank.evaluate(asking.scene, asking) == 7
    asking.values["Host.JobsToday"] = 8
    assert rank.evaluate(asking.scene, asking) == 8
    del asking.values["Host.JobsToday"]
    assert rank.evaluate(asking.scene, asking) == No(
        Fault.UNDEFINED,
        "JobRequirements gives UNDEFINED, because Host.JobsToday is not known",
    )


def test_one_and_true_are_two_things() -> None:
    parameter, task, scene = read("Params.alpha", Kind.NUMBER), TaskAd(), Scene()
    exact = read("Params.alpha =?= 1")
    for value, is_one in ((1, True), (1.0, False), (True, False), (1, True)):
        task.values["Job.Params.alpha"] = value
        assert exact.evaluate(scene, task) is is_one
        assert parameter.evaluate(scene, task) == 1


@pytest.mark.parametrize(
    ("text", "kind", "value", "fault", "reason"),
    [
        ("Params.alpha > 1", Kind.BOOLEAN, "text", Fault.ERROR, "gives ERROR"),
        ("Params.alpha > 1", Kind.BOOLEAN, None, Fault.UNDEFINED, "Job.Params.alpha is not known"),
        ("Params.alpha > 1", Kind.BOOLEAN, 2**70, Fault.UNDEFINED, "Job.Params.alpha is not known"),
        ("Params.alpha * 1", Kind.NUMBER, math.nan, Fault.ERROR, "gives nan"),
        ("Params.alpha", Kind.NUMBER, math.inf, Fault.ERROR, "gives inf"),
        ("Params.alpha", Kind.NUMBER, "text", Fault.KIND, 'the text "text"'),
        ("Params.alpha", Kind.COUNT, -1, Fault.RANGE, "gives -1"),
        ("Params.alpha", Kind.SECONDS, 0, Fault.RANGE, "gives 0"),
        ("Params.alpha", Kind.COUNT, True, Fault.KIND, "gives true"),
    ],
)
def test_what_it_cannot_say_is_no(
    text: str, kind: Kind, value: object, fault: Fault, reason: str
) -> None:
    found = read(text, kind).evaluate(Scene(), TaskAd({"Job.Params.alpha": value}))  # type: ignore[dict-item]
    assert isinstance(found, No) and not found
    assert found.fault is fault and reason in found.reason


@given(st.text(min_size=0, max_size=MOST_TEXT + 2))
def test_no_text_of_a_host_harms_the_library(text: str) -> None:
    asking = HostAd({"Host.Name": text})
    found = read("size(Host.Name)", Kind.COUNT).evaluate(asking.scene, asking)
    fits = len(text) <= MOST_TEXT and "\0" not in text
    assert found == len(text.encode()) if fits else isinstance(found, No)


@given(st.text(alphabet=st.characters(categories=["Cs", "Lu", "Cc"]), max_size=20))
def test_halves_of_surrogate_pairs_do_not_reach_it(text: str) -> None:
    asking = HostAd({"Host.Name": text, "Host.Pool": "p"})
    found = read("size(Host.Name) >= 0").evaluate(asking.scene, asking)
    harmful = any(c == "\0" or "\ud800" <= c <= "\udfff" for c in text)
    assert isinstance(found, No) if harmful else found is True


def test_an_ad_of_many_megabytes_is_not_taken_in() -> None:
    task = TaskAd({"Job.Params.my file": "x" * 10_000_000})
    found = read("Params.'my file' != \"a\"").evaluate(Scene(), task)
    assert isinstance(found, No) and "not known" in found.reason


def test_what_the_library_cuts_through_a_character_is_no() -> None:
    asking = HostAd({"Host.Name": "é"})
    found = read("size(substr(Host.Name, 0, 1))", Kind.COUNT).evaluate(asking.scene, asking)
    assert found == 1
    texts = HostAd({"Host.Name": "node001"})
    judged = read('Host.Name == substr("é", 0, 1)').evaluate(texts.scene, texts)
    assert judged is False


def test_an_ad_that_is_needed_and_not_given_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="an ad of them is missing"):
        read("Tail && Host.Reliable").evaluate(Scene(), HostAd())


def test_ads_take_only_what_is_theirs() -> None:
    HostAd({"Host.Name": "a"}), BagAd({"BOT.Tail": True, "Now": 3, "Queue.BOTsInQueue": 1})
    TaskAd({"Job.Replica8.Host.Speed": 1.0, "Job.Params.x": 1}), PoolAd({"Pool.Name": "p"})
    with pytest.raises(KeyError, match=r"Host\.Nmae"):
        HostAd({"Host.Nmae": "a"})
    with pytest.raises(KeyError, match=r"BOT\.Tail is no attribute of HostAd"):
        HostAd({"BOT.Tail": True})


@pytest.mark.parametrize(
    ("text", "per_host", "per_task", "pace"),
    [
        ("true", False, False, Pace.NEVER),
        ("Host.NumCpus > 3", True, False, Pace.NEVER),
        ("Pool.Reliable", True, False, Pace.NEVER),
        ("!Tail", False, False, Pace.EVENT),
        ("Host.TimeLeft > 3 && !Tail", True, False, Pace.TIME),
        ("Params.alpha > 1", False, True, Pace.NEVER),
        ("Job.Replica1.Host.NumCpus > 1", False, True, Pace.EVENT),
        ("OldestReplicaAge > 1 && Lottery < 0.5", False, True, Pace.DECISION),
    ],
)
def test_what_it_needs(text: str, per_host: bool, per_task: bool, pace: Pace) -> None:
    needs = read(text).needs
    assert (needs.per_host, needs.per_task, needs.pace) == (per_host, per_task, pace)
    assert needs.constant is (text == "true") and needs.changing is (pace is not Pace.NEVER)


def test_needs_name_what_is_read() -> None:
    needs = read("!Tail || Host.Speed > 1 || Tail").needs
    assert needs.keys == ("BOT.Tail", "Host.Speed")
    assert needs.scopes == (Scope.BOT, Scope.HOST)
    assert needs.of(Scope.HOST) == ("Host.Speed",)


@pytest.mark.parametrize("key", ATTRIBUTES)
def test_every_attribute_can_be_read_and_is_of_its_type(key: str) -> None:
    one = ATTRIBUTES[key]
    checks = {
        "boolean": "isBoolean",
        "integer": "isInteger",
        "real": "isReal",
        "string": "isString",
    }
    check = f"{checks.get(one.type, 'isList')}({key})"
    assert read(check if not one.may_lack else f"isUndefined({key}) || {check}").needs.keys == (
        key,
    )
    for value in one.samples:
        scene = Scene()
        scene.show({key: value}, (key,))
        assert read(check).found(scene) is True


@pytest.mark.parametrize("key", [key for key, one in ATTRIBUTES.items() if may_stand_alone(one)])
def test_names_of_bags_and_tasks_may_stand_alone(key: str) -> None:
    name = ATTRIBUTES[key].name
    assert read(f"isUndefined({name}) || true").needs.keys == (key,)


def test_all_that_a_scope_alone_has_is_told_apart() -> None:
    alone = [key for key, one in ATTRIBUTES.items() if may_stand_alone(one)]
    assert "BOT.Tail" in alone and "Job.NumberOfReplicas" in alone
    assert "BOT.Name" not in alone and "BOT.Deadline" not in alone and "Host.Speed" not in alone
