"""Outputs of accepted results move to their targets, by rename, once the commit says so.

It may be done twice (a crash between the move and the note of it): what has moved already is left.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import msgspec

from tailrace.bag.task import Output
from tailrace.errors import TailraceError
from tailrace.server.protocol import OutputFile, WorkResult


class CannotPublish(TailraceError):
    """An output could not be moved to its target."""


def publish(result: WorkResult, outputs: tuple[Output, ...], folder: Path) -> None:
    targets = {output.name: folder / output.target for output in outputs}
    for written in result.outputs:
        target = targets.get(written.name)
        if target is not None:
            _move(written, target)
    for written in result.outputs:
        _remove_folder(written)


def _move(written: OutputFile, target: Path) -> None:
    source = Path(written.path)
    if not source.exists():
        return
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _rename(source, target)
    except OSError as error:
        raise CannotPublish(
            f"{target}: {error.strerror}",
            remedy=f"The output is safe in {source}; `tailrace resume` moves it when it can.",
        ) from error


def _rename(source: Path, target: Path) -> None:
    """Across file systems: a copy beside the target first, so that it appears whole."""
    try:
        source.replace(target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        beside = target.with_name(f".{target.name}.{os.getpid()}.part")
        shutil.copyfile(source, beside)
        beside.replace(target)
        source.unlink()


def _remove_folder(written: OutputFile) -> None:
    """The attempt's own folder: as deep below as the output's name says."""
    depth = len(Path(written.name).parts)
    folder = Path(written.path).parents[depth - 1]
    if folder.name.startswith("a"):
        shutil.rmtree(folder, ignore_errors=True)


def clear_scratch(scratch: Path, of_no_use: Callable[[int], bool]) -> None:
    """Folders of attempts that were cut off, once nobody can wait for their outputs any more."""
    for folder in scratch.glob("a*"):
        if folder.name[1:].isdigit() and of_no_use(int(folder.name[1:])):
            shutil.rmtree(folder, ignore_errors=True)


decode_result = msgspec.json.Decoder(WorkResult).decode
