"""How often the interpreter looks for circles of objects that nobody refers to any more.

It does after so many new ones, and thousands of calls that wait together are many: with ten
thousand workers that was half of the server's time, and everybody waited meanwhile. Calls leave no
circles behind, a connection that is closed leaves a little one: so it looks seldom. All calls of
one cycle are fewer objects than that, and are gone with it.
"""

from __future__ import annotations

import gc

OBJECTS = 200_000  # more than there were: the young are looked at
TIMES = 10  # that the younger are, before the older


def look_seldom() -> None:
    gc.set_threshold(OBJECTS, TIMES, TIMES)
