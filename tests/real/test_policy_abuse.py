"""Whatever is sent as a policy to a real server, over a real socket: it is taken, or refused in
words, and the next call is answered."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.policy.test_fuzz import COSTLY, SOUP, written
from tests.real.served import KEY, Server, serving

from tailrace.bag.policy import EXPRESSIONS
from tailrace.worker.joining import Join

SPEC = {"name": "b", "folder": "/tmp", "command": "true", "axes": [], "repeatable": True}
WORK = {
    "protocol": 2, "key": KEY, "session": 1, "seq": 1, "pool": "lab", "kind": "k", "held": [],
    "capacity": {"cores": 1000}, "results": [], "wait_s": 0,
}  # fmt: skip
HUGE = 10_000_000
TAKEN, REFUSED = 200, (400, 413, 422)
MANY = settings(max_examples=8, deadline=None)
TEXTS = st.lists(st.sampled_from(SOUP), max_size=30).map("".join) | written


class Target(NamedTuple):
    server: Server
    ada: Join
    lab: Join
    bag: int

    @property
    def policy(self) -> str:
        return f"/api/v1/bags/{self.bag}/policy"

    def told(self) -> Any:
        status, told = self.server.ask(self.ada, "GET", self.policy)
        assert status == 200, told
        return told

    def set(self, asked: Any) -> tuple[int, Any]:
        return self._sent(self.ada, self.policy, asked)

    def hand_in(self, policy: Any) -> tuple[int, Any]:
        return self._sent(self.ada, "/api/v1/bags", {"spec": {**SPEC, "policy": policy}})

    def say(self, says: Any) -> tuple[int, Any]:
        return self._sent(self.lab, "/api/v1/work", {**WORK, "host": "h", "says": says})

    def _sent(self, who: Join, path: str, body: Any) -> tuple[int, Any]:
        """What is far too large may be refused while it is on its way: the server hangs up."""
        try:
            return self.server.ask(who, "POST", path, body)
        except (BrokenPipeError, ConnectionResetError, http.client.RemoteDisconnected):
            assert len(json.dumps(body)) >= HUGE
            return 413, {"error": "it hung up"}


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    folder = tmp_path_factory.mktemp("served")
    with serving(folder) as server:
        ada, lab = server.token("ada", "user"), server.token("lab", "pool")
        status, told = server.ask(ada, "POST", "/api/v1/bags", {"spec": SPEC})
        assert status == 200, told
        yield Target(server, ada, lab, told["bag"])
        assert server.end() == 0
    log = (folder / "log").read_text()
    assert "Traceback" not in log and "Exception" not in log, log


def is_refused(answer: tuple[int, Any]) -> None:
    status, told = answer
    assert status in REFUSED, told
    assert len(told["error"]) < 2000 and told["error"].replace("\n", "").isprintable()


def is_answered(answer: tuple[int, Any]) -> None:
    if answer[0] != TAKEN:
        is_refused(answer)


BAD: list[dict[str, Any]] = [
    {"own": {"Rank": "Rank"}},
    {"own": {"Rank": "Concurrency", "Concurrency": "Rank"}},
    {"own": {"JobRequirements": "(" * 1900 + "true" + ")" * 1900}},
    {"own": {"Rank": 'real("nan")'}},
    {"own": {"Rank": 'real("inf")'}},
    {"own": {"Rank": '"first"'}},
    {"own": {"Rank": "\ud800"}},
    {"own": {"Rank": ""}},
    {"own": {"Concurrency": "-1"}},
    {"own": {"Concurrency": "0 - Host.NumCpus"}},
    {"own": {"Deadline": "0"}},
    {"own": {"Deadline": "-Elapsed - 1"}},
    {"own": {"GridPolicy": "Host.Running"}},
    {"own": {"Rank": "1" * HUGE}},
    {"own": {"Rank": None, "Deadline": ["1"]}},
    {"own": dict.fromkeys(EXPRESSIONS, " || ".join(['regexp("^[ab]+[ab]+c", BOT.Name)'] * 90))},
    {"own": []},
    {"plain": {"priority": float("nan")}},
    {"plain": {"priority": float("inf")}},
    {"plain": {"tasks_per_host": -1}},
    {"plain": {"tasks_per_host": 10**30}},
    {"plain": {"max_attempts": 0}},
    {"plain": {"hosts": ["a"] * 2_000_000}},
    {"plain": {"hosts": ["*" * 4000]}},
    {"plain": {"hosts": ['"' * HUGE]}},
    {"own": {"Rank": "1" * HUGE}, "plain": {"priority": 1}},
    {"plain": {"pools": ["\0"]}},
]


@pytest.mark.parametrize("policy", BAD, ids=lambda policy: str(policy)[:60])
def test_a_bad_policy_is_refused_in_words_and_the_next_call_is_answered(
    target: Target, policy: dict[str, Any]
) -> None:
    before = target.told()
    is_refused(target.set(policy))
    is_refused(target.hand_in(policy))
    assert target.told() == before


@pytest.mark.parametrize(
    "asked",
    [
        {"own": {f"Attribute{n}": "1" for n in range(500_000)}},
        {"unset": ["Rank"] * 2_000_000},
        {"unset": ["x" * HUGE]},
        [{}] * 3_000_000,
    ],
    ids=["names", "unset", "one name", "list"],
)
def test_a_change_of_ten_megabytes_is_refused(target: Target, asked: Any) -> None:
    before = target.told()
    is_refused(target.set(asked))
    assert target.told() == before


def test_an_ad_nested_deeper_than_any_stack_is_refused(target: Target) -> None:
    link = http.client.HTTPConnection(*target.ada.url.rpartition("/")[2].split(":"), timeout=60)
    for path in (target.policy, "/api/v1/bags"):
        deep = '{"own":' * 20_000 + "1" + "}" * 20_000
        link.request("POST", path, deep, {"Authorization": f"Bearer {target.ada.token}"})
        reply = link.getresponse()
        is_refused((reply.status, json.loads(reply.read())))
    link.close()
    assert target.told()


def test_expressions_that_were_made_to_be_costly_hold_nobody_up(target: Target) -> None:
    for text in (one for one in COSTLY if len(one) <= 4000):
        is_answered(target.set({"own": {"JobRequirements": text}, "whole": True}))
        assert target.told()


@MANY
@given(st.sampled_from(sorted(EXPRESSIONS)), TEXTS)
def test_any_expression_is_taken_or_refused(target: Target, name: str, text: str) -> None:
    is_answered(target.set({"own": {name: text}, "whole": True}))
    target.told()


@MANY
@given(st.dictionaries(st.sampled_from(sorted(EXPRESSIONS)), TEXTS, max_size=6))
def test_a_bag_with_any_policy_is_taken_or_refused(target: Target, own: dict[str, str]) -> None:
    is_answered(target.hand_in({"own": own}))
    target.told()


@MANY
@given(st.sampled_from(["host_rank", "host_requirements"]), TEXTS)
def test_any_word_of_a_machine_is_taken_or_refused(target: Target, name: str, text: str) -> None:
    is_answered(target.say({name: text}))
    target.told()
