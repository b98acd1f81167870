"""Writes policies.md from the table of attributes; a test checks that it is up to date.

python docs/reference/make_policies.py
"""

from __future__ import annotations

from pathlib import Path

from tailrace.bag.columns import MOST_GROUPS
from tailrace.policy import ads, patterns, tokens
from tailrace.policy.names import OF_TASKS
from tailrace.policy.policies import HOST_WORDS, WORDS, Word
from tailrace.policy.reference import attributes_as_markdown, functions_as_markdown

PAGE = Path(__file__).with_name("policies.md")

HEAD = """\
# Policies

<!-- Written by make_policies.py from the table of attributes. Do not edit. -->

The policy of a bag is a handful of expressions in the ClassAd language of HTCondor, evaluated by
HTCondor's own library: `pip install 'tailrace[policies]'`. [Why it is
so](../discussions/policies.md).

They stand in the table `[policy]` of a [bag file](bag-file.md#who-runs-the-tasks), which has plain
words for what most policies say; `tailrace policy show` prints both as ClassAds, `tailrace policy
test` says which hosts would get tasks now, and `tailrace policy set` changes them while the bag
runs. Before a policy is taken, it is tried in a process of its own.

{words}

`GridPolicy` is asked again before each further machine. A machine that is paid by time stays to
the end of its paid unit, whatever `GridPolicy` says meanwhile; it stays longer if it would be asked
for were it not there: `Pool.Machines < 3` keeps three.

An expression may name another one of the same bag: `Deadline = 'Concurrency * 2000'`. At run time
UNDEFINED, ERROR, NaN, infinities and values of another kind count as "no", with their reason. The
last two are the say of a machine's owner, who writes them into
[`worker.conf`](worker.md#what-its-owner-says).

## Attributes

Upper and lower case are alike. A name that there is not is refused, unless it is written with a
value for that case: `(Host.Gpus ?: 0) > 1`. "Changes" tells how long a value holds.

{attributes}

`Job.Params.x`, or `Params.x`, is the parameter `x` of the task, as the bag file or the scenario has
it: a number, a text or a boolean. {of_tasks}
may look at parameters, for they are asked about a task. All that a policy names together may have
{groups} different combinations of values, as a host is asked about once for each; numbers and texts
are not mixed in one; and a bag with `then`, whose last task has none, has no such policy. A
parameter whose name is no word is written in quotes: `Params.'learning-rate'`.

`Host.Owner`, `Host.CpuModel` and `Host.Speed` are told by
[the worker](worker.md#what-it-tells-of-its-machine) of a real host, and by
[the pool](scenario.md#pools) of a simulated one.

**All that a worker tells of its machine is a claim**, and nothing here proves it: its name, its
owner, its processor, its cores and memory, its speed, when it ends, how long a task ran. Only its
pool it cannot choose: a [token of a pool](api.md) speaks for machines of that pool, and for no host
and no lease of another. So `Host.Pool`, and with it `Pool.…`, `Host.Reliable` and
`Host.PricePerHour`, are what the server knows; what it has counted itself (`Host.ErrorRate`,
`Host.MeanTurnaround`, `Host.JobsToday`, `Host.Succeeded`, `Host.Failed`, `Host.Expired`,
`Host.Lost`, `Host.Preempted`, `Host.Running`) is of that host, by the key it first came with. Where
it matters whose machines get a task, ask for the pool, not for the owner:
`Host.Pool == "adas" && Host.Owner == "ada"`. [More about it](../discussions/policies.md).

## Functions

{functions}

## Limits

An expression has at most {characters:,} characters, {tokens:,} words and signs, and is {nested}
deep. Records, `eval`, and functions that look at a clock, at chance or at the machine are refused;
`Now`, `HourOfDay` and `Lottery` are given by the scheduler. The pattern of `regexp` is one text in
quotes, of at most {pattern} characters and {repeated} repetitions (behind a `^` one more), none of
them of a group. A text of more than {text} characters is UNDEFINED to a policy.
"""


def page() -> str:
    return HEAD.format(
        words=_words(),
        attributes=attributes_as_markdown(),
        functions=functions_as_markdown(),
        of_tasks=" and ".join(
            (", ".join(f"`{name}`" for name in OF_TASKS[:-1]), f"`{OF_TASKS[-1]}`")
        ),
        groups=MOST_GROUPS,
        characters=tokens.MOST_CHARACTERS,
        tokens=tokens.MOST_TOKENS,
        nested=tokens.MOST_NESTED,
        pattern=patterns.MOST_CHARACTERS,
        repeated=patterns.MOST_OPEN,
        text=ads.MOST_TEXT,
    )


def _words() -> str:
    rows = [_row(word) for word in (*WORDS, *HOST_WORDS)]
    return "\n".join(["| policy | gives | says | may look at |", "|---|---|---|---|", *rows])


def _row(word: Word) -> str:
    scopes = ", ".join(f"`{scope}`" for scope in word.scopes if scope)
    return f"| `{word.name}` | {word.kind.value} | {word.about} | {scopes} |"


if __name__ == "__main__":
    PAGE.write_text(page())
