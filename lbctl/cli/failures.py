"""From an exception to two lines on standard error and an exit status; never a traceback for the user."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from lbctl.cli.talking import say
from lbctl.errors import ExitCode, LbctlError, UsageError

if TYPE_CHECKING:
    from pathlib import Path


def guarded(call: Callable[[], object], arguments: Sequence[str] = ()) -> int:
    """Run the application and return the process's exit status, whatever happens; ``arguments`` are for hints."""
    try:
        status = _status(call())
        sys.stdout.flush()
        return status
    except SystemExit as leaving:  # typer makes one of a closed standard output, with a status of its own
        return _stdout_closed() if isinstance(leaving.__context__, BrokenPipeError) else _status(leaving.code)
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        return _stdout_closed()
    except BaseException as error:
        return _explained(_cause(error), arguments)


def _status(result: object) -> int:
    return int(result) if isinstance(result, int) else ExitCode.OK


def _cause(error: BaseException) -> BaseException:
    """Find what went wrong inside exception groups: our own error if there is one, else the first."""
    leaves = list(_leaves(error))
    return next((leaf for leaf in leaves if isinstance(leaf, LbctlError)), leaves[0])


def _leaves(error: BaseException) -> list[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        return [leaf for inner in error.exceptions for leaf in _leaves(inner)]
    return [error]


def _explained(error: BaseException, arguments: Sequence[str]) -> int:
    if isinstance(error, KeyboardInterrupt) or _is_leaving(error):
        return int(getattr(error, "exit_code", ExitCode.INTERRUPTED))
    if isinstance(error, BrokenPipeError):
        return _stdout_closed()
    if isinstance(error, LbctlError):
        _say(str(error), error.hint or _see(error, arguments))
        return error.exit_code
    if _is_usage(error):
        from lbctl.cli.mistakes import explained

        _say(*explained(error, arguments))
        return ExitCode.USAGE
    if _no_room(error):
        _say(f"cannot write the output: {os.strerror(errno.ENOSPC).lower()}", "make room, or write it elsewhere")
        _discard_stdout()
        return ExitCode.USAGE
    return _internal(error, arguments)


def _see(error: LbctlError, arguments: Sequence[str]) -> str:
    """What helps with a wrong command line, whatever is wrong about it."""
    if error.exit_code != ExitCode.USAGE:
        return ""
    from lbctl.cli.mistakes import path_of

    return f"see: {path_of(arguments)} --help"


def _no_room(error: BaseException) -> bool:
    """Whether a disk is full: what writes files of its own says so itself, so this is standard output."""
    return isinstance(error, OSError) and error.errno == errno.ENOSPC


def _is_leaving(error: BaseException) -> bool:
    """Whether it is no error at all: somebody gave up at a question, or a command has said all."""
    import typer

    return isinstance(error, typer.Exit | typer.Abort)


def _is_usage(error: BaseException) -> bool:
    """Whether typer raised it for a wrong command line, recognised by what its documentation shows of them."""
    return hasattr(error, "format_message")


class _Bug(Exception):
    """An unexpected exception, and the log file that its traceback is for."""

    def __init__(self, cause: BaseException, log_file: Path) -> None:
        super().__init__()
        self.cause = cause
        self.log_file = log_file


@contextmanager
def internal_errors(log_file: Path | None) -> Iterator[None]:
    """Have the traceback of an unexpected exception put into the log file, where there is one."""
    try:
        yield
    except Exception as error:
        cause = _cause(error)
        expected = (
            isinstance(cause, LbctlError | BrokenPipeError) or _is_leaving(cause) or _is_usage(cause) or _no_room(cause)
        )
        if expected or log_file is None:
            raise
        raise _Bug(error, log_file) from error


def _internal(error: BaseException, arguments: Sequence[str]) -> int:
    import traceback

    from lbctl.cli.redaction import scrubbed

    cause, log_file = (error.cause, error.log_file) if isinstance(error, _Bug) else (error, None)
    lines = scrubbed("".join(traceback.format_exception(cause)), arguments, os.environ)
    message = scrubbed(f"internal error: {type(_cause(cause)).__name__}: {_cause(cause)}", arguments, os.environ)
    if os.environ.get("LBCTL_DEBUG"):
        print(lines, file=sys.stderr, end="")  # noqa: T201
        _say(message, "this is a bug in lbctl")
        return ExitCode.INTERNAL
    try:
        where = _temporary(lines) if log_file is None else append(log_file, lines)
    except (OSError, UsageError):
        _say(message, "this is a bug in lbctl; the traceback cannot be saved: LBCTL_DEBUG=1 prints it")
        return ExitCode.INTERNAL
    _say(message, f"this is a bug in lbctl; the traceback is in {where} (LBCTL_DEBUG=1 prints it)")
    return ExitCode.INTERNAL


def append(log_file: Path, lines: str) -> Path:
    """Add lines to the log file; raises UsageError where it cannot be written."""
    try:
        with log_file.open("a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(lines)
    except OSError as error:
        raise UsageError(f"--log-file: cannot write {log_file}: {error.strerror or error}") from None
    return log_file


def _temporary(lines: str) -> str:
    from tempfile import NamedTemporaryFile

    with NamedTemporaryFile("w", prefix="lbctl-error-", suffix=".txt", delete=False, encoding="utf-8") as file:
        file.write(lines)
    return file.name


def _say(message: str, hint: str) -> None:
    try:
        first, *more = message.split("\n")
        say(f"error: {_one_line(first)}")
        for line in more:
            # Such as the text and the mark below it; never at the left edge, where only lbctl itself speaks.
            print(_line_below(line), file=sys.stderr)  # noqa: T201
        if hint:
            say(f"hint: {_one_line(hint)}")
    except BrokenPipeError:
        pass


def _line_below(line: str) -> str:
    """Return a further line of a message, indented."""
    text = _one_line(line)
    return text if text.startswith("  ") else f"  {text}"


def _one_line(text: str) -> str:
    """Without control characters: messages may quote what a server sent."""
    return "".join(char if char.isprintable() else " " if char == "\n" else f"\\x{ord(char):02x}" for char in text)


def _stdout_closed() -> int:
    """Whoever read our output is gone: leave silently."""
    _discard_stdout()
    return ExitCode.BROKEN_PIPE


def _discard_stdout() -> None:
    """Keep the interpreter's last flush from complaining."""
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.close(quiet)
