"""`tailrace init`: a commented bag file to begin with."""

from __future__ import annotations

import json
import re

from tailrace.bag.template import BUILT_IN, Template
from tailrace.errors import BadInput

_HEAD = """\
# A bag of tasks for tailrace. Check it with: tailrace check FILE   Run it with: tailrace run FILE
# Lines that begin with #key are options with an example; remove the # to use one.

# What the bag is called in lists and reports.
name = {name}

# The command of each task. A text runs in a shell; ["a", "list", "of words"] without one.
# {{alpha}} is a parameter, {{alpha:.3f}} one with a format, {{index}} the task's number from 0,
# {{bag}} the name above. Values are quoted for the shell. Literal braces are doubled:
# awk '{{{{print $1}}}}'.
command = {command}
"""

_OPTIONS = """
# Order of sending: "listed", "shuffled" (with a seed), a parameter's name, or "-name" to descend.
#order = "shuffled"
#seed = 1

# Each combination so often; {repeat} counts from 1.
#repeat = 3

# Once, when all tasks have their result; $TAILRACE_FAILED tells how many failed.
#then = "python3 collect.py"

# Variables whose values tasks find as your shell has them now; kept sealed, and masked in output.
#secrets = ["API_KEY"]

# Money and time for the whole bag; a budget needs its unit.
#budget = "20 USD"
#deadline = "8h"

# An attempt that has not answered by then is given up; failed tasks that pause the bag.
#timeout = "2h"
#max_failures = 50

# So many tasks at a time, and no more: of a program with few licences, or on one database.
#max_running = 20

# The value of a task: by default the JSON it writes to $TAILRACE_RESULT, or its last line of output
# if that is a JSON object. Or what a regular expression finds in its output.
#result = 'accuracy: ([0-9.]+)'

# "here": tasks run in this folder. "staged": each in an empty folder, with inputs laid there and
# outputs published from there. Declaring inputs or outputs means "staged".
#files = "staged"
#inputs = []
#outputs = {"out.csv" = "results/{index}.csv"}

# May two attempts of one task run at once? Only if they do not write to the same files.
#repeatable = true

# Where its tasks may run: names, "node0*" for all that begin so, "!spot" for all but one.
#pools = ["local"]
#hosts = ["node0*"]

# Beside other bags: one of a higher priority is served first; else by weight. And how many tasks of
# the bag one host takes, and attempts of a task at once.
#priority = 5
#weight = 2
#tasks_per_host = 4
#max_attempts = 1

# Who gets the next task; when a task that is out gets another attempt on an idle machine; tasks
# matched only every so often.
#matching = "fcfs"
#replication = {strategy = "wqr", most = 2}
#round = "10s"

# How much of stdout and of stderr is kept, and the time between TERM and KILL.
#keep_output = "64 KiB"
#grace = "5s"

# May parameters stand in no command? Each task finds them in $TAILRACE_PARAM_name anyway.
#unused = "ok"

# When a task exceeds a limit, the next attempt gets more.
#on_over_limit = {memory = "x2 up to 16 GiB"}
"""

_PARAMETERS = """
# Parameters are crossed: every combination is a task; the last one listed turns fastest.
#   alpha = [0.1, 0.2, 0.5]                                   these values
#   seed = {from = 1, to = 100}                               whole numbers, both ends included
#   beta = {from = 0, to = 1, step = 0.1}                     0, 0.1, ... 1
#   rate = {from = 0.001, to = 1, count = 4, scale = "log"}   0.001, 0.01, 0.1, 1
# Before this table: zip = [["alpha", "beta"]] puts parameters side by side; csv = "cases.csv" makes
# each column a parameter and each row a combination.
[parameters]
"""

_TABLES = """
# What one task takes of a machine: cores (1 unless given), memory, disk, gpus, names of your own.
#[needs]
#cores = 1
#memory = "1 GiB"

# A task that exceeds a limit is ended.
#[limits]
#time = "30m"
#memory = "2 GiB"
#disk = "10 GiB"

# How often each outcome is forgiven; a machine taken away never counts.
#[retries]
#task_failed = 1
#over_limit = 0
#host_failed = 5
#lost = 5
#expired = 3

# Once on each machine, before its first task.
#[setup]
#modules = ["gcc/12"]
#requirements = ["numpy"]
#script = "export MODEL=small"

# What plain words do not say, as ClassAds; and how few tasks wait when the tail begins.
#[policy]
#JobRequirements = '!Tail || Host.ErrorRate < 0.1'
#tail_below = 100
#tail_stays = true
#losers = "end"

# Variables for the tasks; values may hold placeholders.
#[env]
#OMP_NUM_THREADS = "1"
"""


_REDIRECTED = re.compile(r"\d?[<>]+&?\s*[^\s;|&]+")  # with the file's name
_ASSIGNED = re.compile(r"\w+=")
_SCRIPT = re.compile(r"[^\W\d][\w-]*\.[^\W\d]")  # a number has a point, too


def write_bag_file(command: str) -> str:
    """A bag file for a command, its placeholders found as parameters."""
    if not command.strip():
        raise BadInput(
            "there is no command", remedy="tailrace init 'python model.py --alpha {alpha}'"
        )
    fields = Template(command, shell=True).fields
    names = dict.fromkeys(field.name for field in fields if field.name not in BUILT_IN)
    head = _HEAD.format(name=_text(name_for(command)), command=_text(command))
    parameters = [f"{_key(name)} = [1, 2, 3]  # your values" for name in names]
    return (
        head
        + _OPTIONS
        + _PARAMETERS
        + "\n".join(parameters)
        + ("\n" if parameters else "")
        + _TABLES
    )


def name_for(command: str) -> str:
    """The program's name, or that of the script it runs."""
    words = [
        word.strip("'\";()").rpartition("/")[2]
        for word in _REDIRECTED.sub(" ", command).split()
        if not word.startswith("-") and "{" not in word and not _ASSIGNED.match(word)
    ]
    words = [word for word in words if not word.startswith("$")]
    scripts = [word for word in words if _SCRIPT.match(word)]
    return (scripts or words or ["bag"])[0].partition(".")[0] or "bag"


def _text(text: str) -> str:
    """As TOML, in single quotes where that is enough."""
    if "'" not in text and text.isprintable():
        return f"'{text}'" if '"' in text or "\\" in text else f'"{text}"'
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007F")


def _key(name: str) -> str:
    return name if name.replace("_", "").isalnum() and name.isascii() else json.dumps(name)
