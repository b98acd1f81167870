"""A server behind nginx, set up as the docs page says."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.docs.pages import ROOT
from tests.real.certificates import Authority
from tests.real.served import serving, tailrace, wait_for, worker

from tailrace.server.people.secretfile import keep

NGINX = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
TASKS = 40_000  # with their parameters, more than the megabyte that nginx lets through by itself
AROUND = """\
{user}daemon off;
pid {folder}/pid;
error_log {folder}/error.log;
events {{}}
http {{
    access_log {folder}/access.log;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
{server}
}}
"""


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as sock:
        return int(sock.getsockname()[1])


def _shown() -> str:
    """The block of the page."""
    page = (ROOT / "docs/how-to/server.md").read_text()
    found = re.search(r"^```nginx\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert found is not None
    return found[1]


def _fitted(authority: Authority, port: int, upstream: str) -> str:
    """With places of this machine in place of the page's."""
    places = {
        r"listen 443 ssl": f"listen 127.0.0.1:{port} ssl",
        r"/etc/letsencrypt/\S+/fullchain.pem": str(authority.cert),
        r"/etc/letsencrypt/\S+/privkey.pem": str(authority.key),
        r"http://127.0.0.1:8600": upstream,
    }
    text = _shown()
    for what, place in places.items():
        text, count = re.subn(what, place, text)
        assert count == 1, what
    return text


@contextmanager
def _nginx(folder: Path, server: str) -> Iterator[None]:
    assert NGINX is not None
    folder.mkdir()
    user = "user root;\n" if os.getuid() == 0 else ""  # who else may not enter the test's folder
    (folder / "conf").write_text(AROUND.format(user=user, folder=folder, server=server))
    process = subprocess.Popen([NGINX, "-p", str(folder), "-c", str(folder / "conf")])
    try:
        yield
        assert process.poll() is None, (folder / "error.log").read_text()
    finally:
        process.terminate()
        process.wait(60)


@pytest.mark.skipif(NGINX is None, reason="needs the Debian package nginx-light")
def test_large_bodies_long_calls_and_files_pass_through_nginx(tmp_path: Path) -> None:
    lab, home, port = tmp_path / "lab", tmp_path / "home", _free_port()
    for folder in (lab, home):
        folder.mkdir()
    authority = Authority(tmp_path / "authority")
    authority.issue()
    url = f"https://127.0.0.1:{port}"
    with serving(lab, "--behind-proxy", "--url", url) as server:
        fitted = _fitted(authority, port, server.owner.address)
        with _nginx(tmp_path / "nginx", fitted):
            pool, ada = server.token("lab", "pool"), server.token("ada", "user")
            assert pool.url == ada.url == url
            keep(home / "ada.join", ada.text())

            def as_ada(*words: str) -> str:
                given = {"TAILRACE_SERVER": str(home / "ada.join"), **authority.trusting}
                return tailrace(home, *words, **given).stdout

            rows = "".join(f"{n},{'x' * 40}{n}\n" for n in range(TASKS))
            (home / "rows.csv").write_text(f"n,text\n{rows}")
            (home / "input").write_text("y" * 3_000_000)
            (home / "large.toml").write_text('command = "true {n} {text}"\ncsv = "rows.csv"\n')
            (home / "bag.toml").write_text(
                'command = "wc -c < input > size; cat size"\ninputs = ["input"]\n'
                'outputs = ["size"]\nfiles = "staged"\n'
            )
            assert f"{TASKS:,}" in as_ada("submit", "large.toml").replace("40000", "40,000")
            as_ada("cancel", "1", "--yes")
            as_ada("submit", "-q", "bag.toml")
            machine = tmp_path / "machine"
            with worker(machine, TAILRACE_JOIN=pool.text(), **authority.trusting):
                as_ada("watch", "2", "-q")
                (done,) = json.loads(as_ada("results", "2", "--json"))
                assert done["outcome"] == "succeeded" and done["stdout"].strip() == "3000000"
                access = tmp_path / "nginx" / "access.log"
                wait_for(lambda: 'POST /api/v1/work HTTP/1.1" 200' in access.read_text())
            told = set(re.findall(r'HTTP/1\.1" (\d+) ', access.read_text()))
            assert "200" in told and told <= {"200", "499"}, "499: the caller hung up"
