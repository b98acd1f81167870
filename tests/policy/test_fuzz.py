"""Whatever is written, it is read or refused; and what is read means what the library says."""

from __future__ import annotations

import math

import classad2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.policy.reader import read

from tailrace.errors import BadInput
from tailrace.policy.ads import BagAd, HostAd, Scene, TaskAd
from tailrace.policy.expression import Expression, Kind, No
from tailrace.policy.flat import Terms, flatten
from tailrace.policy.functions import FUNCTIONS
from tailrace.policy.tokens import MOST_CHARACTERS
from tailrace.server.policytrial import is_quick

OPERATORS = [
    "+", "-", "*", "/", "%", "<", "<=", "==", "!=", ">", ">=", "=?=", "=!=", "&&", "||", "?:", "is",
    "isnt", "&", "|", "^", "<<", ">>", ">>>",
]  # fmt: skip
NAMES = ["Host.Name", "Host.Running", "Host.Reliable", "Host.Speed", "BOT.Tail", "BOT.Priority",
         "Job.Attempts", "Job.ReplicaPools"]  # fmt: skip
LITERALS = ["0", "1", "2.5", "true", "false", '"a"', '"node"', "undefined", "error", "{1, 2}"]
SOUP = [
    *OPERATORS, *NAMES, *LITERALS, *FUNCTIONS, "(", ")", "{", "}", "[", "]", ",", ".", "?", ":",
    "!", "~", ";", "=", '"', "'", "\\", "/*", "*/", "//", "time()", "random()", "eval(",
    "CurrentTime", "Host", "Tail", "Rank", "1e999", "0x1", "é", "\0", "\ud800", " ", "\n",
    'regexp("', "(a+)+",
]  # fmt: skip
KINDS = st.sampled_from(list(Kind))

HOST = {"Host.Name": "node017", "Host.Running": 2, "Host.Reliable": True, "Host.Speed": 0.5}
BAG = {"BOT.Tail": True, "BOT.Priority": 1.5}
TASK = {"Job.Attempts": 0, "Job.ReplicaPools": ("a", "spot")}


def extended(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    one, two, three = inner, st.tuples(inner, inner), st.tuples(inner, inner, inner)
    calls = st.tuples(st.sampled_from(sorted(FUNCTIONS)), st.lists(inner, max_size=3))
    return st.one_of(
        st.tuples(one, st.sampled_from(OPERATORS), one).map(lambda p: f"({p[0]} {p[1]} {p[2]})"),
        three.map(lambda p: f"({p[0]} ? {p[1]} : {p[2]})"),
        one.map(lambda p: f"!({p})"),
        one.map(lambda p: f"-({p})"),
        two.map(lambda p: f"{{{p[0]}, {p[1]}}}"),
        two.map(lambda p: f"({p[0]})[{p[1]}]"),
        one.map(lambda p: f'regexp("n.de", {p})'),
        calls.map(lambda p: f"{p[0]}({', '.join(p[1])})"),
    )


written = st.recursive(st.sampled_from([*NAMES, *LITERALS]), extended, max_leaves=12)


def tried(text: str, kind: Kind) -> Expression | None:
    """Whatever is refused, is refused with BadInput."""
    try:
        return read(text, kind)
    except BadInput as fault:
        assert fault.message and fault.message.isprintable()
        return None


@given(st.text(), KINDS)
def test_any_text_is_read_or_refused(text: str, kind: Kind) -> None:
    tried(text, kind)


@given(st.lists(st.sampled_from(SOUP), max_size=40).map("".join), KINDS)
def test_any_mixture_of_words_is_read_or_refused(text: str, kind: Kind) -> None:
    tried(text, kind)


@given(written, KINDS)
def test_it_is_evaluated_whatever_the_ads_say(text: str, kind: Kind) -> None:
    """Even if it gives nonsense on the samples, on which most of these would be refused."""
    try:
        found = Expression("Rank", text, kind, flatten(text, Terms("Rank")))
    except (BadInput, classad2.ClassAdException):
        return
    for host in (HOST, {}, {"Host.Name": "\ud800", "Host.Running": 2**80, "Host.Speed": math.nan}):
        ad = HostAd(host)
        given = found.evaluate(ad.scene, ad, BagAd(BAG), TaskAd(TASK))
        assert isinstance(given, (bool, int, float, No))
        assert isinstance(given, No) or math.isfinite(given)


@given(written)
def test_it_means_what_the_library_says_of_ads_inside_ads(text: str) -> None:
    """Our names with dots in them are only another way to write the same."""
    try:
        flat = flatten(text, Terms("Rank"))
    except BadInput:
        return
    scene = Scene()
    scene.show({**HOST, **BAG, **TASK}, flat.needs.keys)
    whole = {scope: classad2.ClassAd(below(scope)) for scope in ("Host", "BOT", "Job")}
    ours, theirs = value(flat.text, scene.record), value(text, classad2.ClassAd(whole))
    assert ours == theirs


def value(text: str, record: classad2.ClassAd) -> str:
    """With its type, and NaN like NaN."""
    try:
        found = classad2.ExprTree(text).eval(record)
    except Exception as fault:  # `x ?: -1` cannot be read; half a character not be given
        return str(fault)
    return f"{type(found)} {str(found).replace(chr(39), '')}"


def below(scope: str) -> dict[str, object]:
    values = {**HOST, **BAG, **TASK}
    return {
        key[len(scope) + 1 :]: one for key, one in values.items() if key.startswith(f"{scope}.")
    }


COSTLY = [
    "[a=" * 20 + "1" + "]" * 20 + ".a" * 20,
    "[a = [b = a; c = b]].a.c",
    "(" * 2000 + "true" + ")" * 2000,
    "!" * 3999 + "true"[:1],
    "- " * 1900 + "1",
    "{" * 1999 + "}" * 1999,
    "true ? " * 400 + "true" + " : true" * 400,
    "+".join(["1"] * 1999),
    " || ".join(["Tail"] * 500),
    "ifThenElse(Tail," * 200 + "1",
    '"' + "x" * 10_000_000 + '" == ""',
    "x" * 10_000_000,
    'strcat("' + "x" * 3000 + '", Host.Name) == ""',
    " || ".join(['regexp("(a+)+$", Host.Name)'] * 100),
    " || ".join(['regexp("a*a*a*b", Host.Name)'] * 100),
    'regexp("[ab]+[ab]+[ab]+$", Host.Name)',
    'regexp("(?:a?){30}a{30}", Host.Name)',
    'regexp("((((((((((a*)*)*)*)*)*)*)*)*)*$", Host.Name)',
    "JobRequirements || Tail",
    "\n" * 3999 + "1",
    "/*" * 2000,
    "'" * 3001,
]


@pytest.mark.parametrize("text", COSTLY, ids=lambda text: text[:20].strip())
def test_what_is_known_to_be_costly_is_refused_or_quick(text: str) -> None:
    assert len(text) > MOST_CHARACTERS or tried(text, Kind.BOOLEAN) is None or is_quick(read(text))
