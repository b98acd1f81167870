"""One bit per task: ten million tasks in 1.25 MB."""

from __future__ import annotations


class Bits:
    __slots__ = ("_bytes", "count", "size")

    def __init__(self, size: int, given: bytes | None = None) -> None:
        self.size = size
        self._bytes = bytearray(given) if given is not None else bytearray((size + 7) // 8)
        self.count = int.from_bytes(self._bytes, "little").bit_count() if given else 0

    def __contains__(self, index: int) -> bool:
        return bool(self._bytes[index >> 3] & (1 << (index & 7)))

    def add(self, index: int) -> None:
        if index not in self:
            self._bytes[index >> 3] |= 1 << (index & 7)
            self.count += 1

    def remove(self, index: int) -> None:
        if index in self:
            self._bytes[index >> 3] &= ~(1 << (index & 7))
            self.count -= 1

    def __bytes__(self) -> bytes:
        return bytes(self._bytes)
