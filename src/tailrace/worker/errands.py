"""One file brought from the server, or the outputs of one attempt to it: done in a thread."""

from __future__ import annotations

from typing import Any, Callable, Dict, Iterable, List, NamedTuple, Set, Tuple

from .blobs import CHUNK, Broken, Described, File, describe
from .cache import Cache
from .depot import Depot, Refused, Withheld
from .joining import Join
from .line import SECOND
from .refusal import PATIENCE

PATIENCE_S = PATIENCE / SECOND  # with a token that is refused, as for results without files
NOT_WANTED = "not wanted any more"
Json = Dict[str, Any]
Where = Callable[[], Join]  # the server is


class NotWanted(Exception):
    """Nobody waits for it any more."""


class Brought(NamedTuple):
    """Why a file is not here, if it is not; `of_bag`: what the bag says of it is at fault, and so
    it would be on any machine."""

    error: str = ""
    of_bag: bool = False


class CannotCarry(Exception):
    """Says why in one line."""


def bring(
    join: Where, cache: Cache, file: File, wanted: Callable[[], List[int]], key: str = ""
) -> Brought:
    """For the first attempt that wants it; should that one go, for the next."""

    def first(_: str = "") -> int:
        now = wanted()
        if not now:
            raise NotWanted
        return now[0]

    depot = Depot(join, first, key, PATIENCE_S)

    def read(name: str) -> memoryview:
        while True:
            asked = first()
            try:
                return depot.read(name, f"?attempt={asked}")
            except Refused:
                if first() == asked:
                    raise

    try:
        cache.fetch(file, read, first)
    except NotWanted:
        return Brought(NOT_WANTED)
    except (Refused, Broken) as error:
        text = f"an input cannot be had from the server: {error}"
        return Brought(text, isinstance(error, (Withheld, Broken)))
    except OSError as error:
        return Brought(f"an input cannot be kept here: {error.strerror}")
    except Exception as error:
        return Brought(f"an input cannot be fetched: {error!r}")
    finally:
        depot.close()
    return Brought()


def deliver(join: Where, result: Json, wanted: Callable[[], bool], key: str = "") -> List[Json]:
    """The outputs as the result tells of them."""

    def go_on(_: str) -> None:
        if not wanted():
            raise NotWanted

    depot = Depot(join, go_on, key, PATIENCE_S)
    try:
        return [_sent(depot, item, result["attempt"]) for item in result["outputs"]]
    except NotWanted:
        raise CannotCarry(NOT_WANTED) from None
    except (Refused, OSError) as error:
        raise CannotCarry(f"an output cannot be brought to the server: {error}") from None
    finally:
        depot.close()


def _sent(depot: Depot, item: Json, attempt: int) -> Json:
    with open(item["path"], "rb") as stream:
        told = describe(stream)
        missing = set(depot.missing(list({*told.chunks, *told.lists}), attempt))
        for name, data in _blobs(told, stream, missing):
            depot.put(name, data, f"?attempt={attempt}")
    return {"name": item["name"], "size": told.file.size, "hash": told.file.hash}


def _blobs(told: Described, stream: Any, missing: Set[str]) -> Iterable[Tuple[str, bytes]]:
    """Those that are missing, each once."""
    for at, name in enumerate(told.chunks):
        if name in missing:
            missing.discard(name)
            stream.seek(at * CHUNK)
            yield name, stream.read(CHUNK)
    for name, data in told.lists.items():
        if name in missing:
            yield name, data
