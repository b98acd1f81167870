"""An expression in the form the library gets: each attribute under one name of one ad.

`Host.ErrorRate < 0.1` becomes `'Host.ErrorRate' < 0.1`: the dot is a part of the name. An ad inside
an ad would be copied whenever one of its attributes is set; why this is quicker, and by how much,
tells docs/discussions/policies.md. As every name is written anew, none is left that the library
knows and we do not (`CurrentTime` is a clock, `root` and `super` are ads).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import msgspec

from tailrace.bag.tables import meant
from tailrace.errors import BadInput
from tailrace.policy import functions
from tailrace.policy.attributes import Attribute, Scope
from tailrace.policy.names import (
    OF_TASKS,
    PARAMS,
    POLICIES_LOWER,
    Params,
    find,
    is_parameter,
    nearest,
)
from tailrace.policy.needs import Needs
from tailrace.policy.patterns import check_pattern
from tailrace.policy.tokens import Sort, Token, bad, ends_operand, tokens

MOST_FLAT = 20_000  # characters, with the other policies it reads

_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPES = {"\\": "\\", '"': '"', "'": "'", "n": "\n", "t": "\t"}


class Flat(msgspec.Struct, frozen=True):
    text: str
    needs: Needs
    literals: tuple[str, ...]  # the texts in it


class Terms(msgspec.Struct, frozen=True):
    """What may be named in an expression."""

    name: str  # of the policy itself
    scopes: tuple[Scope, ...] = tuple(Scope)
    params: Params = {}
    others: Mapping[str, str] = {}  # the other policies of the bag, by name
    within: tuple[str, ...] = ()  # those that are being read, and led here


def flatten(text: str, terms: Terms) -> Flat:
    """BadInput: a name, function or value in it that cannot stand there."""
    reader = _Reader(text, terms)
    flat = " ".join(reader.words())
    if len(flat) > MOST_FLAT:
        message = f"with the policies it reads it has {len(flat)} characters"
        raise BadInput(message, remedy=f"it may have {MOST_FLAT}")
    needs = Needs(tuple(dict.fromkeys(reader.attributes)))
    return Flat(flat, needs, tuple(reader.literals))


class _Reader:
    def __init__(self, text: str, terms: Terms) -> None:
        self.text = text
        self.terms = terms
        self.tokens = tokens(text)
        self.attributes: list[Attribute] = []
        self.literals: list[str] = []

    def words(self) -> Iterator[str]:
        at = 0
        while at < len(self.tokens):
            token = self.tokens[at]
            if token.sort in (Sort.NAME, Sort.QUOTED):
                end = self._path_end(at)
                yield self._name(at, end)
                at = end
            else:
                yield self._other(at)
                at += 1

    def _path_end(self, at: int) -> int:
        """Behind the last part of `Job.Replica1.Host.Name`."""
        at += 1
        while self._is(at, ".") and self._sort(at + 1) in (Sort.NAME, Sort.QUOTED):
            at += 2
        return at

    def _is(self, at: int, *signs: str) -> bool:
        found = self.tokens[at : at + len(signs)]
        return [token.text for token in found if token.sort is Sort.SIGN] == list(signs)

    def _sort(self, at: int) -> Sort | None:
        return self.tokens[at].sort if at < len(self.tokens) else None

    def _bad(self, token: Token, message: str, remedy: str) -> BadInput:
        return bad(self.text, token.at, message, remedy)

    def _other(self, at: int) -> str:
        token = self.tokens[at]
        if token.sort is Sort.TEXT:
            self.literals.append(self._unescaped(token))
        elif token.text == "." and token.sort is Sort.SIGN:
            remedy = "a dot stands between a scope and its attribute, as in Host.Name"
            raise self._bad(token, "a dot cannot stand here", remedy)
        elif token.text == "[" and not ends_operand(self.tokens[at - 1] if at else None):
            raise self._bad(token, "records cannot be written here", "a list has braces: {1, 2}")
        return token.text

    def _unescaped(self, token: Token) -> str:
        for found in _ESCAPE.finditer(token.text):
            if found[1] not in _ESCAPES:
                message = f"{found[0]} in a text means only {found[1]}"
                raise bad(self.text, token.at + found.start(), message, f"write \\{found[0]}")
        return _ESCAPE.sub(lambda found: _ESCAPES[found[1]], token.text[1:-1])

    def _name(self, at: int, end: int) -> str:
        token = self.tokens[at]
        path = tuple(one.text.strip("'") for one in self.tokens[at:end:2])
        if self._is(end, "("):
            return self._function(token, path, end)
        if token.text.lower() in POLICIES_LOWER and len(path) == 1:
            return self._policy(token, POLICIES_LOWER[token.text.lower()])
        if is_parameter(path):
            self._check_of_task(token, ".".join(path))
        found = find(path, self.terms.params)
        if found is not None:
            return self._attribute(token, found)
        if self._is(end, "?", ":") and not is_parameter(path):
            return f"'Unknown.{'.'.join(path)}'"
        message = f"there is no attribute {'.'.join(path)}"
        raise self._bad(token, message, nearest(path, self.terms.params))

    def _attribute(self, token: Token, found: Attribute) -> str:
        if found.scope not in self.terms.scopes:
            may = ", ".join(f"{scope}.…" for scope in self.terms.scopes if scope)
            message = f"{self.terms.name} cannot look at {found.key}"
            host = found.scope is Scope.HOST and Scope.JOB in self.terms.scopes
            instead = "; of hosts, those that have the task: Job.Replica1.Host.…" if host else ""
            raise self._bad(token, message, f"it knows {may}{instead}")
        if found.key.startswith(PARAMS):
            self._check_of_task(token, found.key)
        self.attributes.append(found)
        return f"'{found.key}'"

    def _check_of_task(self, token: Token, written: str) -> None:
        """Also where it stands in another policy that is read here."""
        if self.terms.name not in OF_TASKS and Scope.JOB in self.terms.scopes:
            message = f"{self.terms.name} cannot look at {written}: it is asked about a bag"
            remedy = f"{', '.join(OF_TASKS[:-1])} and {OF_TASKS[-1]} are asked about a task"
            raise self._bad(token, message, remedy)

    def _function(self, token: Token, path: tuple[str, ...], at: int) -> str:
        name = functions.LOWER.get(".".join(path).lower())
        if name is None or token.sort is Sort.QUOTED:
            known = list(functions.FUNCTIONS)
            message = f"the function {'.'.join(path)} cannot be called here"
            raise self._bad(token, message, _other_function(path[-1], known))
        if name == "regexp":
            self._pattern(token, at + 1)
        return name

    def _pattern(self, token: Token, at: int) -> None:
        if self._sort(at) is not Sort.TEXT or not self._is(at + 1, ","):
            remedy = 'write it out: regexp("^node0", Host.Name)'
            raise self._bad(token, "a pattern must be one text in quotes", remedy)
        try:
            check_pattern(self._unescaped(self.tokens[at]))
        except BadInput as fault:
            raise self._bad(self.tokens[at], fault.message, fault.remedy) from None

    def _policy(self, token: Token, name: str) -> str:
        """Another policy of the bag, in its place."""
        if name in (*self.terms.within, self.terms.name):
            way = " reads ".join((*self.terms.within, self.terms.name, name))
            raise self._bad(token, f"{way}: this has no end", f"write {self.terms.name} without it")
        text = self.terms.others.get(name)
        if text is None:
            bags = "; the deadline of the bag is BOT.Deadline" if name == "Deadline" else ""
            raise self._bad(token, f"the bag has no {name}", f"give it one, or leave it out{bags}")
        within = (*self.terms.within, self.terms.name)
        found = flatten(text, msgspec.structs.replace(self.terms, name=name, within=within))
        for one in found.needs.attributes:
            self._attribute(token, one)
        self.literals += found.literals
        return f"({found.text})"


def _other_function(name: str, known: list[str]) -> str:
    clocks = {"time": "Now", "currenttime": "Now", "daytime": "HourOfDay", "random": "Lottery"}
    if name.lower() in clocks:
        return f"write {clocks[name.lower()]}, which the scheduler gives"
    if name.lower() == "eval":
        return "write what it would evaluate, without the quotes"
    return f"{meant(name, known)}there are {', '.join(known)}"
