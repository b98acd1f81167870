"""A bag: numbered tasks, each computed or read from a chunk when it is asked for."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from tailrace.bag import batch, then
from tailrace.bag.arrayids import NAME as ARRAY
from tailrace.bag.arrayids import env_of_array, extent
from tailrace.bag.blocks import Blocks
from tailrace.bag.chunks import Reading
from tailrace.bag.command import command_of, variable
from tailrace.bag.extent import MOST_COMMAND, Extent, check_last, too_long
from tailrace.bag.items import Item, Items, Parcel
from tailrace.bag.spec import BagSpec, FileRule
from tailrace.bag.task import FAULTS, CannotBeMade, Input, Output, Task
from tailrace.bag.template import Scope, Template
from tailrace.bag.terms import Terms
from tailrace.bag.values import show

# An exception is an answer for who called: a hundred alike pause nothing, and nobody waits for a
# first call to stand its trial.
_OF_CALLS: dict[str, Any] = {"like_failures": 1 << 40, "trial_us": 0}
_decoder = msgspec.json.Decoder(BagSpec)
_FileTemplates = list[tuple[Template, Template, bool]]


class Bag:
    def __init__(self, spec: BagSpec, read_chunk: Callable[[int], bytes], number: int = 0) -> None:
        """`number`: under which it is stored, once it is."""
        self.spec = spec
        self.number = number
        self.blocks = Blocks((spec.axes, *spec.blocks), read_chunk)
        self.sweep = self.blocks.all[0].sweep
        self.count = self.blocks.count if spec.function is None else spec.function.count
        self.last: int | None = None  # the number of the task that comes when all others are done
        if spec.then is not None:
            self.last, self.count = self.count, self.count + 1
        self._items = None if spec.function is None else Items(spec.function, read_chunk)
        self.read_chunk = read_chunk
        self._command = command_of(spec, self.sweep)
        self.extent = Extent(spec, self._command, self.sweep.names())
        self._variables = [(variable(name), name) for name in self.sweep.names()]
        self._env = [(key, Template(text)) for key, text in spec.env.items()]
        self._inputs = _templates(spec.inputs) if spec.files == "staged" else []
        self._outputs = _templates(spec.outputs)
        self._arrays: dict[int, dict[str, str]] = {}  # by how many blocks they have

    def task(self, index: int) -> Task:
        """CannotBeMade where its values do not suit what they are filled into."""
        if not 0 <= index < self.count:
            raise IndexError(f"task {index} of {self.count}")
        try:
            return self._made(index)
        except FAULTS as fault:
            raise CannotBeMade(index, fault) from fault

    def text(self, index: int) -> str:
        """A task's command as one would type it, or why there is none."""
        try:
            return self.task(index).text()
        except CannotBeMade as fault:
            return f"({fault.message})"

    def _made(self, index: int) -> Task:
        raw = self.raw(index)
        if self._items is not None:
            return _call(index, self._items[index])
        if index == self.last:
            check_last(self.spec)
            return then.task(self.spec, index)
        if self.extent.many:
            self.extent.check(index, raw)
        scope = {**raw, "index": index, "bag": self.spec.name}
        argv, shell = self._command.build(scope)
        size = len(shell) if shell is not None else sum(map(len, argv or ()))
        if size > MOST_COMMAND:  # what is quoted has grown
            raise too_long(index, size)
        return Task(
            index,
            self.blocks.of(index)[0].typed(raw),
            argv,
            shell,
            self._task_env(index, scope),
            self._task_inputs(scope) if self._inputs else (),
            self._task_outputs(scope) if self._outputs else (),
            printed=self._printed(index, raw),
        )

    def outputs(self, index: int, names: Iterable[str]) -> tuple[Output, ...]:
        """Those of a task that were left, by their names. Only the last task declares none."""
        if index == self.last:
            return then.outputs(names)
        left = set(names)
        return tuple(output for output in self.task(index).outputs if output.name in left)

    def params(self, index: int) -> dict[str, Any]:
        """None of a task that cannot be made."""
        try:
            return self.blocks.of(index)[0].typed(self.raw(index))
        except FAULTS:
            if not 0 <= index < self.count:
                raise
            return {}

    def raw(self, index: int) -> Scope:
        """The parameters as they stand in the command."""
        if not 0 <= index < self.count:
            raise IndexError(f"task {index} of {self.count}")
        if self._items is not None or index == self.last:
            return {}
        sweep, number = self.blocks.of(index)
        return sweep.raw(number)

    def scope(self, index: int) -> Scope:
        """All that a placeholder may name."""
        return {**self.raw(index), "index": index, "bag": self.spec.name}

    def terms(self) -> Terms:
        spec = self.spec
        terms = Terms(
            count=self.count,
            name=spec.name,
            needs=spec.needs,
            limits=spec.limits,
            retries=spec.retries,
            growth=spec.growth,
            order_seed=spec.seed if spec.order == "shuffled" else None,
            last=self.last is not None,
            repeatable=spec.repeatable,
            timeout_us=spec.timeout_us,
            deadline_us=spec.deadline_us,
            budget=spec.budget,
            max_failures=spec.max_failures,
            most_running=spec.most_running,
            pools=spec.pools,
            matching=spec.matching,
            replication=spec.replication,
            round_us=spec.round_us,
            weight=spec.weight,
            policy=spec.policy,
            tail_below=spec.tail_below,
            tail_stays=spec.tail_stays,
            losers_run_on=spec.losers_run_on,
        )
        return terms if self._items is None else replace(terms, **_OF_CALLS)

    def order(self) -> array[int] | None:
        """The permutation when the tasks are ordered by a parameter; otherwise None."""
        if self.spec.order in ("listed", "shuffled"):
            return None
        from tailrace.bag.ranking import by_parameter, by_parameter_of

        if len(self.blocks.all) > 1:
            return by_parameter_of(self, range(self.count))
        return by_parameter(self.sweep, self.spec.order)

    def find(self, text: str) -> int:
        """A task by its number (`17`) or by values (`alpha=0.1,seed=3`)."""
        from tailrace.bag.finding import find

        return find(self, text)

    def shared(self) -> dict[str, Any]:
        """What the attempts of the bag share, in the words of the work call."""
        spec = self.spec
        shared = {
            "name": spec.name,
            "folder": spec.folder,
            "env": {
                "TAILRACE_BAG": spec.name,
                **{k: t.render({}) for k, t in self._env if not t.fields},
                **(batch.of_bag(spec.batch, self.number) if spec.batch else {}),
            },
            "needs": dict(spec.needs),
            "limits": msgspec.to_builtins(spec.limits),
            "files": spec.files,
            "keep_output": spec.keep_output,
            "result": {} if spec.result is None else {"regex": spec.result},
            "grace_s": spec.grace_us / 1_000_000,
        }
        if spec.setup is not None:
            shared["setup"] = msgspec.to_builtins(spec.setup)
        if spec.catalogue is not None:
            shared["travels"] = True
        if self._items is not None:
            shared["function"] = self._items.shared()
        if spec.batch is not None:
            shared["folder"] = spec.batch.chdir
            shared["script"] = {"name": spec.batch.name, "text": spec.batch.script}
        return shared

    def encode(self) -> tuple[bytes, Reading]:
        """The spec as JSON, and the chunks of its rows."""
        chunks = self.blocks.chunks
        if self.spec.function is not None:
            chunks = 1 + len(self.spec.function.ends)
        return msgspec.json.encode(self.spec), Reading(self.read_chunk, chunks)

    @classmethod
    def decode(cls, spec: bytes, chunk: Callable[[int], bytes], number: int = 0) -> Bag:
        """`chunk(k)` reads the k-th stored chunk; it is called when a task of it is asked for."""
        return cls(_decoder.decode(spec), chunk, number)

    def _task_env(self, index: int, scope: Scope) -> dict[str, str]:
        env = {"TAILRACE_TASK": str(index)}
        if self.spec.syntax != "listed":  # the row is the command itself, and may be long
            for variable, name in self._variables:
                env[variable] = show(scope[name])
        for key, template in self._env:
            if template.fields:
                env[key] = template.render(scope)
        if self.spec.batch is not None:
            env |= batch.of_task(self.spec.batch, self.number, index, scope.get(ARRAY))
            env |= self._array_env(index) if self.spec.blocks else {}
        return env

    def _array_env(self, index: int) -> dict[str, str]:
        """To a task that was added, the array is what it was then, also when it is tried again; to
        the others, what it was first, which all tasks share."""
        sweeps = self.blocks.up_to(index)
        if len(sweeps) == 1:
            return {}
        if len(sweeps) not in self._arrays:
            columns = [axis[0] for sweep in sweeps for axis in sweep.axes]
            self._arrays[len(sweeps)] = env_of_array(extent(columns))
        return self._arrays[len(sweeps)]

    def _printed(self, index: int, raw: Scope) -> batch.Printed | None:
        if self.spec.batch is None:
            return None
        return batch.printed(self.spec.batch, self.number, index, raw.get(ARRAY))

    def _task_inputs(self, scope: Scope) -> tuple[Input, ...]:
        folder = Path(self.spec.folder)
        return tuple(
            Input(n.render(scope), str(folder / p.render(scope))) for n, p, _ in self._inputs
        )

    def _task_outputs(self, scope: Scope) -> tuple[Output, ...]:
        return tuple(Output(n.render(scope), t.render(scope), must) for n, t, must in self._outputs)


def _call(index: int, item: Item) -> Task:
    if isinstance(item, Parcel):
        return Task(index, {}, item=b"", inputs=(Input("item", "", item.hash, item.size),))
    return Task(index, {}, item=item)


def _templates(rules: tuple[FileRule, ...]) -> _FileTemplates:
    return [(Template(rule.name), Template(rule.place), rule.required) for rule in rules]
