"""For all tests."""

from __future__ import annotations

import signal

# Started in the background of a shell, everything below would inherit that Ctrl-C is ignored, and
# the tests that press it would wait in vain.
signal.signal(signal.SIGINT, signal.default_int_handler)
