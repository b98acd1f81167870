"""The image of a bag's setup: had once on a machine, and tried, before the first task."""

from __future__ import annotations

import os
import subprocess
from typing import Any, Dict, List, Mapping, Optional

from . import container, engines
from .engines import Box, Inside
from .linux import die_with

Json = Dict[str, Any]


class NotHad(Exception):
    """Says in one line why there is no such image here."""


class Fetching:
    """By one engine after another, until one has it and can run something in it."""

    def __init__(self, setup: Json, kept: str, env: Mapping[str, str]) -> None:
        self._setup, self._kept, self._env = setup, kept, dict(env)
        self._log = os.path.join(kept, "log")

    def inside(self) -> Inside:
        image, wanted = self._setup["image"], self._setup.get("engine") or ""
        if engines.is_file(image) and not os.path.exists(image):
            raise NotHad(f"the image {image} is not on this machine")
        tried = engines.found(wanted, image, self._env.get("PATH"))
        if not tried:
            needed = wanted or "podman, docker, apptainer or singularity"
            raise NotHad(f"the image {image} needs {needed}, which is not on this machine")
        why = []
        for one in tried:
            try:
                return self._by(one)
            except NotHad as error:
                why.append(f"{one.kind}: {error}")
        raise NotHad(f"the image {image} cannot be used here: {'; '.join(why)}")

    def _by(self, one: Inside) -> Inside:
        had = self._fetched(one)
        had = had._replace(mounts=list(self._setup.get("mounts") or []))
        self._try(had)
        return had

    def _fetched(self, one: Inside) -> Inside:
        """Known by what it is: every task on this machine runs in the same."""
        if one.image.endswith(".sif"):
            return one
        known = "" if engines.is_file(one.image) else self._known(one)
        if known:
            return one._replace(image=known)
        said = self._run(one, engines.fetch(one, self._kept))
        if one.kind in ("apptainer", "singularity"):
            return one._replace(image=os.path.join(self._kept, "image.sif"))
        if engines.is_file(one.image):
            one = one._replace(image=engines.loaded(said) or one.image)
        return one._replace(image=self._known(one) or one.image)

    def _known(self, one: Inside) -> str:
        if one.kind in ("apptainer", "singularity"):
            return ""
        return container.say(engines.there(one), self._env)

    def _try(self, one: Inside) -> None:
        """Whether it has a program `true` does not matter, but that the engine gets so far."""
        name = f"tailrace-trial-{os.getpid()}-{os.urandom(4).hex()}"
        box = Box(name, "trial", self._kept, [], {}, ["true"])
        code = self._call(engines.run(one, box))
        answer = container.say(engines.asked_about(one, name, code), self._env)
        container.say(engines.remove(one, [name]), self._env)
        said = self._said(one)
        if engines.never_began(one, code, answer, said, box.argv[0]) == 125:
            raise NotHad(said)

    def _run(self, one: Inside, words: List[str]) -> str:
        before = os.path.getsize(self._log)
        if self._call(words) != 0:
            raise NotHad(self._said(one))
        with open(self._log, encoding="utf-8", errors="replace") as file:
            file.seek(before)
            return file.read()

    def _call(self, words: List[str]) -> int:
        parent = os.getpid()
        with open(self._log, "ab") as out:
            return subprocess.Popen(
                words, cwd=self._kept, env=self._env, stdin=subprocess.DEVNULL, stdout=out,
                stderr=out, start_new_session=True, preexec_fn=lambda: die_with(parent),
            ).wait()  # fmt: skip

    def _said(self, one: Inside) -> str:
        with open(self._log, "rb") as file:
            return engines.said(one, container.end_of(file.fileno())) or "it said nothing"


def stamp(setup: Json) -> Optional[List[int]]:
    """Tells an image's file from another that takes its place."""
    if not engines.is_file(setup.get("image") or ""):
        return None
    try:
        there = os.stat(setup["image"])
    except OSError:
        return []
    return [there.st_size, there.st_mtime_ns]


def still_there(inside: Inside) -> bool:
    if inside.kind in ("apptainer", "singularity"):
        return os.path.exists(inside.image)
    return bool(container.say(engines.there(inside)))
