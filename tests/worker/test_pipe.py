"""Lines between the client and its keeper."""

from __future__ import annotations

import os

import pytest

from tailrace.worker import pipe


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch):
    def read(*pieces: bytes) -> list[bytes]:
        ahead = list(pieces)
        monkeypatch.setattr(os, "read", lambda _fd, _size: ahead.pop(0))
        one = pipe.Lines(0)
        return [line for _ in pieces for line in one.read()]

    return read


def test_lines_are_cut_wherever_the_pieces_end(lines) -> None:
    assert lines(b"a", b"b\nc\n", b"\nd", b"e", b"\n", b"f\ng") == [b"ab", b"c", b"", b"de", b"f"]


class Piece(bytes):
    """Counts the bytes that are copied to join it to others."""

    copied = 0

    def __radd__(self, other: bytes) -> bytes:
        Piece.copied += len(other) + len(self)
        return bytes(other) + bytes(self)


def test_a_long_line_is_put_together_once(lines) -> None:
    """Not again with every piece that arrives."""
    pieces = [Piece(b"x" * 1000)] * 200
    assert lines(*pieces, b"\n") == [b"x" * 200_000]
    assert Piece.copied <= 200_000
