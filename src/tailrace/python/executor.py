"""`tailrace.Executor`: a `concurrent.futures.Executor` whose calls are tasks of bags."""

from __future__ import annotations

import os
import pickle
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor as Base
from concurrent.futures import Future
from pathlib import Path
from queue import SimpleQueue
from typing import Any, ParamSpec, TypeVar

from tailrace.errors import BadInput
from tailrace.python.answers import Answers
from tailrace.python.bundle import Bundle, Wish
from tailrace.python.calls import Rules, bag_of
from tailrace.python.mapping import Mapping
from tailrace.python.pickling import PROTOCOL, name_of, pickled
from tailrace.python.session import Session, open_session

P = ParamSpec("P")
T = TypeVar("T")
PLENTY = 4 * len(os.sched_getaffinity(0))  # more than the workers of this machine run at once
GATHER_S = 0.03


class Executor(Base):
    """Runs calls in warm processes of this machine, each a task of a bag.

    `workers`: how many run at once; by default one for each core. `folder`: where runs are kept, in
    `.tailrace/`; by default nowhere, they are gone at the end. `time_limit` and `memory_limit` end
    a call that exceeds them; `cores`, `memory` and `gpus` are what each call needs; `retries`: how
    often a call that fails is made again, by default never.
    """

    def __init__(
        self,
        workers: float | None = None,
        *,
        max_workers: float | None = None,
        folder: str | Path | None = None,
        server: str | None = None,
        **rules: Any,
    ) -> None:
        self._workers = _workers(max_workers if workers is None else workers)
        self._folder, self._server = folder, server
        self._fields = _rules(rules).fields("calls")
        self._runners = os.urandom(8).hex()
        self._session: Session | None = None
        self._guard = threading.Lock()
        self._wishes: list[Wish] = []
        self._handing_in = False
        self._bundles: dict[int, Bundle] = {}  # those under way, by identity
        self._under_way = 0
        self._maps: weakref.WeakSet[Mapping] = weakref.WeakSet()
        self._rest = threading.Condition(self._guard)
        self._arrived: SimpleQueue[tuple[Bundle, list[int]] | None] = SimpleQueue()
        self._teller: threading.Thread | None = None
        self._closed = False
        _open.add(self)

    @property
    def usable(self) -> bool:
        return not self._closed and (self._session is None or self._session.alive)

    @property
    def idle(self) -> bool:
        """No call is under way, and no `map` will hand in more."""
        with self._guard:
            return not self._under_way and not any(one.reads_on for one in list(self._maps))

    # ---- calls --------------------------------------------------------------------------------

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        future: Future[Any] = Future()
        with self._guard:
            self._refuse_closed()
        try:
            item = pickle.dumps((pickled(fn), pickled((args, kwargs))), PROTOCOL)
        except Exception as error:
            future.set_exception(error)
            return future
        with self._guard:
            self._refuse_closed()
            self._begin()
            self._under_way += 1
            self._wishes.append((future, name_of(fn), item))
            first, self._handing_in = not self._handing_in, True
        if first:
            self._hand_in()
        return future

    def map(
        self,
        fn: Callable[..., T],
        *iterables: Iterable[Any],
        timeout: float | None = None,
        chunksize: int = 1,
        buffersize: int | None = None,
    ) -> Iterator[T]:
        """Results in the order of the arguments. `chunksize` is not needed: short calls are sent in
        bundles. What the iterables yield is read as far as results have been taken, and some
        thousands ahead (or `buffersize`). Results of calls that were handed in can also be taken
        after a shutdown, which waits for them."""
        with self._guard:
            self._refuse_closed()
            session = self._begin()
        made = Mapping(session, self._answers, self._fields, self._runners, fn, iterables, timeout,
                       buffersize)  # fmt: skip
        self._maps.add(made)
        return made

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        with self._guard:
            self._closed = True
            bundles = list(self._bundles.values())
            wishes = [future for future, _, _ in self._wishes]
        if cancel_futures:
            for future in [*wishes, *(call for bundle in bundles for call in bundle.calls)]:
                future.cancel()
            self.give_up_maps()
        if wait:
            self._close()
        else:
            threading.Thread(target=self._close, daemon=True).start()

    def give_up_maps(self) -> None:
        for one in list(self._maps):
            one.give_up()

    def _close(self) -> None:
        """When all calls under way have ended."""
        with self._rest:
            while self._under_way:
                self._rest.wait()
            session, self._session = self._session, None
        if session is not None:
            session.close()
        teller = self._teller
        if teller is not None and teller is not threading.current_thread():
            self._arrived.put(None)
            teller.join()
        _open.discard(self)

    def _refuse_closed(self) -> None:
        if self._closed:
            raise RuntimeError("cannot schedule new futures after shutdown")

    def _begin(self) -> Session:
        """The server starts with the first call."""
        if self._session is None:
            self._session = open_session(self._workers, self._folder, self._server)
            self._teller = threading.Thread(target=self._tell, name="tailrace futures", daemon=True)
            self._teller.start()
        return self._session

    # ---- from wishes to bags ------------------------------------------------------------------

    def _hand_in(self) -> None:
        """All that was wished for becomes one bag; what comes meanwhile goes into the next. If that
        cannot be handed in, its futures say why, and the next is tried."""
        while (bundle := self._next_bundle()) is not None:
            try:
                self._submit(bundle)
                return
            except Exception as error:
                bundle.answers.end(str(error))

    def _next_bundle(self) -> Bundle | None:
        with self._guard:
            wishes, self._wishes = self._wishes, []
            self._handing_in = bool(wishes)
            if not wishes:
                return None
            bundle = Bundle(wishes, self._arrived.put)
            self._bundles[id(bundle)] = bundle
            return bundle

    def _submit(self, bundle: Bundle) -> None:
        session = self._session
        if session is None:
            raise RuntimeError("the Executor was shut down")
        bundle.watch(session.cancel)
        bag = bag_of(bundle.name, b"", bundle.take_items(), self._fields, self._runners)
        session.submit(bag, bundle.answers, lambda number: self._taken(number, bundle))

    def _taken(self, number: int, bundle: Bundle) -> None:
        bundle.taken(number)
        if self._has_plenty():
            threading.Timer(GATHER_S, self._hand_in).start()
        else:
            self._hand_in()

    def _has_plenty(self) -> bool:
        """So many calls wait already that those wished for now would not begin at once: they may
        as well go together, for a bag of its own for each would cost a round of calls."""
        with self._guard:
            return self._under_way - len(self._wishes) > PLENTY

    # ---- from answers to futures --------------------------------------------------------------

    def _tell(self) -> None:
        """Callbacks of futures run here: the server does not wait for them."""
        while (told := self._arrived.get()) is not None:
            bundle, indices = told
            for index in indices:
                bundle.settle(index)
            with self._guard:
                if bundle.left == 0:
                    self._bundles.pop(id(bundle), None)
            self._fewer(len(indices))

    def _answers(self, count: int) -> Answers:
        """Those of one bag of a map: its calls are under way from now on."""
        with self._guard:
            self._refuse_closed()
            self._under_way += count
        return Answers(count, lambda _, indices: self._fewer(len(indices)))

    def _fewer(self, ended: int) -> None:
        with self._rest:
            self._under_way -= ended
            self._rest.notify_all()


def _workers(count: float | None) -> float | None:
    if count is not None and not count > 0:
        raise BadInput(f"workers is {count}", remedy="Give a number above 0, or leave it out.")
    return count


def _rules(given: dict[str, Any]) -> Rules:
    unknown = [name for name in given if name not in Rules.__struct_fields__]
    if unknown:
        known = ", ".join(Rules.__struct_fields__)
        raise TypeError(f"{unknown[0]!r} is no rule of an Executor; there are {known}")
    return Rules(**given)


_open: weakref.WeakSet[Executor] = weakref.WeakSet()


def _end_all() -> None:
    """As in the standard library, calls under way are waited for when the program ends."""
    for executor in list(_open):
        executor.give_up_maps()  # nobody is left to take their results
        executor.shutdown()


# A child made by fork has none of the threads that would end what its parent began.
os.register_at_fork(after_in_child=_open.clear)
# Ahead of `atexit`, when the threads that stop the workers can no longer be started.
threading._register_atexit(_end_all)  # type: ignore[attr-defined]
