"""What of the server's own environment goes to the workers it starts, and so to tasks.

A server for many users holds what is not theirs: the address of its database with a password, an
agent's socket, keys of a cloud. Workers of this machine get what is named here and no more. The
commands of a pool are its owner's and may need his keys; from them is kept what is the server's.
"""

from __future__ import annotations

from collections.abc import Mapping

NAMES = (
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR", "TERM",
    "LD_LIBRARY_PATH", "VIRTUAL_ENV", "CONDA_PREFIX", "MODULEPATH", "CUDA_VISIBLE_DEVICES",
)  # fmt: skip
KINDS = ("LC_", "OMP_")
OURS = "TAILRACE_"
PASSWORD = "PGPASSWORD"  # of its database


def harmless(environment: Mapping[str, str]) -> dict[str, str]:
    """For tasks of anybody."""
    return {
        name: value
        for name, value in environment.items()
        if name in NAMES or name.startswith(KINDS)
    }


def without_ours(environment: Mapping[str, str]) -> dict[str, str]:
    """For commands of the server's owner: what they start may have it all."""
    return {
        name: value
        for name, value in environment.items()
        if not name.startswith(OURS) and name != PASSWORD
    }
