"""A policy is tried in another process before it is believed.

Evaluating runs inside a library: nothing in this process could cut it off, and where it crashed,
the server would, too. What is known to be costly is refused when it is read; this is for the rest.

    python -m tailrace.server.policytrial < asked.json
    python -m tailrace.server.policytrial host < said.json
"""

from __future__ import annotations

import resource
import signal
import subprocess
import sys
import time

import msgspec

from tailrace.bag.policy import BagPolicy, HostPolicy
from tailrace.errors import BadInput
from tailrace.policy import samples
from tailrace.policy.ads import Scene
from tailrace.policy.bagpolicy import check_own, compiled
from tailrace.policy.expression import Expression
from tailrace.policy.policies import (
    HOST_WORDS,
    WORDS,
    compile_host_policy,
)

OF_HOST = "host"  # the argument of a trial of what the owner of a machine says
MOST_S = 20.0  # for the whole of it, on a busy machine
MOST_CPU_S = 10
MOST_BYTES = 2 * 2**30
MOST_EVALUATION_S = 0.01  # usual are some microseconds
SIMPLER = "write it more simply: with fewer patterns, and fewer things inside others"
TOO_LONG = "{} takes too long to evaluate"


class Told(msgspec.Struct, frozen=True):
    message: str = ""  # nothing: it is good
    remedy: str = ""


class Undecided(BadInput):
    """The trial was cut off or has died: on a machine less busy it may end otherwise."""


def try_policy(asked: BagPolicy | HostPolicy, most_s: float = MOST_S) -> None:
    """BadInput: the child found a fault, took too long, or died of it."""
    # -P: a `random.py` of the user's in this folder must not become the child's.
    words = [sys.executable, "-P", "-m", "tailrace.server.policytrial"]
    words += [OF_HOST] if isinstance(asked, HostPolicy) else []
    given = msgspec.json.encode(asked)
    try:
        done = subprocess.run(words, input=given, capture_output=True, timeout=most_s, check=True)
        told = msgspec.json.decode(done.stdout, type=Told)
    except OSError as error:
        why = f"the server cannot start a process to try the policy in: {error.strerror}"
        raise Undecided(why, remedy="try again later") from None
    except subprocess.TimeoutExpired:
        raise _cut_off() from None
    except (subprocess.CalledProcessError, msgspec.MsgspecError) as fault:
        if getattr(fault, "returncode", 0) == -signal.SIGXCPU:
            raise _cut_off() from None
        raise Undecided("the policy ends the process that reads it", remedy=SIMPLER) from None
    if told.message:
        raise BadInput(told.message, remedy=told.remedy)


def _cut_off() -> Undecided:
    return Undecided(TOO_LONG.format("the policy"), remedy=SIMPLER)


def trial(asked: BagPolicy | HostPolicy) -> None:
    """What the child does."""
    for name, one in _expressions(asked):
        if one is not None and not is_quick(one):
            raise BadInput(TOO_LONG.format(name), remedy=SIMPLER)


def _expressions(asked: BagPolicy | HostPolicy) -> list[tuple[str, Expression | None]]:
    """BadInput: one of them cannot be read."""
    if isinstance(asked, HostPolicy):
        host = compile_host_policy(asked)
        return [(word.name, getattr(host, word.field)) for word in HOST_WORDS]
    check_own(asked)
    policies = compiled(asked)
    return [(word.name, getattr(policies, word.field)) for word in WORDS]


def is_quick(one: Expression) -> bool:
    scene, keys = Scene(), one.needs.keys
    rows = [*samples.costly(one.needs, one.flat.literals), *samples.known(one.needs)]
    for values in rows:
        scene.show(values, keys)
        if _is_slow(one, scene):
            return False
    return True


def _is_slow(one: Expression, scene: Scene) -> bool:
    """Three times in a row, if it is not by far: a machine may be busy."""
    took = _seconds(one, scene)
    if took > 10 * MOST_EVALUATION_S:
        return True
    again = (_seconds(one, scene) for _ in range(2))
    return took > MOST_EVALUATION_S and min(again) > MOST_EVALUATION_S


def _seconds(one: Expression, scene: Scene) -> float:
    before = time.process_time()
    one.found(scene)
    return time.process_time() - before


def main() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (MOST_CPU_S, MOST_CPU_S))
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    told = Told()
    kind: type[BagPolicy] | type[HostPolicy] = HostPolicy if OF_HOST in sys.argv[1:] else BagPolicy
    try:
        trial(msgspec.json.decode(sys.stdin.buffer.read(), type=kind))
    except BadInput as fault:
        told = Told(fault.message, fault.remedy)
    sys.stdout.buffer.write(msgspec.json.encode(told))


if __name__ == "__main__":
    main()
