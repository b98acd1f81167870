"""Plan and run bags of tasks on every machine you can get, inside your budget.

The time left is shown against your deadline."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tailrace.python.executor import Executor as Executor
    from tailrace.python.failures import OverLimit as OverLimit
    from tailrace.python.failures import RemoteTraceback as RemoteTraceback
    from tailrace.python.failures import Stopped as Stopped
    from tailrace.python.failures import TaskFailed as TaskFailed
    from tailrace.python.frames import records as records
    from tailrace.python.frames import results as results
    from tailrace.python.parallel import register_joblib as register_joblib
    from tailrace.python.shared import map as map

__version__ = "0.1.0"

# Loaded when they are asked for: `import tailrace` costs nothing, and the command needs none.
_HOMES = {
    "Executor": ("executor", "Executor"),
    "OverLimit": ("failures", "OverLimit"),
    "RemoteTraceback": ("failures", "RemoteTraceback"),
    "Stopped": ("failures", "Stopped"),
    "TaskFailed": ("failures", "TaskFailed"),
    "map": ("shared", "map"),
    "records": ("frames", "records"),
    "register_joblib": ("parallel", "register_joblib"),
    "results": ("frames", "results"),
}
__all__ = [*sorted(_HOMES), "__version__"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'tailrace' has no attribute {name!r}")
    module, attribute = _HOMES[name]
    found = getattr(import_module(f"tailrace.python.{module}"), attribute)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
