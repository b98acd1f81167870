"""The parts of an expression that all have to hold: what stands between its outermost `&&`."""

from __future__ import annotations

from tailrace.policy.tokens import CLOSE, OPEN, Token, tokens

LOOSER = ("||", "?")  # these bind less than &&: around them nothing can be taken apart


def conjuncts(text: str) -> list[str]:
    """Each without the brackets around it; the whole, if there is only one."""
    words = _unwrapped(tokens(text))
    parts: list[list[Token]] = [[]]
    depth = 0
    for word in words:
        depth += (word.text in OPEN) - (word.text in CLOSE)
        if not depth and word.text in LOOSER:
            return [_said(text, words)]
        if not depth and word.text == "&&":
            parts.append([])
        else:
            parts[-1].append(word)
    if len(parts) == 1:
        return [_said(text, words)]
    return [one for part in parts for one in conjuncts(_said(text, part))]


def _unwrapped(words: list[Token]) -> list[Token]:
    """Without brackets around all of it."""
    while len(words) > 2 and words[0].text == "(" and _closes(words) == len(words) - 1:
        words = words[1:-1]
    return words


def _closes(words: list[Token]) -> int:
    """Where the first bracket is closed."""
    depth = 0
    for at, word in enumerate(words):
        depth += (word.text in OPEN) - (word.text in CLOSE)
        if not depth:
            return at
    return -1


def _said(text: str, words: list[Token]) -> str:
    last = words[-1]
    return " ".join(text[words[0].at : last.at + len(last.text)].split())
