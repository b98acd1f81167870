"""What an expression looks at, so that nobody evaluates it more often than it can change."""

from __future__ import annotations

import msgspec

from tailrace.policy.attributes import Attribute, Pace, Scope


class Needs(msgspec.Struct, frozen=True):
    attributes: tuple[Attribute, ...]  # each once, in the order in which they are written

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(one.key for one in self.attributes)

    @property
    def scopes(self) -> tuple[Scope, ...]:
        return tuple(dict.fromkeys(one.scope for one in self.attributes))

    def of(self, *scopes: Scope) -> tuple[str, ...]:
        """Keys of the attributes of these scopes."""
        return tuple(one.key for one in self.attributes if one.scope in scopes)

    @property
    def per_task(self) -> bool:
        """Tasks of a bag may differ in it; else once per bag and host is enough (GridBot)."""
        return Scope.JOB in self.scopes

    @property
    def per_host(self) -> bool:
        return Scope.HOST in self.scopes or Scope.POOL in self.scopes

    @property
    def constant(self) -> bool:
        return not self.attributes

    @property
    def pace(self) -> Pace:
        """Of what changes most often."""
        found = [one.pace for one in self.attributes]
        return max(found, key=lambda pace: pace.value, default=Pace.NEVER)

    @property
    def changing(self) -> bool:
        """With the same host, bag and task it can give something else later."""
        return self.pace is not Pace.NEVER
