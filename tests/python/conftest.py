"""One Executor for most tests: starting one takes a second, and nothing of a test stays in it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import tailrace


@pytest.fixture(scope="package")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the runs of `executor` are kept."""
    return tmp_path_factory.mktemp("kept")


@pytest.fixture(scope="package")
def executor(kept: Path) -> Iterator[tailrace.Executor]:
    with tailrace.Executor(2, folder=kept) as executor:
        yield executor
