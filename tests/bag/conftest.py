"""Doors to bags for the tests: a bag file from its text, and the fault it raises."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tailrace.bag import Bag, load_bag_file
from tailrace.errors import BadInput

Load = Callable[..., Bag]
Refuse = Callable[..., BadInput]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """Writes a bag file (and other files beside it), and loads it."""

    def loaded(text: str, files: dict[str, str | bytes] | None = None, **settings: Any) -> Bag:
        for name, content in {"bag.toml": text, **(files or {})}.items():
            data = content if isinstance(content, bytes) else content.encode()
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_bytes(data)
        return load_bag_file(tmp_path / "bag.toml", settings)

    return loaded


@pytest.fixture
def refuse(load: Load) -> Refuse:
    """The fault of a bag file; it must have a remedy."""

    def refused(
        text: str, files: dict[str, str | bytes] | None = None, **settings: Any
    ) -> BadInput:
        with pytest.raises(BadInput) as caught:
            load(text, files, **settings)
        assert caught.value.exit_code == 2
        return caught.value

    return refused
