"""What the processor calls itself."""

from __future__ import annotations

from typing import Dict, Iterable

MOST = 256  # characters: a longer text is UNDEFINED to a policy
CPUINFO = "/proc/cpuinfo"
# As architectures have it, the best first: x86 and LoongArch, MIPS, POWER, RISC-V, older ARM, s390.
_NAMES = ("model name", "cpu model", "cpu", "uarch", "hardware", "processor", "vendor_id")


def model() -> str:
    try:
        with open(CPUINFO, encoding="utf-8", errors="replace") as file:
            found = named(file)
    except OSError:
        found = ""
    return found or _otherwise()


def named(lines: Iterable[str]) -> str:
    """Of the first core that is described; empty where nothing has a name."""
    facts: Dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(":")
        facts.setdefault(name.strip().lower(), shown(value))
        if facts.get(_NAMES[0]):
            break  # a machine of many cores has a long file
    for name in _NAMES:
        value = facts.get(name, "")
        if value and not value.isdigit():  # mostly `processor` is a number
            return value
    maker, part = facts.get("cpu implementer", ""), facts.get("cpu part", "")
    return shown(f"implementer {maker} part {part}") if maker and part else ""  # 64-bit ARM


def shown(text: str) -> str:
    """In one line."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())[:MOST]


def _otherwise() -> str:
    import platform  # asks another program

    return shown(platform.processor() or platform.machine())
