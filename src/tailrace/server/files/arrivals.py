"""Outputs that travelled: whether they are all here, and how they come to their targets.

They were put here, blob by blob, before the result that names them. Once that is committed they are
written out beside their targets, renamed, and held by the bag. Doing so twice does no harm.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from tailrace.bag.task import CannotBeMade, Output
from tailrace.errors import BadInput
from tailrace.server.content import Contents
from tailrace.server.files.blobs import Blobs, of_attempt, of_bag
from tailrace.server.files.publishing import CannotPublish, place
from tailrace.server.protocol import OutputFile, WorkResult
from tailrace.worker.blobs import Broken, File, is_file

Arrived = list[tuple[Output, OutputFile]]


def lacking(contents: Contents, blobs: Blobs, bag: int, index: int, result: WorkResult) -> str:
    """What a success promises and did not bring; '' when all is here."""
    travels = contents.bag(bag).spec.catalogue is not None
    if not (travels or result.outputs):
        return ""
    try:
        task = contents.bag(bag, index).task(index)
    except CannotBeMade as fault:
        return f"refused: {fault.message}"
    if not travels:
        return ""
    named = {file.name for file in result.outputs}
    for output in task.outputs:
        if output.required and output.name not in named:
            return f"refused: the worker reports no output {output.name}"
    if task.last and named and (astray := _astray(contents, bag, index, named)):
        return f"refused: {astray}"
    for file in result.outputs:
        here = of_attempt(result.attempt)
        if not is_file(*_file(file)) or blobs.lack(here, _file(file)):
            return f"refused: the worker names an output {file.name} that it did not bring"
    return ""


def _astray(contents: Contents, bag: int, index: int, named: set[str]) -> str:
    """What the last task left lies where it says, but not where something else lies."""
    try:
        contents.bag(bag, index).outputs(index, named)
    except BadInput as error:
        return error.message
    there = named.intersection(item.name for item in contents.task(bag, index).inputs)
    return f"{min(there)} is not of `then`, which found it there" if there else ""


def _file(told: OutputFile) -> File:
    return File(told.hash, told.size)


def publish(blobs: Blobs, attempt: int, bag: int, arrived: Arrived, folder: Path) -> None:
    giver, taker = of_attempt(attempt), of_bag(bag)
    try:
        for output, told in arrived:
            here = taker if blobs.lack(giver, _file(told)) else giver
            place(folder / output.target, partial(blobs.write_out, _file(told), here))
            if here == giver:
                blobs.give(_file(told), giver, taker)
    except (OSError, Broken) as error:
        raise CannotPublish(
            f"{getattr(error, 'filename', None) or folder}: {getattr(error, 'strerror', error)}",
            remedy="The output is safe on the server, which moves it when it can.",
        ) from error
    blobs.drop(giver)
