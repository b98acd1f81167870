"""One process owns a store: a lock that the kernel frees when its holder dies, however it dies."""

from __future__ import annotations

import fcntl
import os
import stat
import time
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec.structs import replace

from tailrace.errors import StoreBusy, StoreError

TRIES, TRY_AGAIN_S = 5, 0.02
MORE_TRIES = 250  # where its holder is dead: what he had just begun may still have it


class Owner(msgspec.Struct, frozen=True):
    """The server of a folder, and how it is reached."""

    pid: int = 0  # 0: not of this machine
    address: str = ""
    token: str = ""
    fingerprint: str = ""  # of its certificate, if it shows one
    elsewhere: str = ""  # a join text without a token, for other machines
    key_pin: str = ""  # of its own certificate, for curl
    stays: bool = False  # it is not the server of one run, and takes others' bags


class Lock:
    """Held from construction to `free` or death. The file says where its holder can be reached."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "server.json"
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)  # outputs, addresses, a token
            _close_to_others(folder)
            self._file = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            remedy = "Runs are kept there: make it writable."
            if isinstance(error, FileExistsError):
                remedy = "Runs are kept in a folder of that name: move this file away."
            raise StoreError(f"{folder}: {error.strerror}", remedy=remedy) from error
        if not self._taken():
            os.close(self._file)
            raise busy(folder)
        self._path.unlink(missing_ok=True)  # of one that was killed: nobody is there any more

    def _taken(self) -> bool:
        """Tried for a moment: `alive` of another command holds the lock while it looks. And for
        longer where a server was killed in the very moment in which it began another program, which
        has its open files until it has become that."""
        if self._tried(TRIES):
            return True
        owner = owner_of(self._path.parent)
        return owner is not None and _is_dead(owner.pid) and self._tried(MORE_TRIES)

    def _tried(self, times: int) -> bool:
        for _ in range(times):
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return True
            except OSError:
                time.sleep(TRY_AGAIN_S)
        return False

    def announce(self, owner: Owner) -> None:
        owner = replace(owner, pid=os.getpid())
        fresh = self._path.with_suffix(".new")
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(msgspec.json.encode(owner))
        fresh.replace(self._path)

    def free(self) -> None:
        self._path.unlink(missing_ok=True)
        os.close(self._file)


def _is_dead(pid: int) -> bool:
    return pid > 0 and not Path(f"/proc/{pid}").exists()


def _close_to_others(folder: Path) -> None:
    """One that was there before, copied or made by hand, may be open to all."""
    mode = stat.S_IMODE(folder.stat().st_mode)
    if mode & 0o077:
        with suppress(OSError):  # somebody else's, who let us in
            folder.chmod(mode & 0o700)


def busy(folder: Path) -> StoreBusy:
    owner = owner_of(folder)
    where = f" at {owner.address} (process {owner.pid})" if owner else ""
    remedy = "Watch it with `tailrace watch`, wait for its end, or run in another folder."
    if owner is not None and owner.stays:
        remedy = "Hand your bag to it: `tailrace submit` takes what `tailrace run` takes."
    return StoreBusy(f"{folder}: a server{where} already runs here.", remedy=remedy)


def owner_of(folder: Path) -> Owner | None:
    """Who wrote that he owns the store; he may be dead (see `alive`)."""
    try:
        return msgspec.json.decode((folder / "server.json").read_bytes(), type=Owner)
    except (OSError, msgspec.DecodeError):
        return None


def alive(folder: Path) -> Owner | None:
    """The owner, if the lock is really held."""
    return owner_of(folder) if held(folder) else None


def held(folder: Path) -> bool:
    """Somebody has the lock; where he can be reached he may not have written yet."""
    try:
        file = os.open(folder / "lock", os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(file)
    return False
