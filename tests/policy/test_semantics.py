"""What the library itself does with expressions: we rely on it, and would see it change."""

from __future__ import annotations

import classad2
import pytest

UNDEFINED, ERROR = classad2.Value.Undefined, classad2.Value.Error


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("undefined && false", False),
        ("undefined || true", True),
        ("undefined && true", UNDEFINED),
        ("1 / 0", ERROR),
        ("error || true", ERROR),
        ('"a" == "A"', True),
        ('"a" =?= "A"', False),
        ("3 == 3.0", True),
        ("3 =?= 3.0", False),
        ("undefined == 3", UNDEFINED),
        ("undefined =?= 3", False),
        ('3 == "3"', ERROR),
        ("undefined ?: 4", 4),
        ("undefined ? 1 : 2", UNDEFINED),
        ("true + 1", 2),
        ("1 && 2", True),
        ('member("b", {"a", "b"})', True),
        ('member("B", {"b"})', True),
        ('identicalMember("B", {"b"})', False),
        ('stringListMember("b", "a,b")', ERROR),
        ("max({1, 2.5})", 2.5),
        ("max(1, 2)", ERROR),
        ("min({1, undefined})", 1),
        ("round(2.5)", 2),
        ('regexp("OST", "myhost")', False),
        ('regexp("OST", "myhost", "i")', True),
        ("nosuch(1)", ERROR),
    ],
)
def test_expressions_give(text: str, value: object) -> None:
    found = classad2.ExprTree(text).eval()
    assert found == value and type(found) is type(value)


def test_names_are_found_whatever_their_case() -> None:
    assert (
        classad2.ExprTree("'host.errorrate'").eval(classad2.ClassAd({"Host.ErrorRate": 0.5})) == 0.5
    )


def test_what_is_not_read_is_an_error() -> None:
    with pytest.raises(classad2.ClassAdException):
        classad2.ExprTree("1 +")


@pytest.mark.parametrize(
    ("text", "taken_for"),
    [
        ("1; b = 2", 1),
        ("1] [", 1),
        ("99999999999999999999", 0),
        ("0x10", 0),
        ('"\\d" == "d"', True),
    ],
)
def test_it_takes_what_we_must_not_let_pass(text: str, taken_for: object) -> None:
    assert classad2.ExprTree(text).eval() == taken_for


def test_clocks_are_not_among_the_names_that_it_tells() -> None:
    tree = classad2.ExprTree("Host.X < time() + random(5)")
    assert classad2.ClassAd().externalRefs(tree) == ["Host.X"]
    assert isinstance(classad2.ExprTree("CurrentTime").eval(classad2.ClassAd()), int)


def test_its_partial_evaluation_is_not_its_evaluation() -> None:
    """So we do not use it, quick as it would be: lists stay behind, and && makes no booleans."""
    bag, host = classad2.ClassAd({"l": ["a"], "n": 1}), classad2.ClassAd({"h": 4})
    assert bag.flatten(classad2.ExprTree("n && h")).eval(host) == 4
    assert bag.flatten(classad2.ExprTree("size(l)")).eval(host) in (UNDEFINED, ERROR)
