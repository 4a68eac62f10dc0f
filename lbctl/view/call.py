"""Single calls in lines: where a call went and why, what was sent and came back beside the messages, how it ended."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from lbctl.load.single import Answer, Done, Picked
from lbctl.model import Code, Origin, Reply
from lbctl.redaction import HIDDEN, is_secret
from lbctl.view.explanation import explained
from lbctl.view.output import as_json_text, as_json_value
from lbctl.view.text import clean, duration
from lbctl.view.theme import Look
from lbctl.wire.request import Headers

_TOO_LARGE: Final = re.compile(r"message (of \d+ bytes )?is larger than (\d+)")
_WHO: Final = {Origin.CLIENT: "by lbctl", Origin.TRANSPORT: "by the connection", Origin.HTTP: "made of HTTP"}
_STATUS: Final = frozenset({b"grpc-status", b"grpc-message", b"grpc-status-details-bin"})  # which the status shows


def begun_lines(picked: Picked, metadata: Headers, sensitive: frozenset[bytes], look: Look, width: int) -> list[str]:
    """What -v tells before a call: why it goes where it goes, and the metadata that it carries."""
    lines = []
    if picked.explanation is not None:
        lines.append(look.paint(look.style.bold, "Why") + f"  call {picked.number:,} goes to {_address(picked, look)}")
        lines += explained(picked.explanation, look, width)
    return lines + field_lines("> ", metadata, sensitive, look)


def heard_lines(done: Done, look: Look) -> list[str]:
    """What -v tells after a call: headers, trailers and status as they came."""
    reply = done.reply
    return [
        *field_lines("< ", reply.headers, done.sensitive, look),
        *field_lines("< ", reply.metadata, done.sensitive, look, trailer=True),
        f"< status {status(reply)}" + (f" ({_WHO[reply.origin]})" if reply.origin in _WHO else ""),
    ]


def field_lines(
    mark: str, fields: Headers, sensitive: frozenset[bytes], look: Look, *, trailer: bool = False
) -> list[str]:
    """A line for each field that is metadata; values of secrets are hidden."""
    what = "trailer " if trailer else ""
    return [f"{mark}{what}{look.show(name)}: {look.show(value)}" for name, value in shown_fields(fields, sensitive)]


def shown_fields(fields: Headers, sensitive: frozenset[bytes] = frozenset()) -> Iterator[tuple[str, str]]:
    """Name and value of the fields that are metadata; values of secrets are hidden."""
    more = {name.decode("latin-1") for name in sensitive}
    for raw_name, raw_value in fields:
        if raw_name.startswith(b":") or raw_name in _STATUS:
            continue
        name = raw_name.decode("utf-8", "backslashreplace")
        yield name, HIDDEN if is_secret(name, more) else raw_value.decode("utf-8", "backslashreplace")


def ended_line(done: Done, look: Look) -> str:
    """Where a call went, why in a few words, and how it ended."""
    picked, reply = done.picked, done.reply
    role = look.style.ok if done.is_ok else look.style.err
    parts = [f"-> {_address(picked, look)}", *_why(picked, look)]
    end = f"{look.paint(role, status(reply))} {duration(done.latency_s * 1e6)}"
    if done.streams:
        end += f", {reply.sent:,} sent, {reply.received:,} received"
    if done.is_early:
        end += ", ended early by the server"
    if done.attempts > 1:
        end += f", {done.attempts} attempts"
    return "  ".join([*parts, end])


def _why(picked: Picked, look: Look) -> Iterator[str]:
    if not picked.policy:
        return
    words = f"{picked.policy} pick {picked.number:,}"
    if picked.weight == (0, 0):
        words += ", every weight is 0"
    elif picked.weight is not None:
        words += f", weight {picked.weight[0]:g}/{picked.weight[1]:g}"
    told = picked.explanation
    if told is not None and told.hash_key is not None:
        words += f", key {look.show(told.hash_key)}"
    elif told is not None and picked.weight is None:
        words += f": {look.show(told.text)}"
    yield words


def _address(picked: Picked, look: Look) -> str:
    return look.show(picked.instance.address)


def status(reply: Reply) -> str:
    """The status of a reply in a word: the name of its code, or the number of one that has none."""
    return reply.code.name if reply.raw_code is None else f"CODE_{reply.raw_code}"


def error_text(done: Done) -> str:
    """What is wrong with a call that is not OK, in one line."""
    reply = done.reply
    if reply.code is Code.OK:
        return clean(done.unreadable or done.failed_check)
    who = f" ({_WHO[reply.origin]})" if reply.origin in _WHO else ""
    reason = clean(reply.reason) or "the server gave no reason"
    return f"{status(reply)}: {reason}{who}"


def detail_lines(done: Done) -> list[str]:
    """The details of an error, each as JSON in a line of its own."""
    return [f"  detail: {as_json_text(detail)}" for detail in done.details]


def error_hint(done: Done, look_at: str) -> str:
    """What to try; ``look_at`` is the command that lists the methods of the service."""
    reply = done.reply
    if done.unreadable and reply.code is Code.OK:
        return "its octets are shown by -o raw; the types it is described by may be older than the server"
    large = _TOO_LARGE.search(reply.reason)
    if reply.code is Code.RESOURCE_EXHAUSTED and reply.origin is Origin.CLIENT and large:
        size = re.search(r"of (\d+) bytes", reply.reason)
        needed = int(size[1]) if size is not None else 2 * int(large[2])
        return f"allow larger replies: --max-msg-size {-(-needed // (1 << 20))}MiB"
    if reply.code is Code.DEADLINE_EXCEEDED and reply.origin is Origin.CLIENT:
        return "give it longer with -t TIME, or -t 0 for no deadline"
    if reply.code is Code.UNIMPLEMENTED and reply.origin is Origin.SERVER:
        return f"see who offers it: {look_at}"
    return ""


def reply_text(answer: Answer, form: str, width: int | None) -> str:
    """One message as it is printed: ``text`` is protobuf's own; a ``reply`` too long for a terminal gets ``pretty``."""
    if form == "text" and answer.kind is not None:
        from lbctl.rpc.messages.as_text import as_text

        return _harmless(as_text(answer.kind, answer.octets))
    line = as_json_text(answer.value)
    if form == "pretty" or (width is not None and len(line) > width):
        return as_json_value(answer.value)
    return line


def _harmless(text: str) -> str:
    """Text format whose strings hold nothing that a terminal obeys: protobuf leaves what is beyond ASCII as it is."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() or each.isascii() else _octal(each) for each in text)


def _octal(character: str) -> str:
    return "".join(f"\\{octet:03o}" for octet in character.encode("utf-8", "surrogatepass"))


def octets_of(answer: Answer) -> bytes:
    """One message as it came; of a stream behind its length as a varint."""
    if not answer.of_stream:
        return answer.octets
    size, prefix = len(answer.octets), bytearray()
    while size > 0x7F:
        prefix.append(size & 0x7F | 0x80)
        size >>= 7
    return bytes((*prefix, size)) + answer.octets
