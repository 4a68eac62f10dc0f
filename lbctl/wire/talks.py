"""The streaming calls of a connection: what they send and when, what they have received, and ending them ourselves."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import Final

from lbctl.wire.frames import ErrorCode
from lbctl.wire.request import Request, fitting
from lbctl.wire.response import Response
from lbctl.wire.state import State
from lbctl.wire.status import of_partial
from lbctl.wire.talk import NO_LIMIT, OpenTalk, Talk

_STALE: Final = 64  # entries of calls that have ended already


def begin(state: State, stream: int, request: Request) -> None:
    """Queue what a streaming call sends at its start; ``state.talks`` knows it from here on."""
    spec = request.stream
    assert spec is not None
    if spec.outbox is not None:
        return _began(state, stream, OpenTalk(spec, spec.outbox, compress=request.gzip, since_ns=request.since_ns))
    bodies = state.bodies_of(request)
    kept = fitting([len(body) for body in bodies], state.limits.replay) if state.limits.replay else NO_LIMIT
    return _began(state, stream, Talk(spec, bodies, kept, request.since_ns))


def _began(state: State, stream: int, talk: Talk) -> None:
    state.talks[stream] = talk
    state.send.begin(stream, talk.opening(), talk.take)
    if talk.is_timed:
        if len(state.agenda) > _STALE + 2 * len(state.talks):
            state.agenda[:] = [entry for entry in state.agenda if entry[1] in state.talks]
            heapify(state.agenda)
        heappush(state.agenda, (0, stream))


def speak(state: State, now_ns: int) -> None:
    """Queue every message whose time has come, and end the calls whose duration has passed."""
    agenda = state.agenda
    while agenda and agenda[0][0] <= now_ns:
        _, stream = heappop(agenda)
        talk = state.talks.get(stream)
        if talk is None:  # the call has ended
            continue
        if not talk.began:
            talk.begin(now_ns)
        if talk.come_due(now_ns):
            state.send.wake(stream)
        if talk.is_over(now_ns):
            _leave(state, stream, talk)
        elif talk.next_ns:
            heappush(agenda, (talk.next_ns, stream))


def heard(state: State, stream: int, response: Response) -> None:
    """Account for the messages that a read brought; after enough of them the call is over."""
    talk = state.talks.get(stream)
    if talk is None or response.messages == talk.received:
        return
    fresh = response.messages - talk.received
    if talk.received:
        state.gaps.append(state.now_ns - talk.received_ns)
    state.gaps.extend([0] * (fresh - 1))  # messages of one read came together
    talk.received = response.messages
    talk.received_ns = state.now_ns
    if talk.spec.told is not None and response.flaw is None:
        for message in response.take():
            talk.spec.told(message)
    if talk.leaving or (talk.spec.limit and talk.received >= talk.spec.limit):
        _leave(state, stream, talk)


def _leave(state: State, stream: int, talk: Talk) -> None:
    """End a call from our side: our half where that is still open, and the whole where the server goes on regardless.

    A server that answers each message may have answers on their way when our half ends; one that has sent more
    messages than it got would never end by itself.
    """
    first, talk.leaving = not talk.leaving, True
    if first and talk.spec.client and state.send.is_open(stream):
        state.send.end(stream)
    elif first or talk.received > max(talk.sent, talk.spec.limit):
        response = state.response_of(stream)
        reply = of_partial(response.head, response.flaw, response.excerpt())
        kept = response.kept() if response.keep else ()
        state.reset(stream, ErrorCode.CANCEL, reply._replace(messages=kept))
