"""One bit per task: ten million tasks in 1.25 MB, and next to nothing once all are set."""

from __future__ import annotations

FULL = 0xFF
LEAP = 4096
_LEAPT = bytes([FULL]) * LEAP


class Bits:
    __slots__ = ("_bytes", "count", "size")

    def __init__(self, size: int, given: bytes | None = None) -> None:
        self.size = size
        self._bytes = bytearray(given) if given is not None else bytearray((size + 7) // 8)
        self.count = int.from_bytes(self._bytes, "little").bit_count() if given else 0

    def __contains__(self, index: int) -> bool:
        return self._bytes[index >> 3] >> (index & 7) & 1 == 1

    def add(self, index: int) -> None:
        held, place, bit = self._bytes, index >> 3, 1 << (index & 7)
        byte = held[place]
        if not byte & bit:
            held[place] = byte | bit
            self.count += 1

    def remove(self, index: int) -> None:
        if index in self:
            self._bytes[index >> 3] &= ~(1 << (index & 7))
            self.count -= 1

    def next_clear(self, index: int) -> int:
        """The first that is not set, from this one on; beyond the last if all are."""
        held, place = self._bytes, index >> 3
        if place < len(held) and held[place] >> (index & 7) != FULL >> (index & 7):
            while index in self:
                index += 1
            return index
        place += 1
        while held[place : place + LEAP] == _LEAPT:
            place += LEAP
        while place < len(held) and held[place] == FULL:
            place += 1
        index = place << 3
        while index < self.size and index in self:
            index += 1
        return index

    def extend(self, size: int) -> None:
        """With bits that are not set."""
        self._bytes += bytes((size + 7) // 8 - len(self._bytes))
        self.size = size

    def __bytes__(self) -> bytes:
        return bytes(self._bytes)


class AllBits(Bits):
    """All are set: what is left in mind of a bag that is finished."""

    __slots__ = ()

    def __init__(self, size: int) -> None:
        super().__init__(0)
        self.size = self.count = size

    def __contains__(self, index: int) -> bool:
        return 0 <= index < self.size

    def add(self, index: int) -> None:
        """It is."""

    def remove(self, index: int) -> None:
        raise TypeError("open the bits first")

    def extend(self, size: int) -> None:
        raise TypeError("open the bits first")

    def __bytes__(self) -> bytes:
        rest = self.size & 7
        last = bytes([(1 << rest) - 1]) if rest else b""
        return b"\xff" * (self.size // 8) + last

    def opened(self) -> Bits:
        return Bits(self.size, bytes(self))
