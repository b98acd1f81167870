"""The words of an expression, with the place of each.

The library alone decides what an expression means; but it does not say where one is wrong, and it
takes what must not be taken: `1; x = 2` and `1] [` are read as `1`, numbers of more than 64 bits
and hexadecimal ones as 0, `time()` and `random()` are alive and not among its `externalRefs`. So
each text goes through here before it gets there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum

import msgspec

from tailrace.errors import BadInput

MOST_CHARACTERS = 4_000
MOST_TOKENS = 1_000
MOST_NESTED = 32
MOST_INTEGER = 2**63 - 1
MOST_REAL = 1e300


class Sort(Enum):
    NUMBER = "number"
    TEXT = "text"
    NAME = "name"
    QUOTED = "quoted name"
    SIGN = "sign"
    KEYWORD = "keyword"


class Token(msgspec.Struct, frozen=True):
    sort: Sort
    text: str
    at: int  # in the expression


KEYWORDS = ("true", "false", "undefined", "error", "is", "isnt")
VALUES = KEYWORDS[:4]  # the others are operators
OPEN, CLOSE = "([{", ")]}"
PREFIX = ("!", "-", "+", "~")

_TOKEN = re.compile(
    r"""
    (?P<blank>\s+ | //[^\n]* | /\*.*?\*/)
  | (?P<number>(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?)
  | (?P<text>"(?:[^"\\]|\\.)*")
  | (?P<quoted>'(?:[^'\\]|\\.)*')
  | (?P<name>[A-Za-z_]\w*)
  | (?P<sign>=\?=|=!=|>>>|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%<>!?:~&|^()\[\]{},.])
    """,
    re.VERBOSE | re.DOTALL | re.ASCII,
)
_SORTS = {"number": Sort.NUMBER, "text": Sort.TEXT, "quoted": Sort.QUOTED, "name": Sort.NAME}


def tokens(text: str) -> list[Token]:
    """Without blanks and comments. BadInput: too long, nested too deeply, or no token."""
    _check_characters(text)
    found = list(_scanned(text))
    if not found:
        raise BadInput("the expression is empty", remedy="leave the key out for none")
    if len(found) > MOST_TOKENS:
        raise BadInput(
            f"the expression has {len(found)} words and signs",
            remedy=f"it may have {MOST_TOKENS}",
        )
    _check_nesting(text, found)
    return found


def place(text: str, at: int) -> str:
    """`column 17`, or `line 2, column 3` of a text with several."""
    column = at - text.rfind("\n", 0, at)
    line = text.count("\n", 0, at) + 1
    return f"column {column}" if "\n" not in text.strip() else f"line {line}, column {column}"


def bad(text: str, at: int, message: str, remedy: str = "") -> BadInput:
    return BadInput(f"{place(text, at)}: {message}", remedy=remedy)


def without_comments(text: str) -> str:
    """The same in one line, to be put inside another one."""
    words = tokens(text)
    return "".join(
        f"{' ' if before and before.at + len(before.text) < word.at else ''}{word.text}"
        for before, word in zip([None, *words], words, strict=False)
    )


def ends_operand(token: Token | None) -> bool:
    """Behind it comes an operator, a subscript or the end: a bracket here opens no record."""
    if token is None:
        return False
    if token.sort in (Sort.SIGN, Sort.KEYWORD):
        return token.text in CLOSE or token.text.lower() in VALUES
    return True


def _check_characters(text: str) -> None:
    if len(text) > MOST_CHARACTERS:
        raise BadInput(
            f"the expression has {len(text)} characters",
            remedy=f"it may have {MOST_CHARACTERS}",
        )
    for at, character in enumerate(text):
        if not character.isprintable() and character not in "\n\r\t":
            message = f"the character {character!r} cannot stand in an expression"
            raise bad(text, at, message, "take it out")


def _scanned(text: str) -> Iterator[Token]:
    at = 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None or (found[0] == "/" and text.startswith("/*", at)):
            raise _no_token(text, at)
        if found.lastgroup != "blank":
            yield _checked(text, _token(found))
        at = found.end()


def _token(found: re.Match[str]) -> Token:
    word, sort = found[0], _SORTS.get(found.lastgroup or "", Sort.SIGN)
    if sort is Sort.NAME and word.lower() in KEYWORDS:
        sort = Sort.KEYWORD
    return Token(sort, word, found.start())


def _no_token(text: str, at: int) -> BadInput:
    character = text[at]
    if character in "\"'":
        return bad(text, at, "a quote is left open", "close it; inside, write \\ before a quote")
    if text.startswith("/*", at):
        return bad(text, at, "a comment is left open", "close it with */")
    if character == "=":
        remedy = "to compare, write == or =?=; records cannot be written here"
        return bad(text, at, "a single = cannot stand here", remedy)
    if character == ";":
        return bad(text, at, "; ends nothing here", "give each policy a key of its own")
    return bad(text, at, f"{character!r} cannot stand here", "texts need double quotes")


def _checked(text: str, token: Token) -> Token:
    if token.sort is Sort.NUMBER:
        _check_number(text, token)
    elif token.sort is Sort.QUOTED and ("\\" in token.text or len(token.text) == 2):
        raise bad(text, token.at, f"{token.text} is no name", "write it without backslashes")
    return token


def _check_number(text: str, token: Token) -> None:
    after = text[token.at + len(token.text) :][:1]
    if after.isalnum() or after in ("_", "."):
        remedy = "write 16, 0.5 or 1e3, without a unit"
        raise bad(text, token.at, f"{token.text}{after}… is no number", remedy)
    whole = token.text.isdigit()
    if whole and len(token.text) > 1 and token.text[0] == "0":
        raise bad(text, token.at, f"{token.text} begins with 0", f"write {int(token.text[:30])}")
    if not float(token.text) <= (MOST_INTEGER if whole else MOST_REAL):
        most = "it must fit into 64 bits" if whole else f"the greatest is {MOST_REAL:g}"
        raise bad(text, token.at, f"{token.text[:30]} is too large", most)


def _check_nesting(text: str, found: list[Token]) -> None:
    opened: list[Token] = []
    prefixes = 0
    for before, token in zip([None, *found], found, strict=False):
        is_prefix = token.text in PREFIX and not ends_operand(before)
        prefixes = prefixes + 1 if is_prefix else 0
        if token.sort is Sort.SIGN and token.text in OPEN:
            opened.append(token)
        elif token.sort is Sort.SIGN and token.text in CLOSE:
            _close(text, opened, token)
        if len(opened) + prefixes > MOST_NESTED:
            raise bad(text, token.at, "nested too deeply", f"it may be {MOST_NESTED} deep")
    if opened:
        raise bad(text, opened[-1].at, f"{opened[-1].text} is left open", "close it")


def _close(text: str, opened: list[Token], token: Token) -> None:
    """The library would take what is behind a bracket too many for the next expression."""
    wanted = OPEN[CLOSE.index(token.text)]
    if not opened or opened.pop().text != wanted:
        raise bad(text, token.at, f"{token.text} closes nothing", f"open it with {wanted}")
