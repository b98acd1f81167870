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
from typing import Any, Dict, Iterable, List, Tuple

_FICLONE = 0x40049409
_CHUNK = 8 << 20
Json = Dict[str, Any]


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
            _copy_file(item["path"], target)


def _inside(name: str) -> str:
    plain = os.path.normpath(name)
    if os.path.isabs(plain) or plain == ".." or plain.startswith("../"):
        raise ValueError(f"a name that leads outside the folder: {name}")
    return plain


def _copy_folder(source: str, target: str) -> None:
    for at, _folders, files in os.walk(source):
        there = os.path.normpath(os.path.join(target, os.path.relpath(at, source)))
        os.makedirs(there, exist_ok=True)
        for name in files:
            _copy_file(os.path.join(at, name), os.path.join(there, name))


def _copy_file(source: str, target: str) -> None:
    read = os.open(source, os.O_RDONLY | os.O_CLOEXEC)
    try:
        mode = stat.S_IMODE(os.fstat(read).st_mode) & 0o555
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
    """The declared outputs that are there; Refused when a required one is not, or is no file."""
    found = []
    root = os.path.realpath(folder)
    for output in outputs:
        name = output["name"]
        path = os.path.realpath(os.path.join(root, name))
        if not path.startswith(root + os.sep):
            raise Refused(f"output leads outside the task's folder: {name}")
        try:
            there = os.stat(path)
        except OSError:
            if output.get("required", True):
                raise Refused(f"output not written: {name}") from None
            continue
        if not stat.S_ISREG(there.st_mode):
            raise Refused(f"output is not a file: {name}")
        found.append({"name": name, "path": path, "size": there.st_size})
    return found


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
