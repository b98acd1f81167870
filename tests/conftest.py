"""For all tests."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings
from tests.database import Database, why_not

# Machines are shared and noisy: how long an example takes is no property of what is tested.
settings.register_profile("shared", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("shared")

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
