"""Blobs in the server's folder: durable, each once, held by those who put them, collected."""

from __future__ import annotations

import errno
import io
import os
import time
from pathlib import Path

import pytest

from tailrace.bag import catalogue
from tailrace.bag.spec import FileName
from tailrace.bag.task import Output
from tailrace.errors import BadInput
from tailrace.server.catalogues import Catalogues
from tailrace.server.files.arrivals import publish
from tailrace.server.files.blobs import Blobs, of_attempt, of_bag, of_user
from tailrace.server.files.collecting import collect
from tailrace.server.files.publishing import CannotPublish
from tailrace.server.protocol import OutputFile
from tailrace.worker.blobs import CHUNK, Broken, File, describe, digest

ADA, BOB = of_user("ada"), of_user("bob")
BIG = bytes(CHUNK) + b"\1" * CHUNK + b"rest"


def put(blobs: Blobs, holder: str, data: bytes) -> File:
    told = describe(io.BytesIO(data))
    for at, name in enumerate(told.chunks):
        blobs.put(holder, name, data[at * CHUNK : (at + 1) * CHUNK])
    for name, part in told.lists.items():
        blobs.put(holder, name, part)
    return told.file


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def test_a_blob_is_kept_once_and_read_by_its_holders_alone(tmp_path: Path) -> None:
    blobs = Blobs(tmp_path)
    name = digest(b"x")
    blobs.put(ADA, name, b"x")
    assert blobs.read(ADA, name) == b"x" and blobs.missing(BOB, [name]) == [name]
    with pytest.raises(FileNotFoundError):
        blobs.read(BOB, name)
    blobs.put(BOB, name, b"x")
    blobs.put(BOB, name, b"x")
    assert len({path.stat().st_ino for path in files(tmp_path)}) == 1


@pytest.mark.parametrize("data", [b"", b"tru", b"truth and more", b"lies!"])
def test_bytes_of_another_name_leave_nothing(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(Broken):
        Blobs(tmp_path).put(ADA, digest(b"truth"), data)
    with pytest.raises(Broken):
        Blobs(tmp_path).put(ADA, digest(bytes(CHUNK + 1)), bytes(CHUNK + 1))
    assert files(tmp_path) == []


def test_a_disk_that_is_full_leaves_nothing_half(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    blobs = Blobs(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space"):
            blobs.put(ADA, digest(b"x"), b"x")
    assert files(tmp_path) == []
    blobs.put(ADA, digest(b"x"), b"x")
    assert blobs.read(ADA, digest(b"x")) == b"x"


def handed_in(blobs: Blobs, entries: catalogue.Catalogue, giver: str = ADA) -> FileName:
    told = put(blobs, giver, catalogue.encode(entries))
    return FileName(told.hash, told.size)


def test_a_bag_takes_what_its_owner_has_put_and_nothing_else(tmp_path: Path) -> None:
    blobs = Blobs(tmp_path)
    file = put(blobs, ADA, BIG)
    entries = {"/in": [catalogue.Entry("", file.hash, file.size)]}
    Catalogues(blobs).take_in(1, handed_in(blobs, entries), ADA)
    assert blobs.lack(of_bag(1), file) == ""
    with pytest.raises(BadInput, match="never sent, or not by you"):
        Catalogues(blobs).take_in(2, handed_in(blobs, entries, BOB), BOB)
    wrong = {"/in": [catalogue.Entry("", file.hash, file.size - 1)]}
    with pytest.raises(BadInput, match="/in"):
        Catalogues(blobs).take_in(3, handed_in(blobs, wrong), ADA)
    assert blobs.lack(of_bag(3), file) != ""


@pytest.mark.parametrize(
    "name", ["../x", "/x", "a/../../x", "a//b", "./x", "x/", "a\0b", "n" * 256, "d/" * 3000 + "x"]
)
def test_a_name_that_leads_astray_is_refused(tmp_path: Path, name: str) -> None:
    blobs = Blobs(tmp_path)
    file = put(blobs, ADA, b"x")
    entries = {"/in": [catalogue.Entry(name, file.hash, file.size)]}
    with pytest.raises(BadInput, match="/in"):
        Catalogues(blobs).take_in(1, handed_in(blobs, entries), ADA)


@pytest.mark.parametrize("text", [b"", b"[]", b'{"a": 1}', b'{"a": [["", "../../etc", 1]]}'])
def test_a_catalogue_that_is_none_is_refused(tmp_path: Path, text: bytes) -> None:
    blobs = Blobs(tmp_path)
    told = put(blobs, ADA, text)
    with pytest.raises(BadInput):
        Catalogues(blobs).take_in(1, FileName(told.hash, told.size), ADA)
    with pytest.raises(BadInput):
        Catalogues(blobs).take_in(1, FileName("../../../etc/passwd", 5), ADA)


def test_outputs_are_published_whole_and_twice_does_no_harm(tmp_path: Path) -> None:
    blobs = Blobs(tmp_path / "blobs")
    file = put(blobs, of_attempt(7), BIG)
    arrived = [(Output("o", "a/b.bin"), OutputFile("o", size=file.size, hash=file.hash))]
    (tmp_path / "a").write_text("in the way")
    with pytest.raises(CannotPublish):
        publish(blobs, 7, 1, arrived, tmp_path)
    (tmp_path / "a").unlink()
    for _ in range(2):
        publish(blobs, 7, 1, arrived, tmp_path)
        assert (tmp_path / "a/b.bin").read_bytes() == BIG
    assert blobs.lack(of_bag(1), file) == "" and blobs.lack(of_attempt(7), file) != ""


def aged(folder: Path, days: float) -> None:
    then = time.time() - days * 86_400
    for path in [folder, *folder.rglob("*")]:
        os.utime(path, (then, then))


def test_what_nobody_holds_is_collected_and_nothing_else(tmp_path: Path) -> None:
    blobs = Blobs(tmp_path)
    of = {n: put(blobs, ADA, bytes([n]) * 2000) for n in range(4)}
    for bag in (1, 2):
        blobs.give(of[bag], ADA, of_bag(bag))
    blobs.give(of[3], ADA, of_bag(9))  # a bag that was never committed
    assert collect(blobs, [1], 3, 0).blobs == 0  # all is young
    assert blobs.lack(of_bag(1), of[1]) != "" and blobs.lack(of_bag(9), of[3]) == ""
    aged(tmp_path, 2)
    assert blobs.missing(ADA, [of[0].hash]) == []  # asked for: a bag is on its way
    found = collect(blobs, [1], 3, 86_400)
    assert (found.bags, found.blobs, found.bytes) == (1, 2, 4000)
    names = [file.hash for file in of.values()]
    assert len(blobs.missing(ADA, names)) == 3
    assert of[2].hash not in blobs.missing(of_bag(2), names)


def test_a_blob_put_while_it_is_collected_is_still_there(tmp_path: Path) -> None:
    blobs, name = Blobs(tmp_path), digest(b"x")
    blobs.put(ADA, name, b"x")
    (tmp_path / "all" / name[:2] / name[2:]).unlink()  # as a collection would, in that moment
    assert blobs.read(ADA, name) == b"x"
    blobs.put(BOB, name, b"x")
    assert blobs.read(BOB, name) == b"x"
