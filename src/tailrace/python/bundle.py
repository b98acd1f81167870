"""The futures of one bag."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from tailrace.python.answers import Answers

Wish = tuple[Future[Any], str, bytes]  # its function's name, and all of it pickled


class Bundle:
    """A bag can be cancelled, one of its tasks cannot: when some of these futures are cancelled and
    none is open, nobody waits for anything of the bag, and what runs of it is ended."""

    def __init__(self, wishes: list[Wish], arrived: Callable[[Any], None]) -> None:
        self.calls = [future for future, _, _ in wishes]
        self.name = wishes[0][1]
        self._items = [item for _, _, item in wishes]
        self.left = self._open = len(wishes)  # not told; not told and not cancelled
        self._some_cancelled = False
        self._number = 0  # of its bag, once that is stored
        self._cancel: Callable[[int], None] = lambda _: None
        self._guard = threading.Lock()
        self.answers = Answers(len(wishes), lambda _, indices: arrived((self, indices)))

    def take_items(self) -> list[bytes]:
        items, self._items = self._items, []
        return items

    def watch(self, cancel: Callable[[int], None]) -> None:
        """`cancel` is called with the bag's number, once."""
        self._cancel = cancel
        for call in self.calls:
            call.add_done_callback(self._one_less)

    def taken(self, number: int) -> None:
        with self._guard:
            self._number = number
            unwanted = self._open == 0 and self._some_cancelled
        if unwanted and number:
            self._cancel(number)

    def _one_less(self, call: Future[Any]) -> None:
        with self._guard:
            self._open -= 1
            self._some_cancelled |= call.cancelled()
            unwanted = self._open == 0 and self._some_cancelled
        if unwanted and self._number:
            self._cancel(self._number)

    def settle(self, index: int) -> None:
        """Once for each call; a cancelled one hears nothing."""
        self.left -= 1
        call = self.calls[index]
        if call.set_running_or_notify_cancel():
            try:
                call.set_result(self.answers.take(index))
            except BaseException as error:
                call.set_exception(error)
