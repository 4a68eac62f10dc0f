"""``python -m tests.e2e.controlling MODULE ARGS``: run a module with standard error as the controlling terminal.

A process that a test starts in a session of its own has none; Ctrl-C as a key, and being in the foreground, need one.
"""

from __future__ import annotations

import fcntl
import runpy
import sys
import termios

if __name__ == "__main__":
    fcntl.ioctl(2, termios.TIOCSCTTY, 0)
    del sys.argv[0]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
