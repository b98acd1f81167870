"""The guard of the tasks: a process between the client and the keeper that only waits.

Client and keeper end the tasks when one of them dies (see `keeper`). If both are killed in the same
instant, the tasks become children of the guard, because it is a child subreaper, and it kills them.
If the guard dies, the keeper kills the tasks and exits, and the client starts both anew. So any two
of the three may be killed at once.

It costs tasks nothing, and the host about 4 MB: it forks the keeper before the keeper's modules are
imported. It has a session and a name of its own, so that those who kill by group or by name do not
kill it along with the others.
"""

from __future__ import annotations

import os
import signal

from . import tree
from .linux import become_subreaper, take_name

NAME = "task-guard"
_PATIENCE_S = 10.0


def stand_above(fd: int) -> int:
    """Returns only in a child, which is to become the keeper: a pipe that ends with the guard. `fd`
    is the keeper's pipe to the client. The lock of the folder is held by the guard too: when it is
    free, the tasks are gone."""
    become_subreaper()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # a batch system sends them to every process
    guarded, guards = os.pipe()
    keeper = os.fork()
    if keeper == 0:
        os.close(guards)
        os.setsid()
        return guarded
    os.close(fd)
    os.close(guarded)
    take_name(NAME)
    os.waitpid(keeper, 0)
    tree.kill_all_below(_PATIENCE_S)
    os._exit(0)
