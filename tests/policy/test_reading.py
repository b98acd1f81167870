"""Every refusal says the place and what to write instead."""

from __future__ import annotations

import sys

import pytest
from tests.policy.reader import read

from tailrace.errors import BadInput
from tailrace.policy import library
from tailrace.policy.attributes import Scope
from tailrace.policy.expression import Kind
from tailrace.policy.functions import FUNCTIONS

GOOD = [
    '!Tail ? true : regexp("myhost", Host.Name) && Host.ErrorRate < 0.1',
    "NumberOfReplicas < 3 && Job.Replica1.Host.ErrorRate > 0.1",
    "!member(Host.Pool, ReplicaPools)",
    "Host.Owner == BOT.Owner",
    "Job.Preemptions < 3 || Host.Reliable",
    "HourOfDay >= 22 || HourOfDay < 6",
    "(Host.Gpus ?: 0) > 1",
    "Host.NoSuch ?: true",
    "host.errorrate < 0.1 && bot.tail",
    "Params.alpha > 1 && Job.Params.'my file' != \"b.txt\"",
    "Replica1.Age > 60",
    "Host.Running > 1 // so far\n || Host /* scope */ . Reliable",
    "(BudgetLeft ?: 1.0) > 0 && Lottery < 0.5 && Queue.BOTsInQueue > 1",
    "Host.TimeLeft > 3600",
    'int(substr(Host.Name, 4)) < 10 || !regexp("^node", Host.Name)',
    "{1, 2}[0] == 1",
    'regexp("^node[0-9]{1,3}$", Host.Name)',
    'regexp("^.*-.*-.*$", Host.Name)',
    "isUndefined(Host.TimeLeft) || true is true",
]

BAD = [
    # text, message, remedy
    ("Host.EroRate < 1", "column 1: there is no attribute Host.Ero", "did you mean Host.ErrorRate"),
    ("true && Host.X", "column 9: there is no attribute Host.X", "(Host.X ?: 0)"),
    ("true &&\n  Host.X", "line 2, column 3", "(Host.X ?: 0)"),
    ("ErrorRate < 1", "no attribute ErrorRate", "write Host.ErrorRate"),
    ('Name == "a"', "no attribute Name", "Host.Name or BOT.Name or Pool.Name"),
    ("Host", "no attribute Host", "such as Host.Name"),
    ('Host["Name"] == "a"', "no attribute Host", "such as Host.Name"),
    ("Job.Replica9.Age > 1", "Job.Replica9.Age", "Job.Replica1 to Job.Replica8"),
    ("Params.alpa > 1", "Params.alpa", "did you mean Params.alpha"),
    ("CurrentTime > 1", "no attribute CurrentTime", "(CurrentTime ?: 0)"),
    ("root.Tail", "no attribute root.Tail", ""),
    ("time() > 3", "the function time", "write Now"),
    ("random() < 1", "the function random", "write Lottery"),
    ("TIME() > 3", "the function TIME", "write Now"),
    ("'time'() > 3", "the function time", "write Now"),
    ('eval("true")', "the function eval", "without the quotes"),
    ('userHome("root") == ""', "the function userHome", "there are"),
    ("sise({1}) > 0", "the function sise", "did you mean size"),
    ("Host.size() > 1", "the function Host.size", ""),
    ("[a = 1].a", "a single =", "records cannot be written"),
    ("size([]) == 1", "records", "braces"),
    ("true ? [] : true", "records", "braces"),
    ("1; b = 2", "column 2: ;", "a key of its own"),
    ("Tail = 1", "a single =", "=="),
    ("true] [", "] closes nothing", "open it with ["),
    ("true) || (true", ") closes nothing", "open it with ("),
    ("(true", "( is left open", "close it"),
    ('"a', "a quote is left open", "close it"),
    ("1 /* a", "a comment is left open", "*/"),
    ("", "empty", "leave the key out"),
    ("/* nothing */", "empty", "leave the key out"),
    ("true false", "an operator is missing before false", "put one there"),
    ("1 + * 2", "a value is missing before *", "put one there"),
    ("Tail &&", "nothing follows &&", "end it with a value"),
    ("(Host.X ?: -1) > 0", "column 12: behind ?: a - needs parentheses", "?: (-"),
    ("Tail ? true", "no ClassAd expression", "it reads"),
    ("é > 1", "'é' cannot stand here", "double quotes"),
    ("tr\x00ue", "cannot stand in an expression", "take it out"),
    ('"\ud800" == ""', "cannot stand in an expression", "take it out"),
    (".Tail", "a dot cannot stand here", "Host.Name"),
    ("(Tail).Name", "a dot cannot stand here", "Host.Name"),
    ("0x10 > 1", "0x… is no number", "without a unit"),
    ("Host.Memory > 4GB", "4G… is no number", "without a unit"),
    ("010 > 1", "begins with 0", "write 10"),
    ("99999999999999999999 > 1", "too large", "64 bits"),
    ("9223372036854775808 > 1", "too large", "64 bits"),
    ("1e400 > 1", "too large", "1e+300"),
    ('Host.Name == "node\\d"', "\\d in a text means only d", "write \\\\d"),
    ('Host.Name == "\\377"', "\\3 in a text", "write \\\\3"),
    ("'a\\'b' ?: true", "is no name", "without backslashes"),
    ("!" * 50 + "true", "nested too deeply", "32 deep"),
    ("(" * 40 + "true" + ")" * 40, "nested too deeply", "32 deep"),
    ("true" + " || true" * 600, "4804 characters", "4000"),
    ("1" + "+1" * 900, "1801 words", "1000"),
    ("1" + "+1" * 450 + " > 0", "cannot be evaluated", ""),
    ('regexp("(a+)+$", Host.Name)', "repeats a group", "without parentheses"),
    ('regexp("(a|aa){2,9}$", Host.Name)', "repeats a group", "without parentheses"),
    ('regexp("a*a*a*a*b", Host.Name)', "has 4 repetitions", "it may have 2"),
    ('regexp("^a*a*a*a*b", Host.Name)', "has 4 repetitions", "3 behind a ^"),
    ('regexp("^x|a*a*a*b", Host.Name)', "has 3 repetitions", "it may have 2"),
    ('regexp("(?:a)b", Host.Name)', "has (?", "plain ("),
    ('regexp("(*NO_JIT)b", Host.Name)', "has (*", "plain ("),
    ('regexp("(a)\\\\1", Host.Name)', "has \\1", "escapes"),
    ('regexp("a{999}", Host.Name)', "too often", "100"),
    ('regexp("a{x}", Host.Name)', "no number", "{2}"),
    ('regexp("[a", Host.Name)', "leaves [ open", "close it"),
    (f'regexp("{"a" * 201}", Host.Name)', "201 characters", "200"),
    ('regexp(Host.Name, "a")', "one text in quotes", "write it out"),
    ('regexp("a" "b", Host.Name)', "one text in quotes", "write it out"),
    ('regexp(")", Host.Name)', "gives ERROR", ""),
    ("Host.Name < 3", "it gives ERROR, where Host.Name = ", "a text was taken for a number"),
    ("1 / Host.Running > 0", "it gives ERROR, where Host.Running = 0", "divided by 0"),
    ("Host.Running", "it gives the number 0, but should give true or false", "compare"),
    ("Host.Name", 'the text "node001"', "compare"),
    ("{true}", "a list", "compare"),
    ("undefined", "it gives UNDEFINED", "?: 0"),
    ("Host.TimeLeft ?: false", "it gives the number", "compare"),
    ("Tail ? 3 : true", "it gives the number 3", "compare"),
    ("JobRequirements", "reads JobRequirements: this has no end", "without it"),
    ("Rank > 1", "the bag has no Rank", "give it one"),
    ("Deadline > 1", "the bag has no Deadline", "BOT.Deadline"),
]  # fmt: skip


@pytest.mark.parametrize("text", GOOD)
def test_good_ones_are_read(text: str) -> None:
    assert read(text).text == text


@pytest.mark.parametrize(("text", "message", "remedy"), BAD, ids=lambda text: text[:30])
def test_bad_ones_are_refused_with_place_and_remedy(text: str, message: str, remedy: str) -> None:
    with pytest.raises(BadInput) as fault:
        read(text)
    assert fault.value.message.startswith("JobRequirements")
    assert message in fault.value.message and remedy in fault.value.remedy


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ("-1", Kind.COUNT, "gives -1, but should give a number from 0"),
        ("0", Kind.SECONDS, "gives 0, but should give a number of seconds above 0"),
        ("0.0 / 0", Kind.NUMBER, "gives nan"),
        ("pow(10.0, 400)", Kind.NUMBER, "gives inf"),
        ("true", Kind.COUNT, "gives true"),
        ('"5"', Kind.NUMBER, 'the text "5"'),
        ("-1 - Host.Running", Kind.COUNT, "but should give a number from 0"),
    ],
)
def test_numbers_that_are_none_are_refused(text: str, kind: Kind, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        read(text, kind)


def test_a_number_out_of_range_here_and_there_is_let_be() -> None:
    assert read("4 - Host.Running", Kind.COUNT).needs.keys == ("Host.Running",)


def test_a_scope_that_is_not_at_hand_is_refused() -> None:
    with pytest.raises(BadInput, match=r"cannot look at Host\.ErrorRate") as fault:
        read("Host.ErrorRate < 1", scopes=(Scope.JOB, Scope.BOT))
    assert "Job.Replica1.Host" in fault.value.remedy


def test_another_policy_of_the_bag_can_be_read() -> None:
    others = {"Concurrency": "2 * Host.NumCpus"}
    found = read("Concurrency * 2000", Kind.SECONDS, others=others)
    assert found.needs.keys == ("Host.NumCpus",)


def test_policies_that_read_each_other_are_refused() -> None:
    with pytest.raises(BadInput, match="JobRequirements reads Rank reads Concurrency reads Rank"):
        read("Rank > 1", others={"Rank": "Concurrency", "Concurrency": "Rank"})


def test_policies_that_grow_through_each_other_are_refused() -> None:
    doubled = {"Rank": "+".join(["Concurrency"] * 300), "Concurrency": "1" + "+1" * 300}
    with pytest.raises(BadInput, match=r"it has .* characters"):
        read("Rank > 1", others=doubled)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_of_the_list_is_one_of_the_library(name: str) -> None:
    """It calls a function that it does not have ERROR, whatever it is given."""
    tries = [
        '"a"', "1", "{1}", '"a", "a"', "1, 2", "1, {1}", "true, 1, 2", '"<", {1}, 2', '"a", 0, 1',
    ]  # fmt: skip
    tree = library.classads().ExprTree
    found = [tree(f"{name}({given})").eval() for given in tries]
    assert any(type(one) is not library.classads().Value for one in found)


def test_without_the_library_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "classad2", None)
    library.classads.cache_clear()
    try:
        with pytest.raises(BadInput, match="not installed") as fault:
            read("true")
    finally:
        library.classads.cache_clear()
    assert "tailrace[policies]" in fault.value.remedy
