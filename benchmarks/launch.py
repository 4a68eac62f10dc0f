"""Starts one client and says what it cost, from a process that is small itself.

The kernel's peak memory of a process begins with what its parent had when it was forked, so the measuring script,
which is large, would hide a small client's peak behind its own. Run as ``python -I -S launch.py``:

    launch.py REPORT_FD CPU_OR_- TERMINAL_OR_- COMMAND...

It writes one line of JSON to REPORT_FD: the exit status, user and system seconds, peak memory in KiB, wall seconds.
"""

import fcntl
import json
import os
import sys
import termios
import time


def main(report: int, cpu: str, terminal: str, command: list[str]) -> None:
    """Run the command to its end; with a terminal it is its controlling one."""
    if terminal != "-":
        fcntl.ioctl(int(terminal), termios.TIOCSCTTY, 0)
    began = time.perf_counter()
    child = os.fork()
    if not child:
        os.close(report)
        if cpu != "-":
            os.sched_setaffinity(0, {int(cpu)})
        os.execvp(command[0], command)
    _, status, usage = os.wait4(child, 0)
    cost = {
        "status": os.waitstatus_to_exitcode(status),
        "user_s": usage.ru_utime,
        "system_s": usage.ru_stime,
        "peak_kib": usage.ru_maxrss,
        "wall_s": time.perf_counter() - began,
    }
    os.write(report, json.dumps(cost).encode() + b"\n")


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4:])
