"""The words that engines are given, of those that cannot be run everywhere, too."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tailrace.bag import setup
from tailrace.worker import engines
from tailrace.worker.container import handed
from tailrace.worker.engines import Box, CannotGive, Inside
from tailrace.worker.image import Fetching, NotHad

from .conftest import Worker
from .scripted_desk import ScriptedDesk

GIVEN = {"COLOUR": "blue", "PATH": "/opt/bin", "WORD": "hush"}
BOX = Box("one", "me", "/work/a,b", ["/ring"], GIVEN, ["sh", "-c", "true"])


def test_a_bag_names_the_engines_and_files_that_a_worker_knows() -> None:
    """Neither may know of the other, so each has a list of its own."""
    assert setup.ENGINES == engines.KINDS
    endings = [*setup.FILES, ".img", ""]
    assert [end for end in endings if engines.is_file(f"image{end}")] == list(setup.FILES)
    assert set(setup.FILES) == {".sif", *engines.ARCHIVES}


def test_values_are_in_the_environment_unless_they_would_change_the_engine() -> None:
    for kind in ("podman", "docker"):
        inside = Inside(kind, f"/bin/{kind}", "sha256:1", ["/data"])
        words = engines.run(inside, BOX, [7])
        assert [words[at + 1] for at, word in enumerate(words) if word == "--env"] == [
            "COLOUR", "WORD",
        ]  # fmt: skip
        assert words[words.index("--env-file") + 1] == "/proc/self/fd/7"
        assert engines.withheld(inside, BOX) == b"PATH=/opt/bin\n"
        env = engines.environment(inside, BOX, {"PATH": "/usr/bin"})
        assert env == {"COLOUR": "blue", "PATH": "/usr/bin", "WORD": "hush"}
        assert words[-5:] == ["--entrypoint", "sh", "sha256:1", "-c", "true"]
        assert '"source=/work/a,b"' in " ".join(words)
        assert "type=bind,source=/data,target=/data" in words


@pytest.mark.parametrize("kind", engines.KINDS)
@pytest.mark.parametrize(
    "name",
    ["WORD", "GOOGLE_API_KEY", "GODEBUG", "PATH", "HOME", "REGISTRY_KEY", "DOCKER_KEY", "XDG_KEY",
     "STORAGE_KEY", "CONTAINER_KEY", "PODMAN_KEY", "LD_KEY", "TMPDIR"],
)  # fmt: skip
def test_no_value_is_on_a_command_line(kind: str, name: str) -> None:
    """Everybody on the machine may read it there."""
    inside, box = Inside(kind, kind, "image"), BOX._replace(given={name: "open sesame"})
    assert "sesame" not in " ".join(engines.run(inside, box, [7]))
    env, lines = engines.environment(inside, box, {}), engines.withheld(inside, box)
    assert ("open sesame" in env.values()) != (lines == f"{name}=open sesame\n".encode())


def test_only_names_that_programs_in_go_heed_are_kept_from_them() -> None:
    assert not engines.is_engines("GOOGLE_API_KEY") and not engines.is_engines("GOAL")
    assert engines.is_engines("GODEBUG") and engines.is_engines("GOMAXPROCS")


@pytest.mark.parametrize(
    ("value", "why"),
    [("a\nb", "more than one line"), ("a\r", "more than one line"), ("x" * 70_000, "60,000 bytes"),
     ("\udcff", "not UTF-8")],
)  # fmt: skip
def test_a_value_that_no_file_can_hand_over_is_refused_by_name(value: str, why: str) -> None:
    box = BOX._replace(given={"STORAGE_KEY": value})
    with pytest.raises(CannotGive, match=f"the variable STORAGE_KEY .*{why}.*another name") as told:
        engines.withheld(Inside("podman", "podman", "image"), box)
    assert value not in str(told.value)
    assert engines.withheld(Inside("apptainer", "apptainer", "image"), box) == b""


def test_what_is_withheld_reaches_whoever_inherits_the_file_and_no_other() -> None:
    with handed(b"PATH=/opt/bin\n") as told:
        reads = ["cat", *(f"/proc/self/fd/{fd}" for fd in told)]
        assert subprocess.check_output(reads, pass_fds=told) == b"PATH=/opt/bin\n"
        assert subprocess.run(reads, stderr=subprocess.DEVNULL, check=False).returncode == 1
    with handed(b"") as nothing:
        assert nothing == ()


def test_apptainer_is_given_everything_by_its_own_names() -> None:
    for kind in ("apptainer", "singularity"):
        inside = Inside(kind, kind, "/images/x.sif")
        assert engines.run(inside, BOX) == [
            kind, "exec", "--cleanenv", "--pid", "--pwd", "/work/a,b", "--bind", "/work/a,b",
            "--bind", "/ring", "/images/x.sif", "sh", "-c", "true",
        ]  # fmt: skip
        env = engines.environment(inside, BOX, {"PATH": "/usr/bin"})
        assert env["PATH"] == "/usr/bin" and env[f"{kind.upper()}ENV_WORD"] == "hush"
        assert engines.remove(inside, ["one"]) == [] == engines.listed(inside, "me")
        name = inside._replace(image="python:3.12")
        assert engines.fetch(name, "/kept") == [
            kind, "pull", "/kept/image.sif", "docker://python:3.12",
        ]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "code", "answer", "words", "never"),
    [
        ("podman", 125, "0001-01-01 00:00:00 +0000 UTC", "Error: no", 125),
        ("podman", 126, "0001-01-01 00:00:00 +0000 UTC", "Error: runtime: permission denied", 125),
        ("podman", 126, "0001-01-01", 'Error: runc: exec: "x": permission denied: OCI', 126),
        ("podman", 126, "0001-01-01", 'Error: runc: exec: "runc": permission denied: OCI', 125),
        ("podman", 126, "0001-01-01", "Error: crun: open executable: Permission denied", 126),
        ("podman", 126, "2026-11-16 19:31:51.3 +0000 UTC", "Error: permission denied", 0),
        ("podman", 127, "0001-01-01", "Error: crun: libyajl.so.2: No such file or directory", 125),
        ("podman", 127, "0001-01-01", "Error: crun: executable file `x` not found in $PATH", 127),
        ("podman", 125, "", "Error: no", 125),
        ("podman", 125, "2026-11-16 19:31:51.3 +0000 UTC", "mine", 0),
        ("docker", 127, "0001-01-01T00:00:00Z", 'exec: "x": executable file not found', 127),
        ("docker", 127, "0001-01-01T00:00:00Z", "log.json: no such file or directory", 125),
        ("docker", 1, "", "", 0),
        ("apptainer", 255, "", "FATAL:   could not open image", 125),
        ("apptainer", 255, "", 'FATAL:   "x": executable file not found in $PATH', 127),
        ("apptainer", 255, "", "mine", 0),
        ("apptainer", 125, "", "FATAL:   mine", 0),
    ],
)
def test_a_failure_is_the_engines_only_if_nothing_began(
    kind: str, code: int, answer: str, words: str, never: int
) -> None:
    assert engines.never_began(Inside(kind, kind, "image"), code, answer, words, "x") == never


@pytest.mark.parametrize(
    ("kind", "written", "words"),
    [
        ("podman", 'time="2026" level=error msg="x"\nError: OCI: on fire\n', "Error: OCI: on fire"),
        ("docker", "docker: Error: on fire\n: unknown\n\nRun 'docker run --help' for more\n",
         "docker: Error: on fire : unknown"),
        ("docker", "Error response from daemon: no such image\n",
         "Error response from daemon: no such image"),
        ("apptainer", "INFO:  x\nFATAL:   no image\n", "FATAL:   no image"),
        ("apptainer", "FATAL: mine\nthe last\n", "the last"),
        ("podman", "", ""),
    ],
)  # fmt: skip
def test_what_an_engine_said_is_told_in_one_line(kind: str, written: str, words: str) -> None:
    assert engines.said(Inside(kind, kind, "image"), written) == words


def test_the_next_engine_is_tried_and_all_are_told_of(tmp_path: Path) -> None:
    """Programs stand in for engines: one can do nothing, one all."""
    place, kept = tmp_path / "bin", tmp_path / "kept"
    place.mkdir()
    kept.mkdir()
    (kept / "log").touch()
    _write(place / "podman", 'echo "Error: no rights" >&2; exit 125')
    env = {"PATH": str(place)}
    with pytest.raises(NotHad, match=r"the image x cannot be used here: podman: Error: no rights"):
        Fetching({"image": "x"}, str(kept), env).inside()
    _write(place / "docker", 'case "$1" in image) echo sha256:9 ;; esac')
    found = Fetching({"image": "x", "mounts": ["/data"]}, str(kept), env).inside()
    assert found == Inside("docker", str(place / "docker"), "sha256:9", ["/data"])
    with pytest.raises(NotHad, match=r"needs singularity, which is not on this machine"):
        Fetching({"image": "x", "engine": "singularity"}, str(kept), env).inside()


def _write(path: Path, line: str) -> None:
    path.write_text(f"#!/bin/sh\n{line}\n")
    path.chmod(0o755)


def test_a_task_with_a_value_that_cannot_be_handed_over_is_not_started(
    desk: ScriptedDesk, worker: Worker
) -> None:
    inside = {"kind": "docker", "engine": "/bin/false", "image": "x", "mounts": []}
    desk.add({"attempt": 1, "shell": "true"}, inside=inside, env={"STORAGE_KEY": "one\ntwo"})
    (result,) = desk.wait_for(1)
    assert (result["outcome"], result["exit"]) == ("task_failed", None)
    assert "the variable STORAGE_KEY cannot be given" in result["error"]
    assert "two" not in result["error"]
