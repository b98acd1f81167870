"""One task in the foreground, with the worker's own functions for folder and environment."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tailrace.bag import then
from tailrace.bag.bag import Bag
from tailrace.errors import BadInput
from tailrace.quantities import show_size
from tailrace.report import words
from tailrace.worker import container, engines, machine, script, spawn, staging, value
from tailrace.worker.engines import Box, CannotGive, Inside
from tailrace.worker.masking import Mask
from tailrace.worker.outfit import SetupFailed, outfit
from tailrace.worker.surroundings import Surroundings

NOT_STARTED = 127


class Foreground:
    def __init__(
        self,
        content: Bag,
        bag: int,
        index: int,
        attempt: int,
        own: Mapping[str, str],
        secrets: Mapping[str, str],
    ) -> None:
        """`own` is the environment that a worker would pass on; `secrets` the task finds in it."""
        self._own = own
        self._mask = Mask(secrets)
        self._task = content.task(index)
        self._terms = {**content.shared(), "secrets": secrets}
        self._attempt = attempt
        self._staged = content.spec.files == "staged" and not self._task.last
        self._room = Path(tempfile.mkdtemp(prefix=f"tailrace-{bag}-{index}-"))
        self.folder = self._enter(self._terms["folder"])
        self._clearing: list[str] = []  # the words that remove its container
        self.ended = ""
        self.notes: list[str] = []

    def _enter(self, folder: str) -> str:
        if self._staged:
            return self._stage()
        if not Path(folder).is_dir():
            self._forget_room()
            raise BadInput(
                f"{folder}: the folder of the bag is not there any more",
                remedy="Its tasks run in it; put it back where it was.",
            )
        return folder

    def _stage(self) -> str:
        folder = str(self._room / "task")
        inputs = [{"name": item.name, "path": item.path} for item in self._task.inputs]
        try:
            staging.prepare(folder, inputs)
        except (OSError, ValueError) as error:
            path = getattr(error, "filename", None)
            said = f"{path}: {error.strerror}" if isinstance(error, OSError) else str(error)
            remedy = f"What was laid there is in {folder}."
            raise BadInput(f"its inputs cannot be laid out: {said}", remedy=remedy) from error
        return folder

    def fit_out(self, place: Path) -> None:
        """With the setup of its bag, made here if it is not kept below `place`."""
        if "setup" not in self._terms:
            return
        try:
            made = outfit(self._terms["setup"], self._terms["folder"], str(place))
        except SetupFailed as error:
            self._forget_room()
            raise BadInput(str(error), remedy=f"What it said is in {place}.") from None
        self._terms |= made.terms()

    def tell_failed(self, count: int) -> None:
        """To the task that comes when all others are done."""
        self._task = then.with_failed(self._task, count)

    def run(self) -> int:
        """Waits for its end; Ctrl-C reaches the task, and we outlive it to tell."""
        began = time.monotonic()
        before = signal.signal(signal.SIGINT, lambda *_: None)
        try:
            code = self._start().wait()
        except spawn.CannotStart as error:
            self.ended = f"not started: {error.text}"
            return error.exit_code or NOT_STARTED
        finally:
            signal.signal(signal.SIGINT, before)
            container.say(self._clearing)
            took = words.duration((time.monotonic() - began) * 1e6)
            self._look_at_what_it_left()
        how = f"exit {code}" if code >= 0 else f"ended by {signal.Signals(-code).name}"
        self.ended = f"{how}, ran {took}"
        return code if code >= 0 else 128 - code

    def _start(self) -> subprocess.Popen[bytes]:
        env = self._environment()
        if self._task.shell is not None:
            path, argv = spawn.SHELL, ["sh", "-c", self._task.shell]
        else:
            argv = [*self._script(env), *(self._task.argv or ())[self._is_script :]]
            path = "" if self._inside else self._find(argv[0], env.get("PATH", os.defpath))
        if self._inside:
            return self._started_inside(Inside(**self._inside), argv, env)
        return _started(argv, path, env, self.folder)

    @property
    def _inside(self) -> dict[str, Any]:
        return self._terms.get("inside") or {}

    def _started_inside(
        self, inside: Inside, argv: list[str], env: dict[str, str]
    ) -> subprocess.Popen[bytes]:
        name = f"tailrace-{self._room.name}"
        order = {"env": self._task.env}
        around = Surroundings({}, self._own)
        given = around.handed_on(order, self._terms, env)
        box = Box(name, "reproduced", self.folder, [str(self._room)], given, argv)
        own = engines.environment(inside, box, around.of_engine(self._terms))
        try:
            withheld = engines.withheld(inside, box)
        except CannotGive as error:
            raise spawn.CannotStart("task_failed", None, str(error)) from None
        self._clearing = engines.remove(inside, [name])
        with container.handed(withheld) as told:
            said = engines.run(inside, box, told)
            return _started(said, inside.engine, own, self.folder, told)

    def _script(self, env: dict[str, str]) -> list[str]:
        """Of a batch job, with its surroundings; its output comes to the terminal."""
        if not self._is_script:
            return []
        given = self._terms["script"]
        path = script.Scripts(str(self._room)).path_of(given)
        script.surround(env, path)
        return script.words_of(path, given["text"])

    @property
    def _is_script(self) -> bool:
        return "script" in self._terms and not self._task.last

    def _find(self, name: str, search: str) -> str:
        """From the task's folder, as the worker looks."""
        here = Path.cwd()
        os.chdir(self.folder)
        try:
            return spawn.find(name, search)
        finally:
            os.chdir(here)

    def _environment(self) -> dict[str, str]:
        needs = self._terms["needs"]
        around = Surroundings(machine.capacity(self.folder, None, None, None), self._own)
        order: dict[str, Any] = {
            "attempt": self._attempt, "index": self._task.index, "env": self._task.env,
        }  # fmt: skip
        env = around.environment(order, self._terms, needs, around.take_gpus(needs))
        return {
            **env, "TAILRACE_RESULT": str(self._result), "TAILRACE_PROGRESS": str(self._progress),
        }  # fmt: skip

    @property
    def _result(self) -> Path:
        return self._room / "result"

    @property
    def _progress(self) -> Path:
        return self._room / "progress"

    def _look_at_what_it_left(self) -> None:
        self._look_for_value()
        if self._staged:
            self._look_for_outputs()
            self.notes.append(f"its folder is kept: {self.folder}")
        else:
            self._forget_room()

    def _forget_room(self) -> None:
        """With all that a task has left beside its result."""
        shutil.rmtree(self._room, ignore_errors=True)

    def _look_for_value(self) -> None:
        try:
            written, found = value.from_file(str(self._result))
        except value.Unusable as error:
            self.notes.append(f"its value cannot be used: {error}")
            return
        if written:
            self.notes.append(f"its value: {self._mask.text(str(found))[:400]}")

    def _look_for_outputs(self) -> None:
        outputs = [{"name": o.name, "required": o.required} for o in self._task.outputs]
        try:
            found = staging.collect(self.folder, outputs)
        except staging.Refused as error:
            self.notes.append(str(error))
            return
        self.notes += [f"output {one['name']}: {show_size(one['size'])}" for one in found]


def _started(
    argv: list[str], path: str, env: dict[str, str], folder: str, told: Sequence[int] = ()
) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(argv, executable=path, env=env, cwd=folder, pass_fds=told)
    except OSError as error:
        raise spawn.refusal(error.errno or 0, error.strerror or "", argv[0]) from None
