"""A user who hands in bags of a million rows, one after the other: PORT TOKEN START SECONDS.

The first begins at START, as the monotonic clock has it, and none after SECONDS. It tells how many
there were, and how many seconds after START the last of them was answered.
"""

from __future__ import annotations

import base64
import http.client
import json
import sys
import time

from tailrace.bag.rows import encode_chunk, in_chunks

ROWS, COLUMNS = 1_000_000, "abcde"


def submission() -> bytes:
    rows = ([str(row + at) for at in range(len(COLUMNS))] for row in range(ROWS))
    chunks = [base64.b64encode(encode_chunk(chunk)).decode() for chunk in in_chunks(rows)]
    kinds = ["int"] * len(COLUMNS)
    table = {"type": "rows", "columns": list(COLUMNS), "kinds": kinds, "count": ROWS}
    spec = {"name": "rows", "folder": "/", "command": ["true", "{a}"], "axes": [[table]]}
    return json.dumps({"spec": spec, "chunks": chunks}).encode()


def hand_in(port: int, token: str, body: bytes) -> bool:
    line = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
    line.request("POST", "/api/v1/bags", body, {"Authorization": f"Bearer {token}"})
    answer = line.getresponse()
    told = answer.read()
    if answer.status == 503 and answer.headers["Retry-After"]:
        time.sleep(int(answer.headers["Retry-After"]))
        return False
    if answer.status != 200:
        raise SystemExit(told.decode())
    return True


def main(port: int, token: str, start: float, seconds: float) -> None:
    body, handed = submission(), 0
    time.sleep(max(start - time.monotonic(), 0))
    while time.monotonic() < start + seconds:
        handed += hand_in(port, token, body)
    print(handed, time.monotonic() - start)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], float(sys.argv[3]), float(sys.argv[4]))
