"""Run lbctl, as ``lbctl`` or as ``python -m lbctl``; Ctrl-C ends it without a word also while it is being loaded."""

import os

_INTERRUPTED = 130  # ExitCode.INTERRUPTED: nothing of lbctl is imported before Ctrl-C is taken care of

try:
    import atexit
    import signal
except KeyboardInterrupt:
    os._exit(_INTERRUPTED)


def main() -> None:
    """Run the command line of this process and leave with its exit status."""
    ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # it is ignored where a shell says so
    if ours:
        signal.signal(signal.SIGINT, _leave)
    from lbctl.cli import main as run

    try:
        run(loaded=_listen if ours else _nothing)
    finally:
        if ours:
            signal.signal(signal.SIGINT, _leave)  # what is left is the interpreter's own: it would show a traceback
            atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)  # and at last die of the signal


def _leave(number: int, frame: object) -> None:
    os._exit(_INTERRUPTED)


def _listen() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _nothing() -> None:
    pass


if __name__ == "__main__":
    main()
