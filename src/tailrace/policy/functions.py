"""The functions a policy may call: what they give depends on what they are given, and on nothing
else. The library has more. Left out are those that look at a clock, at chance or at the machine
(`time`, `random`, `userHome`), those that evaluate texts (`eval`), and those that take patterns
anywhere but in first place."""

from __future__ import annotations

FUNCTIONS = {
    "allCompare": '`allCompare("<", list, x)`: whether it holds for all',
    "anyCompare": '`anyCompare("<", list, x)`: whether it holds for one',
    "avg": "mean of a list",
    "bool": "a boolean made of the value",
    "ceiling": "the next whole number above",
    "floor": "the next whole number below",
    "identicalMember": "`member`, with upper and lower case told apart",
    "ifThenElse": "`ifThenElse(condition, a, b)`",
    "int": "a whole number made of the value",
    "isBoolean": "whether it is a boolean",
    "isError": "whether it is ERROR",
    "isInteger": "whether it is a whole number",
    "isList": "whether it is a list",
    "isReal": "whether it is a real number",
    "isString": "whether it is a text",
    "isUndefined": "whether it is UNDEFINED",
    "max": "the greatest of a list: `max({a, b})`",
    "member": "`member(x, list)`: whether it is in there",
    "min": "the least of a list: `min({a, b})`",
    "pow": "`pow(base, exponent)`",
    "quantize": "`quantize(x, step)`: rounded up to a multiple of the step",
    "real": "a real number made of the value",
    "regexp": '`regexp("pattern", text)`, or with `"i"`: whether it is found in the text',
    "round": "the nearest whole number; halves go to the even one",
    "size": "length of a list or a text",
    "strcat": "all one behind the other",
    "strcmp": "-1, 0 or 1: which of two texts comes first",
    "stricmp": "`strcmp`, with upper and lower case alike",
    "string": "a text made of the value",
    "substr": "`substr(text, from, length)`; the first character is 0",
    "sum": "sum of a list",
    "toLower": "in lower case",
    "toUpper": "in upper case",
}
LOWER = {name.lower(): name for name in FUNCTIONS}
