"""Reading an expression: what is wrong with it is said with the place and what to write instead."""

from __future__ import annotations

from tailrace.errors import BadInput
from tailrace.policy import samples
from tailrace.policy.ads import Scene, Values
from tailrace.policy.attributes import Plain
from tailrace.policy.expression import Expression, Fault, Kind, No
from tailrace.policy.flat import Terms, flatten
from tailrace.policy.library import classads
from tailrace.policy.tokens import PREFIX, Sort, Token, bad, ends_operand, tokens

REMEDIES = {
    Kind.BOOLEAN: "compare it with something: … > 0",
    Kind.NUMBER: "write what the number is",
    Kind.COUNT: "write how many; a condition gives a number with … ? 1 : 0",
    Kind.SECONDS: "write how many seconds",
}


def read_expression(text: str, kind: Kind, terms: Terms) -> Expression:
    """BadInput: it cannot be read, or does not give what it should on samples."""
    try:
        found = _parsed(text, kind, terms)
        check_samples(found)
    except BadInput as fault:
        comma = "," if fault.message.startswith(("column ", "line ")) else ":"
        raise BadInput(f"{terms.name}{comma} {fault.message}", remedy=fault.remedy) from None
    return found


def _parsed(text: str, kind: Kind, terms: Terms) -> Expression:
    flat = flatten(text, terms)
    try:
        return Expression(terms.name, text, kind, flat)
    except classads().ClassAdException:
        raise _unreadable(text) from None


def check_samples(one: Expression) -> None:
    """On a few of those it knows all about, it gives what it should; where something is not known,
    it may say UNDEFINED or ERROR, but nothing of another kind."""
    scene, keys = Scene(), one.needs.keys
    outside = 0
    tried = list(samples.known(one.needs))
    for values in tried:
        scene.show(values, keys)
        found = one.found(scene)
        if isinstance(found, No):
            if found.fault is not Fault.RANGE:
                raise _refused(one, found, values)
            outside += 1
    if outside == len(tried):  # not only here and there, where it means "no"
        raise _refused(one, one.found(scene), tried[-1])
    for values in samples.lacking(one.needs):
        scene.show(values, keys)
        found = one.found(scene)
        if isinstance(found, No) and found.fault is Fault.KIND:
            raise _refused(one, found, values)


def _refused(one: Expression, no: object, values: Values) -> BadInput:
    assert isinstance(no, No)
    where = " and ".join(f"{key} = {_shown(value)}" for key, value in list(values.items())[:3])
    what = no.reason.removeprefix(f"{one.name} ")
    remedy = REMEDIES[one.kind]
    if no.fault is Fault.ERROR:
        remedy = "a text was taken for a number, or divided by 0? Guard it: x > 0 ? 1 / x : 0"
    elif no.fault is Fault.UNDEFINED:
        remedy = "give it a value for this case: (… ?: 0)"
    return BadInput(f"it {what}{f', where {where}' if where else ''}", remedy=remedy)


def _shown(value: Plain) -> str:
    if value is None:
        return "UNDEFINED"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return "{" + ", ".join(f'"{item}"' for item in value) + "}"
    return f'"{value}"' if isinstance(value, str) else str(value)


def _unreadable(text: str) -> BadInput:
    """The library says only that it cannot; mostly two values or two operators meet."""
    before: Token | None = None
    words = tokens(text)
    for first, second, token in zip(words, words[1:], words[2:], strict=False):
        if (first.text, second.text) == ("?", ":") and token.text in PREFIX:
            message = f"behind ?: a {token.text} needs parentheses"
            return bad(text, token.at, message, f"write ?: ({token.text}…)")
    for token in words:
        fault = _meets(before, token)
        if fault:
            return bad(text, token.at, fault, "put one there, or take this out")
        before = token
    if before is not None and not ends_operand(before):
        return bad(text, before.at, f"nothing follows {before.text}", "end it with a value")
    return BadInput("this is no ClassAd expression", remedy=f"it reads: {text.strip()[:100]}")


def _meets(before: Token | None, token: Token) -> str:
    if _begins_operand(token):
        missing = ends_operand(before) and not (token.text == "(" and _is_name(before))
        return f"an operator is missing before {token.text}" if missing else ""
    stands_alone = token.text in PREFIX or token.text in (".", "[", ",", ":")
    empty = before is not None and before.text in ("(", "{") and token.text in (")", "}")
    if ends_operand(before) or stands_alone or empty:
        return ""
    return f"a value is missing before {token.text}"


def _is_name(token: Token | None) -> bool:
    return token is not None and token.sort is Sort.NAME


def _begins_operand(token: Token) -> bool:
    if token.sort is Sort.KEYWORD:
        return ends_operand(token)
    return token.sort is not Sort.SIGN or token.text in ("(", "{", "!", "~")
