"""HTCondor's ClassAd library, loaded when a bag first has a policy.

Two values would harm it, and never get there (see `ads` and `tokens`): a text with half of a
surrogate pair ends the process, and a text with a NUL is cut without a word.
"""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from tailrace.errors import BadInput

if TYPE_CHECKING:
    from types import ModuleType

Tree = Any  # classad2.ExprTree
Record = Any  # classad2.ClassAd


def is_installed() -> bool:
    return find_spec("classad2") is not None


@cache
def classads() -> ModuleType:
    """The module, or BadInput with what to install."""
    try:
        import classad2
    except ImportError:
        raise BadInput(
            "policies are written as ClassAds, and the library that reads them is not installed",
            remedy="pip install 'tailrace[policies]' (HTCondor's library, which is for Linux)",
        ) from None
    module: ModuleType = classad2
    return module
