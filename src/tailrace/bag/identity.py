"""What a task is known by: its command, its values, and the files it is made of.

Two bags with the same *basis* have equal tasks where they have equal values: so a bag that has
grown is compared with the one before by its values alone (see `kinship`). Needs, limits, retries,
order and name are not part of it: they do not change what a task computes.

Programs are the files that the command runs, as far as its fixed words name them: the program
itself, and scripts by their endings. Their contents are kept as hashes; so are the values of the
shell's variables that the command names.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from tailrace.bag.batch import Batch
from tailrace.bag.command import LISTED
from tailrace.bag.programs import among as programs_among
from tailrace.bag.spec import BagSpec
from tailrace.bag.sweep import names

if TYPE_CHECKING:
    from tailrace.bag.bag import Bag

TRIED = 100  # listed commands that are looked at for programs
WHOLE = 64 << 20  # a larger file is known by its size and time
_BLOCK = 1 << 20
_VARIABLE = re.compile(r"\$\{?([A-Za-z]\w*|_\w+)")
OURS = ("TAILRACE_", "SLURM_")
UNSET = "unset"


def basis(spec: BagSpec) -> str:
    """Equal for bags whose tasks of equal values are equal; empty: of a bag of calls, never."""
    if spec.function is not None:
        return ""
    told = (
        spec.folder, spec.command, spec.syntax, sorted(spec.env.items()), spec.files, spec.inputs,
        spec.outputs, spec.result, _axes(spec), _batch(spec.batch), _named(spec),
    )  # fmt: skip
    told = (*told, spec.setup) if spec.setup is not None else told  # type: ignore[assignment]
    return hashlib.blake2b(msgspec.json.encode(told), digest_size=16).hexdigest()


def _axes(spec: BagSpec) -> list[list[str]]:
    return sorted(sorted(name for column in axis for name in names(column)) for axis in spec.axes)


def _batch(batch: Batch | None) -> Any:
    """Its script is a program; what Slurm says of the array as a whole grows with it."""
    if batch is None:
        return None
    exported = sorted((k, v) for k, v in batch.env.items() if not k.startswith("SLURM_"))
    return batch.name, batch.chdir, batch.array, exported


def _named(spec: BagSpec) -> str:
    return spec.name if any("{bag" in text for text in _texts(spec)) else ""


def depends_on_number(spec: BagSpec) -> bool:
    """A task of another number would be another task."""
    sign = "{#}" if spec.syntax == "parallel" else "{index"
    return spec.syntax != "listed" and any(sign in text for text in _texts(spec))


def _texts(spec: BagSpec) -> Iterable[str]:
    command = (spec.command,) if isinstance(spec.command, str) else spec.command
    rules = (*spec.inputs, *spec.outputs)
    files = [text for rule in rules for text in (rule.name, rule.place)]
    return [*command, *spec.env.values(), *files]


def programs(bag: Bag) -> dict[str, str]:
    """Hashes of the files that the command is made of, by the names it uses; also inputs that are
    the same for all tasks."""
    spec = bag.spec
    if spec.batch is not None:
        return {spec.batch.name: _of_text(spec.batch.script)}
    found = {}
    for name in program_names(bag):
        digest = hash_of(Path(spec.folder, name))
        if digest is not None:
            found[name] = digest
    return found


def program_names(bag: Bag) -> list[str]:
    """Names that the bag has for files it is made of, whether they are there or not."""
    spec = bag.spec
    if spec.batch is not None:
        return [spec.batch.name]
    fixed = [rule.place for rule in spec.inputs if "{" not in rule.place]
    return list(dict.fromkeys([*_words(bag), *fixed]))


def _words(bag: Bag) -> list[str]:
    """Fixed words of the command that may name a program; of listed ones, in the first."""
    command = bag.spec.command
    lines = [_split(line) for line in _shell_lines(bag)]
    if bag.spec.syntax != "listed" and not isinstance(command, str):
        lines.append(list(command))
    return [word for words in lines for word in programs_among(words)]


def _shell_lines(bag: Bag) -> list[str]:
    """What a shell is given: the first of many commands, or the one there is."""
    if bag.spec.syntax == "listed":
        rows = range(min(bag.blocks.count, TRIED))
        return [str(bag.raw(index)[LISTED]) for index in rows]
    return [bag.spec.command] if isinstance(bag.spec.command, str) else []


def variables(bag: Bag, shell: Mapping[str, str]) -> dict[str, str]:
    """Hashes of the values that a command takes from the shell's variables, by `$NAME`; those
    that are set for each task are none of the shell's, and of a secret no hash is kept on which
    values could be tried."""
    if bag.spec.batch is not None:
        return {}
    others = {*bag.spec.env, *bag.spec.secrets}
    named = dict.fromkeys(name for line in _shell_lines(bag) for name in _VARIABLE.findall(line))
    theirs = [n for n in named if n not in others and not n.startswith(OURS)]
    return {f"${n}": _of_text(shell[n]) if n in shell else UNSET for n in theirs}


def _split(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError:
        return line.split()


def hash_of(path: Path) -> str | None:
    """None: there is no such file. A folder is known by the files in it."""
    try:
        if path.is_dir():
            return _of_folder(path)
        with open(path, "rb") as stream:
            about = os.fstat(stream.fileno())
            if about.st_size > WHOLE:
                return f"{about.st_size}-{about.st_mtime_ns}"
            digest = hashlib.blake2b(digest_size=16)
            while block := stream.read(_BLOCK):
                digest.update(block)
            return digest.hexdigest()
    except OSError:
        return None


def _of_folder(folder: Path) -> str:
    """By names and contents; a large one, as a large file, by sizes and times."""
    found = sorted(path for path in folder.rglob("*") if path.is_file())
    about = [path.stat() for path in found]
    small = sum(one.st_size for one in about) <= WHOLE
    told = [
        (
            str(path.relative_to(folder)),
            hash_of(path) if small else f"{one.st_size}-{one.st_mtime_ns}",
        )
        for path, one in zip(found, about, strict=True)
    ]
    return _of_text(repr(told))


def _of_text(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()
