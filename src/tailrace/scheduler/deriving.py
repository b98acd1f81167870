"""A mark for bases from which users' packages derive: also compiled, they may be derived from.

The compiler knows it by its name; interpreted, it does nothing, and needs nothing installed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mypy_extensions import mypyc_attr as mypyc_attr
else:

    def mypyc_attr(**_):
        return lambda base: base
