"""Small pieces of HTML. Text goes in as it is and is escaped here, once; pieces are `Html`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


class Html(str):
    """Text that is markup already."""

    __slots__ = ()


def html(text: object) -> Html:
    """Markup as it is, anything else escaped; what a browser may not show is replaced."""
    if isinstance(text, Html):
        return text
    plain = "".join(c if c.isprintable() or c in "\n\t" else "�" for c in str(text))
    return Html(escape(plain, quote=True))


def tag(name: str, *content: object, cls: str = "") -> Html:
    attribute = f' class="{html(cls)}"' if cls else ""
    return Html(f"<{name}{attribute}>{''.join(html(part) for part in content)}</{name}>")


def join(parts: Iterable[object], between: str = "\n") -> Html:
    return Html(between.join(html(part) for part in parts))


def table(head: Sequence[str], rows: Iterable[Sequence[object]], numbers: str = "") -> Html:
    """``numbers`` has a letter per column: ``n`` number, ``t`` long text, ``1`` one line."""
    kinds = [
        {"n": "n", "t": "text", "1": "one"}.get(letter, "") for letter in numbers.ljust(len(head))
    ]
    top = Html("".join(tag("th", text, cls=k) for text, k in zip(head, kinds, strict=True)))
    body = [
        tag("tr", *(tag("td", cell, cls=k) for cell, k in zip(row, kinds, strict=True)))
        for row in rows
    ]
    inner = tag("table", tag("thead", tag("tr", top)), tag("tbody", join(body)))
    return tag("div", inner, cls="wide")
