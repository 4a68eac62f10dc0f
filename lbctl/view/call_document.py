"""The documents of ``lbctl call``: everything about calls that have ended."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from lbctl.load.single import Called, Done, Picked
from lbctl.view.call import error_text, shown_fields
from lbctl.view.figures import Document
from lbctl.wire.request import Headers

CALL: Final = "lbctl.call/v1"


def call_document(called: Called) -> Document:
    """The document of ``-o json``."""
    return {
        "schema": CALL,
        "service": called.service,
        "method": called.method,
        "kind": called.kind,
        "described_by": called.described_by or None,
        "ok": sum(each.is_ok for each in called.calls),
        "failed": sum(not (each.is_ok or each.is_cancelled) for each in called.calls),
        "calls": [call_record(each) for each in called.calls],
    }


def call_record(done: Done) -> Document:
    """One call."""
    reply, picked = done.reply, done.picked
    return {
        "call": picked.number,
        "backend": _backend(picked),
        "pick": _pick(picked),
        "status": status_record(done),
        "ok": done.is_ok,
        "error": None if done.is_ok else error_text(done),
        "latency_ms": round(done.latency_s * 1e3, 3),
        "attempts": done.attempts,
        "sent": reply.sent if done.streams else 1,
        "received": reply.received if done.streams else len(done.answers),
        "metadata": fields_record(done.metadata, done.sensitive),
        "headers": fields_record(reply.headers, done.sensitive),
        "trailers": fields_record(reply.metadata, done.sensitive),
        "replies": [each.value for each in done.answers],
    }


def status_record(done: Done) -> Document:
    """How a call ended."""
    reply = done.reply
    return {
        "code": int(reply.code) if reply.raw_code is None else reply.raw_code,
        "name": reply.code.name,
        "message": reply.reason,
        "origin": str(reply.origin),
        "details": list(done.details),
    }


def _backend(picked: Picked) -> Mapping[str, Any]:
    instance = picked.instance
    return {"address": instance.address, "key": instance.key, "weight": instance.effective_weight}


def _pick(picked: Picked) -> Mapping[str, Any] | None:
    """Why the backend got the call; None where it was named."""
    found = picked.explanation
    if found is None:
        return None
    return {
        "policy": picked.policy,
        "text": found.text,
        "hash_key": found.hash_key,
        "columns": list(found.columns),
        "candidates": [
            {"key": each.key, "address": each.address, "figures": list(each.figures)} for each in found.candidates
        ],
    }


def fields_record(fields: Headers, sensitive: frozenset[bytes]) -> list[Mapping[str, str]]:
    """Fields that are metadata; values of secrets are hidden."""
    return [{"name": name, "value": value} for name, value in shown_fields(fields, sensitive)]
