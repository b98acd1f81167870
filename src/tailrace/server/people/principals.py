"""Who calls: the owner of the folder, an admin, a user, a pool's machine, or who reads the figures
alone; and who may what."""

from __future__ import annotations

from enum import Enum, StrEnum

import msgspec


class Kind(StrEnum):
    OWNER = "owner"  # has the secret that lies in the folder: may do all, also work
    ADMIN = "admin"
    USER = "user"
    POOL = "pool"
    METRICS = "metrics"  # what a program that watches keeps in its settings


class Principal(msgspec.Struct, frozen=True):
    kind: Kind
    name: str = ""
    trusted: bool = False  # of a pool: its machines may send pickled results
    key: str = ""  # of one machine, beside the token that it shares with its pool

    def __str__(self) -> str:
        return f"{self.kind} {self.name}".strip()

    @property
    def rules(self) -> bool:
        return self.kind in (Kind.OWNER, Kind.ADMIN)

    def owns(self, owner: str) -> bool:
        """May see and change a bag of this owner."""
        return self.rules or (self.kind is Kind.USER and owner == self.name)


OWNER = Principal(Kind.OWNER)


class Who(Enum):
    """Those a route is open to."""

    ANYONE = ()  # without a token, too
    WORKERS = (Kind.OWNER, Kind.POOL)
    PEOPLE = (Kind.OWNER, Kind.ADMIN, Kind.USER)
    ADMINS = (Kind.OWNER, Kind.ADMIN)
    WATCHERS = (Kind.OWNER, Kind.ADMIN, Kind.METRICS)
    TOKENS = (Kind.OWNER, Kind.ADMIN, Kind.USER, Kind.POOL)

    def admits(self, principal: Principal) -> bool:
        return self is Who.ANYONE or principal.kind in self.value
