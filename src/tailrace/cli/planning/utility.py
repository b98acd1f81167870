"""A user's own utility: a function of Python, or a ClassAd expression over the metrics.

Both give a number, the less the better. The metrics are those of an estimate, by their means, and
`cost`, that of the whole bag.
"""

from __future__ import annotations

import importlib
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tailrace.bag.tables import meant
from tailrace.cli.planning import added
from tailrace.errors import BadInput

if TYPE_CHECKING:
    from tailrace.planning.decision import Utility
    from tailrace.planning.frontier import Point


def metrics(point: Point, tasks: int) -> dict[str, float]:
    one = point.estimate
    found = {name: getattr(one, name).mean for name in one.__struct_fields__}
    return found | {"cost": found["cost_per_task"] * tasks}


def by_function(module: str, name: str, tasks: int) -> Utility:
    """Of a file in this folder, or an installed package. It is given the metrics by name."""
    sys.path.insert(0, str(Path.cwd()))
    try:
        function = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as fault:
        remedy = f"It takes {name}(metrics) in {module}.py of this folder, or in a package."
        raise BadInput(f"--utility {module}:{name}: {fault}", remedy=remedy) from None
    finally:
        del sys.path[0]

    return _guarded(function, f"--utility {module}:{name}", tasks)


def by_package(name: str, tasks: int) -> Utility:
    """`--prefer` of an installed package."""
    from tailrace.planning.decision import UTILITIES

    return _guarded(added.load(added.PREFERENCE, name, UTILITIES), f"--prefer {name}", tasks)


def _guarded(function: Any, said: str, tasks: int) -> Utility:
    """The code is not ours: what goes wrong in it is told with its name."""

    def utility(point: Point) -> float:
        try:
            return _number(function(metrics(point, tasks)), said)
        except BadInput:
            raise
        except Exception as fault:
            told = f"{type(fault).__name__}: {fault}"
            raise BadInput(f"{said}, for {point.strategy}: {told}") from None

    return utility


def by_expression(text: str, tasks: int) -> Utility:
    from tailrace.policy.library import classads

    library = classads()
    try:
        tree = library.ExprTree(text)
    except library.ClassAdException:
        remedy = "For example: tail_makespan * cost_per_task, or makespan + 100 * cost."
        raise BadInput(f"--utility {text!r} is no ClassAd expression", remedy=remedy) from None

    def utility(point: Point) -> float:
        ad = library.ClassAd(metrics(point, tasks))
        missing = [name for name in ad.externalRefs(tree) if name]
        if missing:
            known = sorted(metrics(point, tasks))
            remedy = f"{meant(missing[0], known)}the metrics are {', '.join(known)}"
            raise BadInput(f"--utility {text!r}: {missing[0]} is no metric", remedy=remedy)
        value = tree.eval(ad)
        if isinstance(value, library.Value):  # undefined or an error: an integer, too
            raise BadInput(
                f"--utility {text!r} is {value.name.lower()} for {point.strategy}",
                remedy="It needs a number for each: name metrics alone, and divide by none that is "
                "0.",
            )
        return _number(value, f"--utility {text}")

    return utility


def _number(value: Any, said: str) -> float:
    if isinstance(value, (int, float)) and math.isfinite(value):
        return float(value)
    raise BadInput(f"{said} gives {value!r}, not a number", remedy="Less is better.")
