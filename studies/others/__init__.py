"""One small system, master and workers, in simulators that nobody here wrote.

`n` workers of given speeds; each pulls the next task of the bag when it is free. `simpy_model` is a
SimPy program, also of workers that fail; `simgrid_model` has SimGrid's actors, and runs under the
interpreter that has SimGrid. Neither knows anything of tailrace.
"""
