"""Files that travel: from who submits to machines that share nothing with him, and back."""

from __future__ import annotations

import hashlib
import io
import json
import os
import signal
import socket
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import ask
from tests.real.served import KEY, Server, serving, wait_for, worker

from tailrace.bag.bagfile import load_bag_file
from tailrace.cli.servers.packing import pack
from tailrace.errors import BadInput
from tailrace.worker.blobs import CHUNK, describe
from tailrace.worker.depot import KEY_HEADER
from tailrace.worker.joining import Join

BAG = """
command = "./double.py {x}"
[inputs]
"double.py" = "double.py"
"data" = "data"
[outputs]
"out.bin" = "results/{x}.bin"
"note" = {target = "notes/{x}", required = false}
[parameters]
x = [1, 2, 3]
"""
DOUBLE = """#!/usr/bin/env python3
import sys
big = open("data/deep/big.bin", "rb").read()
open("out.bin", "wb").write(big + open("data/name").read().encode() + sys.argv[1].encode())
if sys.argv[1] == "2":
    open("note", "w").write("two")
"""


def own(folder: Path, server: Server) -> Path:
    """A user's folder, with a bag and its files."""
    (folder / "data/deep").mkdir(parents=True)
    (folder / "data/deep/big.bin").write_bytes(os.urandom(3 * CHUNK + 17))
    (folder / "data/name").write_text("ada")
    (folder / "double.py").write_text(DOUBLE)
    (folder / "double.py").chmod(0o755)
    (folder / "bag.toml").write_text(BAG)
    join = folder / "ada.join"
    assert ask(server.folder, "tokens", "add", "ada", "--user", "--write", str(join)).code == 0
    return join


def told_by(folder: Path, join: str, *words: str) -> str:
    done = ask(folder, *words, TAILRACE_SERVER=join)
    assert done.code == 0, done
    return done.out


def test_files_travel_there_and_back_and_only_what_is_missing(tmp_path: Path) -> None:
    away = tmp_path / "away"
    with serving(tmp_path) as server:
        join, lab = str(own(away, server)), server.token("lab", "pool")
        with worker(tmp_path / "w", TAILRACE_JOIN=lab.text()):

            def ada(*words: str) -> str:
                return told_by(away, join, *words)

            told = ada("submit")
            assert "3 files, 3 MiB; sent 3 MiB" in told and "tailrace fetch 1" in told
            ada("watch", "-q")
            assert "4 outputs of bag 1" in ada("fetch", "--to", "back")
            big = (away / "data/deep/big.bin").read_bytes()
            for x in ("1", "2", "3"):
                assert (away / f"back/results/{x}.bin").read_bytes() == big + b"ada" + x.encode()
            assert (away / "back/notes/2").read_text() == "two"
            there = tmp_path / ".tailrace/outputs/1/results/3.bin"
            assert there.read_bytes() == big + b"ada3"
            assert "0 fetched, 4 here already" in ada("fetch", "1", "--to", "back")
            (away / "back/results/1.bin").write_bytes(b"old")
            assert "1 fetched, 3 here already" in ada("fetch", "1", "--to", "back")
            assert "sent 0 B" in ada("submit")
            (away / "data/deep/big.bin").write_bytes(big[:CHUNK] + b"!" + big[CHUNK + 1 :])
            changed = ask(away, "submit", TAILRACE_SERVER=join)
            assert changed.code == 2 and "data has changed since bag 2 ran" in changed.err
            assert "sent 0 B" in ada("submit", "--again")  # by then it was there
            ada("watch", "-q", "3")
            ada("fetch", "3")
            assert (away / "results/1.bin").read_bytes()[CHUNK : CHUNK + 1] == b"!"
            bob = server.token("bob", "user")
            outputs = server.ask(server.token("r", "admin"), "GET", "/api/v1/bags/3/results")[1]
            name = outputs[0]["result"]["outputs"][0]["hash"]
            assert server.ask(bob, "GET", f"/api/v1/blobs/{name}?bag=3")[0] == 404
            assert server.ask(bob, "GET", f"/api/v1/blobs/{name}")[0] == 404
            assert server.ask(lab, "GET", f"/api/v1/blobs/{name}")[0] == 403
        scratch = tmp_path / "w/files/scratch"
        wait_for(lambda: not scratch.exists() or not any(scratch.iterdir()))
        assert len([p for p in (tmp_path / "w/files/cache").iterdir() if "-" in p.name]) == 4
    assert "blobs removed" in ask(tmp_path, "gc", "--keep", "0s").out


def test_below_a_folder_that_the_pool_shares_files_are_passed_by_name(tmp_path: Path) -> None:
    away = tmp_path / "away"
    (tmp_path / "pools.toml").write_text(f'[pools.near]\ncores = 1\nshared = ["{away}"]\n')
    with serving(tmp_path, "--local") as server:
        join = str(own(away, server))
        mode = 'oct(__import__("os").stat("data/name").st_mode)[-3:]'
        (away / "double.py").write_text(
            DOUBLE.replace("argv[1].encode()", f"argv[1].encode() + {mode}.encode()")
        )
        (away / "data/name").chmod(0o640)  # what travels keeps of its mode only whether it runs
        told = told_by(away, join, "run", "--server", join)
        assert "took along: 3 files" in told and "4 outputs of bag 1" in told
        assert (away / "results/3.bin").read_bytes().endswith(b"ada3440")
        assert "--cores" in ask(away, "run", "--server", join, "-j", "1").err
    (tmp_path / "pools.toml").write_text('[pools.near]\nshared = ["home"]\n')
    wrong = ask(tmp_path, "pools")
    assert wrong.code == 2 and "pools.toml:2" in wrong.err and "whole paths" in wrong.err


def test_who_owns_the_server_finds_outputs_at_their_targets(tmp_path: Path) -> None:
    away = tmp_path / "away"
    with serving(tmp_path, "--local", "-j", "1") as server:
        own(away, server)
        assert ask(away, "submit", "-q").out == "1\n"
        assert ask(away, "watch", "-q").code == 0
        wait_for(lambda: (away / "results/3.bin").exists())
        assert (away / "notes/2").read_text() == "two"


def test_a_worker_killed_in_the_middle_of_a_download_goes_on_in_the_next(tmp_path: Path) -> None:
    """The folder of the first is taken over by a second: what was whole is not fetched again."""
    away = tmp_path / "away"
    with serving(tmp_path) as server:
        join, lab = str(own(away, server)), server.token("lab", "pool")
        (away / "data/deep/big.bin").write_bytes(os.urandom(48 * CHUNK))
        (away / "double.py").write_text(DOUBLE.replace("(big +", "(big[-9:] +"))
        told_by(away, join, "submit", "-q")
        parts = tmp_path / "w/files/cache"
        with worker(tmp_path / "w", TAILRACE_JOIN=lab.text()) as first:
            wait_for(lambda: parts.exists() and any("-" in p.name for p in parts.iterdir()))
            first.send_signal(signal.SIGKILL)
            first.wait(60)
        with worker(tmp_path / "w", TAILRACE_JOIN=lab.text()):
            told_by(away, join, "watch", "-q")
        told_by(away, join, "fetch")
    assert (away / "results/2.bin").read_bytes().endswith(b"ada2")


def blob(data: bytes) -> str:
    return f"/api/v1/blobs/{hashlib.sha256(data).hexdigest()}"


def raw(server: Server, who: Join, method: str, path: str, data: bytes = b"") -> int:
    from tailrace.worker.pinned import connect

    link = connect(who.url, who.fingerprint, 60)
    head = {"Authorization": f"Bearer {who.token}", KEY_HEADER: KEY}
    link.request(method, path, data, head)
    status: int = link.getresponse().status
    link.close()
    return status


def test_what_is_wrong_is_refused_and_what_is_anothers_is_not_there(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        ada, bob = server.token("ada", "user"), server.token("bob", "user")
        lab = server.token("lab", "pool")
        assert raw(server, ada, "PUT", blob(b"mine"), b"mine") == 200
        assert raw(server, ada, "HEAD", blob(b"mine")) == 200
        assert raw(server, bob, "GET", blob(b"mine")) == 404
        assert raw(server, bob, "HEAD", blob(b"mine")) == 404
        for who in (lab, lab._replace(token="x")):
            assert raw(server, who, "PUT", blob(b"y"), b"y") in (401, 403)
        assert raw(server, lab, "PUT", blob(b"y") + "?attempt=1", b"y") == 404
        assert raw(server, ada, "PUT", blob(b"truth"), b"lie") == 400
        assert raw(server, ada, "PUT", blob(bytes(CHUNK + 1)), bytes(CHUNK + 1)) == 413
        for path in ("../x", "x", "A" * 64, "%2e%2e", "0" * 63):
            assert raw(server, ada, "PUT", f"/api/v1/blobs/{path}", b"y") in (404, 405)
        asked = {"hashes": [blob(b"mine")[-64:], blob(b"other")[-64:]]}
        missing = "/api/v1/blobs/missing"
        assert server.ask(ada, "POST", missing, asked) == (200, asked["hashes"][1:])
        assert server.ask(bob, "POST", missing, asked) == (200, asked["hashes"])
        assert server.ask(ada, "POST", missing, {"hashes": ["../x"]})[0] == 400
        assert server.ask(ada, "POST", "/api/v1/gc", {"keep_s": 0})[0] == 403
        cut_short(server, ada, b"half of it")
        wait_for(lambda: raw(server, ada, "HEAD", blob(b"mine")) == 200)
        assert raw(server, ada, "HEAD", blob(b"half of it")) == 404


def cut_short(server: Server, who: Join, data: bytes) -> None:
    """An upload whose sender goes away in the middle."""
    host, port = who.url.rpartition("/")[2].split(":")
    with socket.create_connection((host, int(port))) as link:
        head = f"PUT {blob(data)} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {who.token}\r\n"
        link.sendall(f"{head}Content-Length: {len(data)}\r\n\r\n".encode() + data[:4])


def test_a_worker_that_lies_about_its_outputs_is_not_believed(tmp_path: Path) -> None:
    away = tmp_path / "away"
    with serving(tmp_path) as server:
        join, lab = str(own(away, server)), server.token("lab", "pool")
        den, root = server.token("den", "pool"), server.token("root", "admin")
        told_by(away, join, "submit", "-q")
        told = describe(io.BytesIO(b"result"))
        output = {"name": "out.bin", "size": 6, "hash": told.file.hash}
        liar = Worker(server, lab)
        order = liar.work([])["start"][0]
        attempt = order["attempt"]
        inputs = {item["name"]: item for item in order["inputs"]}
        small = inputs["double.py"]
        assert small["executable"] and set(inputs) == {
            "double.py", "data/name", "data/deep/big.bin"}  # fmt: skip
        path = f"/api/v1/blobs/{small['hash']}?attempt="
        assert raw(server, lab, "GET", f"{path}{attempt}") == 200
        assert raw(server, lab, "GET", f"{path}{attempt + 100}") == 404
        assert raw(server, den, "GET", f"{path}{attempt}") == 404
        other = blob(b"something") + f"?attempt={attempt}"
        assert raw(server, lab, "GET", other) == 404
        liar.work([{"attempt": attempt, "outcome": "succeeded", "outputs": [output]}])
        bag = "/api/v1/bags/1"
        tried = server.ask(root, "GET", f"{bag}/tasks/{order['index']}")[1]["attempts"][0]
        assert tried["outcome"] == "host_failed" and "did not bring" in json.dumps(tried)
        honest = Worker(server, lab, "honest")
        order = honest.work([])["start"][0]
        attempt = order["attempt"]
        put = f"{blob(b'result')}?attempt={attempt}"
        assert raw(server, den, "PUT", put, b"result") == 404
        honest.work([{"attempt": attempt, "outcome": "succeeded", "outputs": []}])
        late = server.ask(root, "GET", f"{bag}/tasks/{order['index']}")[1]["attempts"][-1]
        assert "no output out.bin" in json.dumps(late)
        third = Worker(server, lab, "third")
        order = third.work([])["start"][0]
        put = f"{blob(b'result')}?attempt={order['attempt']}"
        assert raw(server, lab, "PUT", put, b"result") == 200
        good = {"attempt": order["attempt"], "outcome": "succeeded", "outputs": [output]}
        third.work([good])
        third.work([good])  # its acknowledgement was lost
        target = tmp_path / f".tailrace/outputs/1/results/{order['index'] + 1}.bin"
        wait_for(target.exists)
        assert target.read_bytes() == b"result"
        assert server.ask(root, "GET", bag)[1]["succeeded"] == 1


class Worker:
    """One that says what the test wants it to say."""

    def __init__(self, server: Server, join: Join, host: str = "liar") -> None:
        self._server, self._join, self._host, self._seq = server, join, host, 0
        self._held: list[int] = []

    def work(self, results: list[dict[str, Any]]) -> Any:
        self._seq += 1
        call = {
            "protocol": 2, "key": KEY, "host": self._host, "session": 1,
            "seq": self._seq, "pool": "", "kind": "k", "held": self._held,
            "capacity": {"cores": 1000} if not results else {}, "results": results,
            "wait_s": 0 if results else 20,
        }  # fmt: skip
        status, told = self._server.ask(self._join, "POST", "/api/v1/work", call)
        assert status == 200, told
        return told


def test_an_input_that_vanished_or_is_no_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "in").write_text("x")
    bag = tmp_path / "bag.toml"
    bag.write_text('command = "cat in"\ninputs = ["in"]\n')
    loaded = load_bag_file(bag)
    assert list(pack(loaded).catalogue) == [str(tmp_path / "in")]
    (tmp_path / "in").unlink()
    with pytest.raises(BadInput, match=r"in cannot be read: No such file"):
        pack(loaded)
    os.mkfifo(tmp_path / "in")
    with pytest.raises(BadInput, match="neither a file nor a folder"):
        pack(loaded)
    (tmp_path / "in").unlink()
    (tmp_path / "in").mkdir()
    (tmp_path / "in/loop").symlink_to("..")
    (tmp_path / "in/link").symlink_to("../bag.toml")
    with pytest.raises(BadInput, match="leads back into itself"):
        pack(loaded)
    (tmp_path / "in/loop").unlink()
    (entry,) = pack(loaded).catalogue[str(tmp_path / "in")]
    assert (entry.name, entry.size) == ("link", bag.stat().st_size)


def test_a_large_sweep_is_packed_by_the_files_it_names_not_by_its_tasks(tmp_path: Path) -> None:
    for case in "ab":
        (tmp_path / case).write_text(case)
    bag = tmp_path / "bag.toml"
    bag.write_text(
        'command = "cat {case} {n} {m}"\ninputs = ["{case}"]\n[parameters]\n'
        'n = {from = 1, to = 100000}\ncase = ["a", "b"]\nm = {from = 1, to = 1000}\n'
    )
    assert len(pack(load_bag_file(bag)).catalogue) == 2
