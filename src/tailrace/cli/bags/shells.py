"""What this shell's environment has otherwise than that of a run. Only names: values may be
secrets."""

from __future__ import annotations

from collections.abc import Mapping

from tailrace.cli import screen
from tailrace.server.files.environments import OURS

MOST_NAMES = 12
# Other in every shell, terminal or session, and nothing to most tasks.
FLEETING = frozenset(
    [
        "_",
        "OLDPWD",
        "PWD",
        "SHLVL",
        "COLUMNS",
        "LINES",
        "TERM",
        "TERM_SESSION_ID",
        "TTY",
        "WINDOWID",
        "STY",
        "TMUX",
        "TMUX_PANE",
        "XDG_SESSION_ID",
        "DBUS_SESSION_BUS_ADDRESS",
        "INVOCATION_ID",
        "JOURNAL_STREAM",
    ]
)
SESSIONS = (OURS, "SSH_", "VTE_", "KONSOLE_", "ITERM_")


def differing(one: Mapping[str, str], other: Mapping[str, str]) -> list[str]:
    """Without those that no task has and those that differ from shell to shell."""
    names = sorted(one.keys() | other.keys())
    told = (name for name in names if name not in FLEETING and not name.startswith(SESSIONS))
    return [name for name in told if one.get(name) != other.get(name)]


def listed(names: list[str]) -> str:
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return screen.plain(", ".join(names[:MOST_NAMES]) + more)
