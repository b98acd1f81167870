"""What a server's log holds of what a caller sent."""

from __future__ import annotations

import logging

import pytest

from tailrace.cli.serving import logform


@pytest.mark.parametrize("form", logform.FORMS)
def test_no_caller_fills_it(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    root = logging.getLogger()
    before, level = root.handlers[:], root.level
    try:
        logform.begin(form)
        try:
            raise OSError(36, "File name too long", "x" * 1_000_000)
        except OSError:
            logging.getLogger("uvicorn.error").exception("Exception, %s", "y" * 1_000_000)
    finally:
        root.handlers[:] = before
        root.setLevel(level)
    said = capsys.readouterr().err
    assert "Exception, yyy" in said and said.count("\n") < 50
    assert 1_000 < len(said) < 20_000
