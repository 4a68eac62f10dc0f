"""Errors that end a command: each says what happened, what to try, and knows its exit status."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """lbctl's exit statuses; ``call`` adds 64 + the gRPC code."""

    OK = 0
    CHECK_FAILED = 1
    USAGE = 2
    REGISTRY = 3
    NOT_FOUND = 4
    CANNOT_CALL = 5
    INTERNAL = 70
    COMMAND_NOT_FOUND = 127  # the shell's own status for it: demo -- CMD
    HANGUP = 129
    INTERRUPTED = 130
    BROKEN_PIPE = 141
    TERMINATED = 143


class LbctlError(Exception):
    """The base of everything lbctl raises on purpose; printed as ``error: ...`` and ``hint: ...``."""

    exit_code = ExitCode.INTERNAL

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class UsageError(LbctlError):
    """The command line or a request file is wrong; nothing was sent."""

    exit_code = ExitCode.USAGE


class RegistryError(LbctlError):
    """etcd cannot be reached, refuses us, or answered with an error."""

    exit_code = ExitCode.REGISTRY


class NotFound(LbctlError):
    """A service, backend, method or file of that name does not exist."""

    exit_code = ExitCode.NOT_FOUND


class CannotCall(LbctlError):
    """The target exists and cannot be called: no connection, no reflection, wrong kind of method."""

    exit_code = ExitCode.CANNOT_CALL
