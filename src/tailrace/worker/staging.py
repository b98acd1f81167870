"""The folder of a staged attempt: inputs copied in before, declared outputs looked at after.

Inputs are copied, never linked: a hard link shares the bytes with the original, and a program that
makes its input writable would change it for everyone. Where the file system can (btrfs, XFS), the
copy is a clone that costs nothing. It happens in the forked child before it becomes the task, so
that a large input does not hold up other tasks, and counts as the attempt's time.
"""

from __future__ import annotations

import fcntl
import os
import stat
from typing import Any, Dict, Iterable, List, Optional, Tuple

_FICLONE = 0x40049409
_CHUNK = 1 << 16  # larger ones cost more: the kernel then looks for large pages
Json = Dict[str, Any]
MOST_NEW = 1000  # files that a task may leave without having declared them


class Refused(Exception):
    """What the task left cannot be published; says why in one line."""


def attempt_folder(scratch: str, attempt: int) -> str:
    return os.path.join(scratch, f"a{attempt}")


def prepare(folder: str, inputs: Iterable[Json]) -> None:
    """Raises OSError or ValueError with a text for people."""
    os.makedirs(os.path.dirname(folder), exist_ok=True)
    os.mkdir(folder)
    for item in inputs:
        target = os.path.join(folder, _inside(item["name"]))
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if os.path.isdir(item["path"]):
            _copy_folder(item["path"], target)
        else:
            _copy_file(item["path"], target, item.get("mode"))


def _inside(name: str) -> str:
    if not _is_inside(name):
        raise ValueError(f"a name that leads outside the folder: {name}")
    return os.path.normpath(name)


def _is_inside(name: str) -> bool:
    plain = os.path.normpath(name)
    return not (os.path.isabs(plain) or plain == ".." or plain.startswith("../"))


def _copy_folder(source: str, target: str, above: Tuple[str, ...] = ()) -> None:
    """What links lead to is copied in their place, also whole folders."""
    real = os.path.realpath(source)
    if real in above:
        raise ValueError(f"an input folder leads back into itself: {source}")
    os.makedirs(target, exist_ok=True)
    for name in sorted(os.listdir(source)):
        here, there = os.path.join(source, name), os.path.join(target, name)
        if os.path.isdir(here):
            _copy_folder(here, there, (*above, real))
        else:
            _copy_file(here, there)


def _copy_file(source: str, target: str, told: Optional[int] = None) -> None:
    """`told`: the mode it had where it came from."""
    # Without O_NONBLOCK, opening a FIFO waits for somebody to write into it.
    read = os.open(source, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        kind = os.fstat(read).st_mode
        if not stat.S_ISREG(kind):
            raise ValueError(f"an input is neither a file nor a folder: {source}")
        mode = stat.S_IMODE(kind) & 0o555 if told is None else told
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        write = os.open(target, flags, 0o600)
        try:
            _copy_bytes(read, write)
            os.fchmod(write, mode | 0o400)
        finally:
            os.close(write)
    finally:
        os.close(read)


def _copy_bytes(read: int, write: int) -> None:
    try:
        fcntl.ioctl(write, _FICLONE, read)
        return
    except OSError:
        pass
    while True:
        data = os.read(read, _CHUNK)
        if not data:
            return
        view = memoryview(data)
        while view:
            view = view[os.write(write, view) :]


def collect(folder: str, outputs: Iterable[Json]) -> List[Json]:
    """The declared outputs that are there; Refused when a required one is not, or is no file. Each
    lies where its name says, below the folder; a link to another file there becomes that file."""
    found = []
    root = os.path.realpath(folder)
    for output in outputs:
        name = output["name"]
        path = os.path.join(folder, os.path.normpath(name))
        real = os.path.realpath(path)
        if not (real.startswith(root + os.sep) and _is_inside(name)):
            raise Refused(f"output leads outside the task's folder: {name}")
        try:
            there = os.stat(path)
        except OSError:
            if output.get("required", True):
                raise Refused(f"output not written: {name}") from None
            continue
        if not stat.S_ISREG(there.st_mode):
            raise Refused(f"output is not a file: {name}")
        if os.path.islink(path):
            _put_in_place(real, path, name)
        found.append({"name": name, "path": path, "size": there.st_size})
    return found


def found_new(folder: str, inputs: Iterable[Json]) -> List[Json]:
    """All files that were not laid there: the outputs of a task that declares none."""
    known = {os.path.normpath(item["name"]) for item in inputs}
    found = []
    for above, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        for name in sorted(names):
            plain = os.path.relpath(os.path.join(above, name), folder)
            if plain not in known:
                found.append({"name": plain})
    if len(found) > MOST_NEW:
        raise Refused(f"it left {len(found):,} files in its folder, of at most {MOST_NEW:,}")
    return found


def _put_in_place(real: str, link: str, name: str) -> None:
    """A moved link would lead nowhere once the folder is gone."""
    beside = f"{link}.tailrace-part"
    try:
        os.link(real, beside)
        os.replace(beside, link)
    except OSError as error:
        raise Refused(f"output is a link, and not replaceable: {name}: {error.strerror}") from None


def bytes_in(folder: str) -> int:
    """On disk, in all files below."""
    total = 0
    ahead = [folder]
    while ahead:
        sizes, folders = _one_folder(ahead.pop())
        total += sizes
        ahead.extend(folders)
    return total


def _one_folder(folder: str) -> Tuple[int, List[str]]:
    sizes = 0
    folders = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
                else:
                    there = entry.stat(follow_symlinks=False)
                    sizes += there.st_blocks * 512
    except OSError:  # it vanished while we looked
        pass
    return sizes, folders
