"""`python -m tailrace.worker`, and the entry of the zipped worker."""

from __future__ import annotations

import os
import sys

from .client import main

if __name__ == "__main__":
    code = main()
    sys.stderr.flush()
    os._exit(code)  # the thread of the calls may still wait for an answer
