"""Outputs of accepted results move to their targets, by rename, once the commit says so.

Where an output lies is reckoned from the attempt's number and the bag's own declaration; what a
worker says of it is never used as a path. Publishing may be done twice (a crash between the move
and the note of it): what has moved already is left.
"""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

from tailrace.bag.task import Output
from tailrace.errors import TailraceError

PART = ".part"


class CannotPublish(TailraceError):
    """An output could not be moved to its target."""


def attempt_folder(scratch: Path, attempt: int) -> Path:
    return scratch / f"a{attempt}"


def publish(scratch: Path, attempt: int, outputs: Iterable[Output], folder: Path) -> None:
    """`outputs` are those of the bag's that the worker said it wrote."""
    source = attempt_folder(scratch, attempt)
    try:
        for output in outputs:
            _move(source, output.name, folder / output.target)
    except OSError as error:
        raise CannotPublish(
            f"{error.filename2 or error.filename or folder}: {error.strerror}",
            remedy=f"The output is safe in {source}; `tailrace resume` moves it when it can.",
        ) from error
    shutil.rmtree(source, ignore_errors=True)


def _move(source: Path, name: str, target: Path) -> None:
    file = source / name
    if not file.exists():
        if target.exists():
            return
        raise CannotPublish(
            f"{target}: this output was deleted before it could be moved there, from {file}.",
            remedy="`tailrace reproduce TASK` makes it again: put it there, and all is well.",
        )
    if not file.resolve().is_relative_to(source.resolve()) or not file.is_file():
        # The worker has looked at this too, and fails the task: somebody else was here since.
        raise CannotPublish(
            f"{file}: was changed since its task ended: it leads outside, or is no file.",
            remedy=f"Put the output at its target, {target}, and delete this one.",
        )
    target.parent.mkdir(parents=True, exist_ok=True)
    sync(file)
    _rename(file, target)
    sync(target.parent)


def sync(path: Path) -> None:
    """A result that is committed must not lose its file to a power cut."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _rename(source: Path, target: Path) -> None:
    """Across file systems: a copy beside the target first, so that it appears whole."""
    try:
        source.replace(target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        place(target, lambda part: shutil.copy(source, part))
        source.unlink()


def place(target: Path, write: Callable[[Path], object]) -> None:
    """What is written appears whole under its name, and is on disk then."""
    target.parent.mkdir(parents=True, exist_ok=True)
    part = beside(target)
    try:
        write(part)
        sync(part)
        part.replace(target)
        sync(target.parent)
    finally:
        part.unlink(missing_ok=True)  # a disk that was full is not left fuller


def beside(target: Path) -> Path:
    """Where it is until it is whole: under a short name, for its own may be as long as any."""
    name = hashlib.blake2b(os.fsencode(target.name), digest_size=8).hexdigest()
    return target.with_name(f".{name}{PART}")


def clear_scratch(scratch: Path, of_no_use: Callable[[int], bool]) -> None:
    """Folders of attempts that were cut off, once nobody can wait for their outputs any more."""
    for folder in scratch.glob("a*"):
        if folder.name[1:].isdigit() and of_no_use(int(folder.name[1:])):
            shutil.rmtree(folder, ignore_errors=True)
