"""`tailrace run -- cmd {} ::: a b c`: the part of GNU parallel's syntax that people type most.

* `::: a b` gives a source of values; several are crossed, the last turning fastest. `:::+ x y` is
  zipped with the source before it.
* `{}` the value, `{.}` without its extension, `{/}` its last part, `{//}` its folder, `{/.}` last
  part without extension; `{2}`, `{2.}`, `{2/}`, `{2//}`, `{2/.}` the same of the second source;
  `{#}` the task's number from 1. With several sources `{}` is all of them. Without any placeholder
  the values are appended to the command.
* A command that is one word with blanks or shell characters in it runs in a shell, its values
  quoted; otherwise the words are handed to the program as they are.

Everything else of that syntax is refused, and the message says what there is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from tailrace.bag import template
from tailrace.bag.quoting import Quote, ShellState
from tailrace.bag.sweep import Axis
from tailrace.bag.template import Scope
from tailrace.bag.values import Listed, show
from tailrace.errors import BadInput

SUPPORTED = "supported are ::: and :::+, {} {.} {/} {//} {/.} {#}, and {1} {2.} {3/} … by source"

_FIELD = re.compile(r"\{(\d*)(\.|/\.|//|/|)\}|\{(#)\}")
_FOREIGN = re.compile(r"\{(?:%|[-+]\d*[./]*|\d*\.\.+|\d+[#%]|\d*[:+]+[\d./]*|=.*?=|0#|##)\}")
_NAMED = re.compile(r"\{[^\W\d]\w*\}")
_SOURCE = re.compile(r":::?:?\+?")
_SHELLISH = re.compile(r"[\s|&;<>()$`\"'*?\[~]")
_OPERATOR = re.compile(r"\d*(?:>>?|<<?<?|>&|<>|&>>?)\d*|\|\|?|&&?|;|\d>&\d")

_FORMS: dict[str, Callable[[str], str]] = {
    "": str,
    ".": lambda text: re.sub(r"\.[^/.]*\Z", "", text),
    "/": lambda text: text.rpartition("/")[2],
    "//": lambda text: _folder(text),
    "/.": lambda text: re.sub(r"\.[^/.]*\Z", "", text.rpartition("/")[2]),
}


class Field(NamedTuple):
    sources: tuple[str, ...]  # parameter names; empty: the task's number from 1
    form: str

    def values(self, scope: Scope) -> list[str]:
        if not self.sources:
            return [str(int(scope["index"]) + 1)]
        form = _FORMS[self.form]
        return [form(show(scope[name])) for name in self.sources]


Parts = list[str | Field]


class ParallelCommand:
    """The command part, ready to be filled in."""

    def __init__(self, command: str | Sequence[str], sources: int) -> None:
        self.shell = isinstance(command, str)
        words = [command] if isinstance(command, str) else list(command)
        self._words = [_parse(word, sources) for word in words]
        if not any(isinstance(part, Field) for word in self._words for part in word):
            self._append(Field(_all(sources), ""))
        self._quotes = _quotes(self._words[0]) if self.shell else []

    def build(self, scope: Scope) -> tuple[tuple[str, ...] | None, str | None]:
        if self.shell:
            return None, self._line(scope)
        return tuple(text for word in self._words for text in _fill(word, scope)), None

    def parts(self) -> Iterator[str | template.Field]:
        for part in (part for word in self._words for part in word):
            if isinstance(part, str):
                yield part
            else:
                yield from (template.Field(name) for name in part.sources or ("index",))

    def names(self) -> set[str]:
        return {
            n
            for word in self._words
            for part in word
            if isinstance(part, Field)
            for n in part.sources
        }

    def _append(self, field: Field) -> None:
        if self.shell:
            self._words[0] += [" ", field]
        else:
            self._words.append([field])

    def _line(self, scope: Scope) -> str:
        quotes = iter(self._quotes)
        return "".join(
            part if isinstance(part, str) else " ".join(map(next(quotes), part.values(scope)))
            for part in self._words[0]
        )


def read_words(words: Sequence[str]) -> tuple[str | tuple[str, ...], tuple[Axis, ...]]:
    """The command and the axes of `cmd {} ::: a b :::+ c d`; parameters are named 1, 2, …"""
    for word in words:
        _check_text(word)
    cut = next((i for i, word in enumerate(words) if _SOURCE.fullmatch(word)), len(words))
    _check_placeholders(words[:cut])
    command = _command(words[:cut])
    axes = _axes(words[cut:])
    ParallelCommand(command, sum(map(len, axes)))
    return command, axes


def _check_text(word: str) -> None:
    try:
        word.encode()
    except UnicodeEncodeError:
        remedy = "rename it, or put the command into a shell script"
        raise BadInput(f"{word!a} is not UTF-8", remedy=remedy) from None
    if "\0" in word:
        raise BadInput(f"{word!r} holds a NUL byte", remedy="remove it")


def _check_placeholders(words: Sequence[str]) -> None:
    """What would be handed on as it is, and is hardly meant so."""
    for word in words:
        if word in ("{=", "=}"):
            raise BadInput("{= … =} of GNU parallel is not supported", remedy=SUPPORTED)
        if _NAMED.fullmatch(word):
            raise BadInput(
                f"{word} is a name, and values behind ::: have none",
                remedy="write {1} for the first source, {2} for the second; names need a bag file "
                "(tailrace init). To hand on the braces, put the whole command into quotes",
            )


def _command(words: Sequence[str]) -> str | tuple[str, ...]:
    if not words or not words[0].strip():
        raise BadInput(
            "there is no command before :::", remedy="write tailrace run -- COMMAND {} ::: a b c"
        )
    if words[0].startswith("-"):
        raise BadInput(
            f"{words[0]} is an option of GNU parallel", remedy=f"leave it out: {SUPPORTED}"
        )
    if len(words) == 1 and _SHELLISH.search(words[0]):
        return words[0]
    for word in words:
        if _OPERATOR.fullmatch(word):
            raise BadInput(
                f"{word!r} stands alone, and would be handed to {words[0]} as an argument",
                remedy="put the whole command into one pair of quotes to run it in a shell",
            )
    return tuple(words)


def _axes(words: Sequence[str]) -> tuple[Axis, ...]:
    axes: list[Axis] = []
    for position, (mark, values) in enumerate(_sources(words), 1):
        column = Listed(str(position), tuple(values))
        if not values:
            raise BadInput(f"nothing stands behind {mark}", remedy="give it one value or more")
        if mark == ":::":
            axes.append((column,))
        else:
            axes = [*axes[:-1], _zipped(axes, column)]
    if not axes:
        raise BadInput(
            "there are no values: no ::: was given", remedy="write … ::: a b c behind the command"
        )
    return tuple(axes)


def _sources(words: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    mark, values = "", list[str]()
    for word in [*words, ":::"]:
        if not _SOURCE.fullmatch(word):
            values.append(word)
            continue
        if mark:
            yield mark, values
        if word not in (":::", ":::+"):
            _refuse_source(word)
        mark, values = word, []


def _refuse_source(word: str) -> None:
    if word.startswith("::::"):
        message = f"{word} (values from files) is not supported"
        raise BadInput(message, remedy=f"use --commands FILE; {SUPPORTED}")
    raise BadInput(f"{word} has two colons", remedy=f"values stand behind three: {word[0]}{word}")


def _zipped(axes: list[Axis], column: Listed) -> Axis:
    if not axes:
        raise BadInput(":::+ has no source before it", remedy="begin with ::: and its values")
    if axes[-1][0].count != column.count:
        raise BadInput(
            f":::+ has {column.count} values, but the source before it has {axes[-1][0].count}",
            remedy="zipped sources must have the same length",
        )
    return (*axes[-1], column)


def _parse(word: str, sources: int) -> Parts:
    foreign = _FOREIGN.search(word)
    if foreign:
        raise BadInput(f"{foreign[0]} of GNU parallel is not supported", remedy=SUPPORTED)
    parts: Parts = []
    at = 0
    for found in _FIELD.finditer(word):
        parts += [word[at : found.start()], _field(found, sources)]
        at = found.end()
    return [part for part in [*parts, word[at:]] if part != ""] or [""]


def _field(found: re.Match[str], sources: int) -> Field:
    number, form, count = found.groups()
    if count:
        return Field((), "")
    if not number:
        return Field(_all(sources), form)
    if not 1 <= int(number) <= sources:
        raise BadInput(
            f"{found[0]} names source {number}, but the last one is source {sources}",
            remedy="add a ::: for it, or use a smaller number",
        )
    return Field((str(int(number)),), form)


def _all(sources: int) -> tuple[str, ...]:
    return tuple(str(i) for i in range(1, sources + 1))


def _fill(parts: Parts, scope: Scope) -> list[str]:
    """The words one word becomes: `x{}y` with two sources is `xa` and `1y`, as in GNU parallel."""
    words = [""]
    for part in parts:
        first, *others = [part] if isinstance(part, str) else part.values(scope)
        words[-1] += first
        words += others
    return words


def _quotes(parts: Parts) -> list[Quote]:
    state, quotes = ShellState(), []
    for part in parts:
        if isinstance(part, str):
            state.read(part)
        else:
            quotes.append(state.quote(part.form))
            state.value()
    return quotes


def _folder(text: str) -> str:
    """As dirname: `a/b/` lies in `a`, `a` in `.`, `/` in itself."""
    folder, slash, _ = text.rstrip("/").rpartition("/")
    if not slash:
        return "/" if text.startswith("/") else "."
    return folder.rstrip("/") or "/"
