"""The command's door: an interrupt while it still loads ends it without a word, as later."""

from __future__ import annotations

import sys

INTERRUPTED = 130  # as errors.Exit, which is not loaded yet


def main() -> None:
    try:
        from tailrace.cli.main import main as command

        command()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    main()
