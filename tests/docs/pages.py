"""A page of the documentation as a script: its files are written and its commands run, in order.

A fenced `console` block holds commands behind `$ ` (continued behind `> `) and what they print.
Any other block is a file when its first line is `# file: NAME`, or its fence says `title="NAME"`.
In what is printed, `…` stands for anything within a line, and a line of `…` for any lines.

    python -m tests.docs.pages docs/quickstart.md            compare
    python -m tests.docs.pages --show docs/quickstart.md     print what each command printed
    python -m tests.docs.pages --fill docs/quickstart.md     write it where the page shows nothing
"""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PATIENCE_S = 300
_MARK = "\x01tailrace-docs\x01"
_FENCE = re.compile(
    r"^(?P<indent> *)```(?P<info>[^\n`]*)\n(?P<body>.*?)^(?P=indent)```$", re.M | re.S
)
_TITLE = re.compile(r'title="([^"]+)"')
_NAMED = re.compile(r"(?:#|//) file: (\S+)")


class File(NamedTuple):
    name: str
    text: str
    line: int


class Command(NamedTuple):
    text: str
    expected: list[str]
    line: int


class Ran(NamedTuple):
    command: Command
    printed: list[str]


def pages() -> list[Path]:
    found = [ROOT / "README.md", *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.md")]
    return sorted(path for path in found if ".tailrace" not in path.parts)


def steps(path: Path) -> list[File | Command]:
    text, found = path.read_text(), list[File | Command]()
    for block in _FENCE.finditer(text):
        line = text.count("\n", 0, block.start()) + 2
        indent, info, body = block["indent"], block["info"].strip(), block["body"]
        lines = [row.removeprefix(indent) for row in body.splitlines()]
        name = _name(info, lines)
        if name:
            found.append(File(name, "\n".join(lines) + "\n", line))
        elif info.split(" ")[0] == "console" and "not-run" not in info:
            found += _commands(lines, line)
    return found


def _name(info: str, lines: list[str]) -> str | None:
    named = _TITLE.search(info) or _NAMED.match(lines[0] if lines else "")
    return named[1] if named else None


def _commands(lines: list[str], first: int) -> list[Command]:
    found: list[Command] = []
    for number, text in enumerate(lines, first):
        if text.startswith("$ "):
            found.append(Command(text[2:], [], number))
        elif text.startswith("> ") and found and not found[-1].expected:
            found[-1] = Command(f"{found[-1].text}\n{text[2:]}", [], found[-1].line)
        elif found:
            found[-1].expected.append(text)
    return found


def run(path: Path) -> list[Ran]:
    """In an empty folder, as one shell session."""
    todo = steps(path)
    commands = [step for step in todo if isinstance(step, Command)]
    if not commands:
        return []
    with tempfile.TemporaryDirectory(prefix="tailrace-docs-") as place:
        folder = Path(place) / "work"
        folder.mkdir()
        script = Path(place) / "script"
        script.write_text("\n".join(_script(step) for step in todo))
        printed = _printed(script, folder)
    if len(printed) != len(commands):
        raise AssertionError(f"{path}: the script broke off after\n" + "\n".join(printed[-1:]))
    return [Ran(c, _lines(p)) for c, p in zip(commands, printed, strict=True)]


def _script(step: File | Command) -> str:
    if isinstance(step, File):
        name = shlex.quote(step.name)
        return f'mkdir -p "$(dirname {name})"; printf %s {shlex.quote(step.text)} > {name}'
    # The exit code stays visible to the next command.
    return f"{step.text}\n__c=$?; printf '%s' '{_MARK}'; (exit $__c)"


def _printed(script: Path, folder: Path) -> list[str]:
    with open(script.with_name("printed"), "w+b") as out:
        shell = subprocess.Popen(
            ["bash", str(script)],
            cwd=folder,
            env=_environment(script.parent),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            shell.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            os.killpg(shell.pid, signal.SIGKILL)
            shell.wait()
        out.seek(0)
        return out.read().decode("utf-8", "replace").split(_MARK)[:-1]


def _environment(home: Path) -> dict[str, str]:
    """Nothing of the developer's own settings."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("TAILRACE_", "XDG_"))}
    path = f"{Path(sys.executable).parent}:{kept.get('PATH', '')}"
    fonts = str(
        ROOT / ".pytest_cache" / "fonts"
    )  # Matplotlib's list of them takes a second to make
    own = {"PATH": path, "HOME": str(home), "MPLCONFIGDIR": fonts, "LC_ALL": "C.UTF-8"}
    return {**kept, **own}


def _lines(printed: str) -> list[str]:
    lines = [line.rstrip() for line in printed.splitlines()]
    while lines and not lines[-1]:
        lines.pop()
    return lines


def agrees(expected: list[str], printed: list[str]) -> bool:
    pattern = "".join(_pattern(line.rstrip()) for line in expected)
    told = [line for line in printed if not _HOW_FAR.fullmatch(line)]
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in told)) is not None


def _pattern(line: str) -> str:
    if line.strip() == "…":
        return r"(?:[^\n]*\n)*?"
    # Runs of blanks differ with the width of what varies beside them.
    parts = [r" +".join(map(re.escape, re.split(" {2,}", part))) for part in line.split("…")]
    return r"[^\n]*".join(parts) + r"\n"


def disagreement(path: Path, ran: Ran) -> str:
    where = f"{path}:{ran.command.line}: $ {ran.command.text}"
    said = "\n".join(f"  | {line}" for line in ran.command.expected)
    did = "\n".join(f"  | {line}" for line in ran.printed)
    return f"{where}\nthe page says\n{said}\nit printed\n{did}"


# What a run tells now and then: on a busy machine there is time for one.
_HOW_FAR = re.compile(r"tailrace: .*: [\d,]+ of [\d,]+ done, .* left( \(.*\))?")
_VARIES = (
    (r"/tmp/tailrace-docs-\w+/work", "…"),
    (r"\b\d{4}-\d\d-\d\d \d\d:\d\d:\d\d( [+-]\d{4})?", "…"),
    (r"\b\d+(\.\d+)? (ms|s|min|MiB|GiB)\b", "…"),
    (rf"\b{re.escape(os.uname().nodename)}-[0-9a-f]{{8}}\b", "…"),
    (r"127\.0\.0\.1:\d+", "127.0.0.1:…"),
    (r"process \d+", "process …"),
)


def fill(path: Path) -> None:
    """Under commands that show nothing, what they printed, with what varies as `…`."""
    rows = path.read_text().split("\n")
    for ran in reversed(run(path)):
        if not ran.command.expected:
            at = ran.command.line + ran.command.text.count("\n")
            rows[at:at] = [_steady(line) for line in ran.printed]
    path.write_text("\n".join(rows))


def _steady(line: str) -> str:
    for pattern, instead in _VARIES:
        line = re.sub(pattern, instead, line)
    return line


def main(arguments: list[str]) -> int:
    show = "--show" in arguments
    wrong = 0
    for path in (Path(word).resolve() for word in arguments if not word.startswith("--")):
        if "--fill" in arguments:
            fill(path)
            continue
        for ran in run(path):
            if show:
                print(f"$ {ran.command.text}", *ran.printed, sep="\n")
            elif not agrees(ran.command.expected, ran.printed):
                print(disagreement(path, ran), end="\n\n")
                wrong += 1
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
