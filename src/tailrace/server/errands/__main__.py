"""python -P -m tailrace.server.errands DEED FOLDER < asked > answered

`asked` has a line of JSON and then the body of the call; `answered` has frames, the first of which
says how it went.
"""

from __future__ import annotations

import os
import resource
import sys
from pathlib import Path

from tailrace.errors import StoreError
from tailrace.server.errands import frames
from tailrace.server.errands.deeds import DEEDS, Deed, Errand
from tailrace.server.errands.told import MOST_BYTES, MOST_CPU_S, TOO_LARGE, Told
from tailrace.server.protocol import encode
from tailrace.server.submission import UNUSABLE
from tailrace.server.tables.link import TROUBLES

NICENESS = 5  # the server and its work calls come first, and yet it gets on


def _limit(kind: int, most: int) -> None:
    _, hard = resource.getrlimit(kind)
    most = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(kind, (most, hard))


def _done(deed: Deed, folder: Path) -> tuple[Told, list[bytes]]:
    said, body = sys.stdin.buffer.readline(), sys.stdin.buffer.read()
    try:
        return Told(), DEEDS[deed](Errand(folder, said, body))
    except (*TROUBLES, StoreError) as error:
        return Told(undone=f"the store cannot be read: {error}"), []
    except MemoryError:
        return Told(TOO_LARGE), []
    except UNUSABLE as error:
        return Told(str(error)), []


def main() -> None:
    os.nice(NICENESS)
    _limit(resource.RLIMIT_CPU, MOST_CPU_S)
    _limit(resource.RLIMIT_AS, MOST_BYTES)
    told, found = _done(Deed(sys.argv[1]), Path(sys.argv[2]))
    frames.write(sys.stdout.buffer, [encode(told), *found])


if __name__ == "__main__":
    main()
