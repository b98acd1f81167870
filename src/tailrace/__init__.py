"""Plan and run bags of tasks on every machine you can get, inside your budget.

The time left is shown against your deadline."""

__version__ = "0.1.0"
