"""Reading a text file the user names, or saying why it cannot be read."""

from __future__ import annotations

from pathlib import Path

from tailrace.errors import BadInput

_UTF16 = (b"\xff\xfe", b"\xfe\xff")


def read_text(path: Path, shown: str, most: int | None = None) -> str:
    """UTF-8, with or without a byte order mark. `shown` is the name a message uses; of a file that
    is longer than `most` bytes no more than that is read, and it is refused."""
    return decode(read_bytes(path, shown, most), shown)


def read_bytes(path: Path, shown: str, most: int | None = None) -> bytes:
    try:
        if most is None:
            return path.read_bytes()
        with open(path, "rb") as file:
            return _at_most(file.read(most + 1), most, shown)
    except FileNotFoundError:
        raise BadInput(f"{shown}: there is no such file", remedy=_neighbours(path)) from None
    except IsADirectoryError:
        raise BadInput(f"{shown} is a folder, not a file", remedy="name a file in it") from None
    except PermissionError:
        raise BadInput(f"{shown} may not be read", remedy=f"chmod u+r {shown}") from None
    except OSError as fault:
        raise BadInput(f"{shown} cannot be read: {fault.strerror}") from None


def _at_most(data: bytes, most: int, shown: str) -> bytes:
    if len(data) > most:
        remedy = "Name a smaller one: a part of it will do."
        raise BadInput(
            f"{shown} has more than {most >> 20} MiB, the most that is read", remedy=remedy
        )
    return data


def decode(data: bytes, shown: str, first_line: int = 1) -> str:
    try:
        text = data.decode("utf-8-sig" if first_line == 1 else "utf-8")
    except UnicodeDecodeError as fault:
        raise _not_utf8(data, fault.start, shown, first_line) from None
    nul = text.find("\0")
    if nul >= 0:
        line = text.count("\n", 0, nul) + first_line
        raise BadInput(
            "a NUL byte stands here", file=shown, line=line, remedy="remove it: this is a text file"
        )
    return text


def _not_utf8(data: bytes, at: int, shown: str, first_line: int) -> BadInput:
    line = data.count(b"\n", 0, at) + first_line
    wide = data.startswith(_UTF16)
    kind, name = ("it looks like UTF-16; ", "UTF-16") if wide else ("", "LATIN1")
    return BadInput(
        f"byte 0x{data[at]:02x} (at offset {at}) is not UTF-8",
        file=shown,
        line=line,
        remedy=f"{kind}save the file as UTF-8, for instance with iconv -f {name} -t UTF-8",
    )


def _neighbours(path: Path) -> str:
    from difflib import get_close_matches

    try:
        names = [entry.name for entry in path.parent.iterdir()]
    except OSError:
        return f"the folder {path.parent} does not exist either"
    close = get_close_matches(path.name, names, n=3)
    return f"near it are: {', '.join(close)}" if close else f"looked in {path.parent.resolve()}"
