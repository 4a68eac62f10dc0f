"""The options that say what a call sends, one group for every method and one for streaming ones."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final

from lbctl.cli.completion_requests import names
from lbctl.cli.completion_values import after, files, free
from lbctl.cli.flags import Flags, one_of, option, switch
from lbctl.cli.header_option import header_option
from lbctl.cli.metadata import parse_metadata, parse_name
from lbctl.cli.values import (
    parse_count,
    parse_count_or_none,
    parse_duration,
    parse_positive_duration,
    parse_timeout,
)

_REQUEST: Final = "Request"
_STREAMS: Final = "Streaming methods"


@dataclass(frozen=True, slots=True)
class RequestFlags(Flags):
    """What every call sends, and what is expected of its reply."""

    data: Annotated[
        str | None,
        option(
            "-d",
            "--data",
            text="request as JSON, or an array of them, sent in turn; @FILE reads a file, @ standard input; {{uuid}}, "
            "{{int 1 9}} and others are drawn for each call",
            metavar="JSON",
            panel=_REQUEST,
            completes=after("@", files()),
        ),
    ] = None
    binary_file: Annotated[
        Path | None,
        option(
            "--binary-file",
            text="request message as raw bytes; with a full METHOD needs no reflection",
            metavar="FILE",
            panel=_REQUEST,
        ),
    ] = None
    timeout: Annotated[
        float | None,
        option(
            "-t",
            "--timeout",
            text="deadline of each call, 0 for none (default 20s)",
            metavar="TIME",
            panel=_REQUEST,
            parse=parse_timeout,
        ),
    ] = None
    header: Annotated[list[Any] | None, header_option("metadata to send, also to server reflection", _REQUEST)] = None
    metadata: Annotated[
        Any,
        option(
            "-m",
            "--metadata",
            text='the same as one JSON object: {"name": "value", "other": ["a", "b"]}',
            metavar="JSON",
            panel=_REQUEST,
            parse=parse_metadata,
            completes=free,
        ),
    ] = None
    expand_headers: Annotated[
        bool, switch("--expand-headers", text="replace ${NAME} in metadata by environment variables", panel=_REQUEST)
    ] = False
    sensitive: Annotated[
        list[str] | None,
        option(
            "--sensitive",
            text="metadata whose value never enters a compression table, as that of authorization, cookie and "
            "*-token; may be repeated",
            metavar="NAME",
            panel=_REQUEST,
            parse=parse_name,
            completes=names,
        ),
    ] = None
    compress: Annotated[
        str | None,
        option("--compress", text="compress messages: gzip", metavar="HOW", panel=_REQUEST, parse=one_of("gzip")),
    ] = None
    check: Annotated[
        str | None,
        option(
            "--check",
            text="what must hold for each reply, else its call is an error: 'resp.code == 3 and len(resp.items) > 0'; "
            "every reply is decoded for it",
            metavar="EXPR",
            panel=_REQUEST,
            completes=free,
        ),
    ] = None


@dataclass(frozen=True, slots=True)
class StreamFlags(Flags):
    """What one call of a streaming method does."""

    stream: Annotated[
        str | None,
        option(
            "--stream",
            text="which sides stream, where no reflection tells: client, server or bidi",
            metavar="KIND",
            panel=_STREAMS,
            parse=one_of("client", "server", "bidi"),
        ),
    ] = None
    stream_messages: Annotated[
        int | None,
        option(
            "--stream-messages",
            text="messages to send, those of -d in turn (default: each once); 0: until --stream-duration",
            metavar="N",
            panel=_STREAMS,
            parse=parse_count_or_none,
        ),
    ] = None
    stream_interval: Annotated[
        float | None,
        option(
            "--stream-interval",
            text="pause between two messages sent (default none)",
            metavar="TIME",
            panel=_STREAMS,
            parse=parse_duration,
        ),
    ] = None
    stream_limit: Annotated[
        int | None,
        option(
            "--stream-limit",
            text="end a stream after so many received messages",
            metavar="N",
            panel=_STREAMS,
            parse=parse_count,
        ),
    ] = None
    stream_duration: Annotated[
        float | None,
        option(
            "--stream-duration",
            text="end a stream after this long",
            metavar="TIME",
            panel=_STREAMS,
            parse=parse_positive_duration,
        ),
    ] = None

    @property
    def any_given(self) -> str | None:
        """The first of these options that was given, by its flag."""
        given = {
            "--stream": self.stream,
            "--stream-messages": self.stream_messages,
            "--stream-interval": self.stream_interval,
            "--stream-limit": self.stream_limit,
            "--stream-duration": self.stream_duration,
        }
        return next((flag for flag, value in given.items() if value is not None), None)
