"""A user who reads all results of a bag, page by page, again and again: PORT TOKEN START SECONDS.

It begins at START, as the monotonic clock has it, and tells how many pages it has read.
"""

from __future__ import annotations

import http.client
import json
import sys
import time

PATH = "/api/v1/bags/1/results?which=done&first={}"


def read(port: int, token: str, until: float) -> int:
    line, pages, first = http.client.HTTPConnection("127.0.0.1", port, timeout=60), 0, 0
    while time.monotonic() < until:
        line.request("GET", PATH.format(first), headers={"Authorization": f"Bearer {token}"})
        answer = line.getresponse()
        page = json.loads(answer.read())
        if answer.status == 503:
            time.sleep(int(answer.headers["Retry-After"]))
            continue
        pages, first = pages + 1, page[-1]["result"]["task"] + 1 if page else 0
    return pages


if __name__ == "__main__":
    start = float(sys.argv[3])
    time.sleep(max(start - time.monotonic(), 0))
    print(read(int(sys.argv[1]), sys.argv[2], start + float(sys.argv[4])))
