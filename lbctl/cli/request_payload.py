"""From the options that say what calls send to the payload that is sent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from lbctl.cli.metadata import Pair, expanded, headers
from lbctl.cli.request_data_options import DataFlags
from lbctl.cli.request_files import opened, read_binary, read_data, refuse_two
from lbctl.cli.request_mix import read_mix
from lbctl.cli.request_options import RequestFlags
from lbctl.commands.calling import Payload, Streaming
from lbctl.errors import UsageError
from lbctl.load.requests.given import Given, Order, Written
from lbctl.rpc.messages.check import parse_check

_BINARY: Final = "-bin"


def payload_of(request: RequestFlags, data: DataFlags, streaming: Streaming, environ: Mapping[str, str]) -> Payload:
    """What calls send. Raises UsageError for options that contradict each other, and for files that cannot be read."""
    refuse_two(request, data)
    if request.check is not None:
        parse_check(request.check)  # what is wrong without a schema is told before anybody is asked for one
    pairs = (*(request.metadata or ()), *(request.header or ()))
    known = environ if request.expand_headers else None
    fixed, drawn = split(pairs, known, templates=not data.no_template)
    payload = Payload(
        metadata=fixed,
        sensitive=frozenset(name.encode() for name in request.sensitive or ()),
        gzip=request.compress is not None,
        streaming=streaming,
        check=request.check,
        given=Given(templates=not data.no_template, drawn=drawn, order=Order(data.data_order or Order.SEQUENTIAL)),
    )
    if data.mix is not None:
        mix = read_mix(data.mix, payload, environ if request.expand_headers else None)
        for share in mix:
            _check("--mix", share.payload)
        return replace(payload, mix=mix)
    payload = _with_data(payload, request, data)
    _check("-D" if data.data_file is not None else "--binary-file" if data.binary_series else "-d", payload)
    return payload


def _check(option: str, payload: Payload) -> None:
    """Raise UsageError for what is wrong with requests, whatever the method turns out to be."""
    given = payload.given
    if not (given.text or given.file or given.drawn):
        return
    from lbctl.load.requests.sources import check_headers, check_requests

    check_headers(given)
    try:
        check_requests(given)
    except UsageError as error:
        raise UsageError(f"{option}: {error}", error.hint) from None


def _with_data(payload: Payload, request: RequestFlags, data: DataFlags) -> Payload:
    """The payload with the message, or where messages come from."""
    text, source = read_data(request.data)
    raw, file, written = None, None, None
    if data.binary_series:
        file, written = opened(str(request.binary_file), "--binary-file"), Written.SERIES
        source = file.name
    elif request.binary_file is not None:
        raw = read_binary(request.binary_file)
    elif data.data_file is not None:
        file = opened(data.data_file, "-D")
        written = None if data.data_format is None else Written(data.data_format)
        source = file.name
    columns = dict(data.metadata_from or ())
    given = replace(payload.given, source=source, text=text, file=file, written=written, columns=columns)
    return replace(payload, data=text, source=source, raw=raw, given=given)


def split(
    pairs: tuple[Pair, ...], environ: Mapping[str, str] | None, *, templates: bool
) -> tuple[tuple[tuple[bytes, bytes], ...], tuple[tuple[bytes, str], ...]]:
    """The metadata that is always the same, and that in which values are drawn; binary values are left alone."""
    drawn = [pair for pair in pairs if templates and "{{" in pair[1] and not pair[0].endswith(_BINARY)]
    if any(name == "user-agent" for name, _ in drawn):
        raise UsageError("metadata user-agent: it is the same for every call of a connection, and none can be drawn")
    fixed = [pair for pair in pairs if pair not in drawn]
    return headers(fixed, environ), tuple((name.encode(), expanded(name, value, environ)) for name, value in drawn)
