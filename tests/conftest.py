"""For all tests."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest
from tests.database import Database, why_not

# Started in the background of a shell, everything below would inherit that Ctrl-C is ignored, and
# the tests that press it would wait in vain.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def database() -> Iterator[Database]:
    """A PostgreSQL, one for all tests."""
    if why_not():
        pytest.skip(why_not())
    made = Database()
    yield made
    made.close()
