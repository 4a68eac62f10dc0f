"""The sending half of a connection: calls in, frames into the output, as slots, windows and the transport allow.

Speed shapes ``start``: one call of the run's request costs a few comparisons and one join of prepared bytes.
"""

from __future__ import annotations

from lbctl.model import Code
from lbctl.wire import frames as h2
from lbctl.wire import talks
from lbctl.wire.limits import Limits
from lbctl.wire.request import Request
from lbctl.wire.state import Call, State, Wait
from lbctl.wire.status import local
from lbctl.wire.template import Template
from lbctl.wire.windows import CONNECTION_WINDOW, STREAM_WINDOW


class Sending(State):
    """Starts calls of ``request``, or of any other. Output waits in order until ``outgoing`` takes it."""

    def __init__(self, request: Request | None, *, keep_messages: bool, limits: Limits) -> None:
        super().__init__(keep_messages=keep_messages, limits=limits)
        self.request = request
        self._bodies = request.bodies() if request is not None and request.stream is not None else ()
        self._body = request.body() if request is not None and request.stream is None else b""
        self._template: Template | None = None  # of ``request``, while it is true of the header context
        self.careful = keep_messages or bool(self._bodies)  # every reply takes the complete way
        self.out.append(
            h2.PREFACE
            + h2.settings(((h2.ENABLE_PUSH, 0), (h2.INITIAL_WINDOW_SIZE, STREAM_WINDOW)))
            + h2.window_update(0, CONNECTION_WINDOW - h2.DEFAULT_WINDOW)
        )

    def outgoing(self) -> bytes:
        """Everything queued, in order; each octet is handed out once."""
        data = b"".join(self.out)
        self.out.clear()
        self.urgent = 0
        return data

    def start(self, call: Call) -> None:
        """Send one call of the session's request, or queue it until slot, window and connection allow."""
        template = self._template
        send = self.send
        opened = self.open
        stream = self.next_id
        if (
            not self.hot
            or template is None
            or len(opened) >= self.limit
            or send.connection < template.size
            or send.initial < template.size
            or stream > self.last_stream
        ):
            assert self.request is not None
            self.enqueue(call.alone(), self.request)
            return
        # The same as _write_template, without the call.
        self.next_id = stream + 2
        opened[stream] = call
        send.connection -= template.size
        raw = stream.to_bytes(4, "big")
        out = self.out
        if not out:
            self.on_output()
        out.append(b"".join((template.before, raw, template.between, raw, template.body)))

    def enqueue(self, call: Call, request: Request) -> None:
        """Send a call of any request as soon as possible; on a draining connection it comes back as unsent."""
        if self.draining:
            self.unsent.append(call)
            self.emit(b"")  # whoever flushes looks into the baskets
            return
        self.careful = self.careful or request.stream is not None
        self.waiting.append((call, request))
        self.pump()
        if self.waiting:  # in order, so this one is among them
            call.waited_for = self._obstacle()
            self.count("waited", call.waited_for.name.lower())

    def _obstacle(self) -> Wait:
        """Why nothing more can be started now."""
        if not self.ready:
            return Wait.CONNECTION
        return Wait.PEER if self.paused else Wait.SLOT

    def talk(self, now_ns: int) -> None:
        """Send the messages of streams whose time has come; due whenever ``next_talk_ns`` says so."""
        self.now_ns = now_ns
        talks.speak(self, now_ns)
        self.pump()

    def wake(self, call: Call) -> bool:
        """Send what has come into the outbox of a call; whether it is on this connection and open."""
        stream = next((number for number, known in self.open.items() if known is call), None)
        if stream is not None:
            self.send.wake(stream)
            self.pump()
        return stream is not None

    @property
    def next_talk_ns(self) -> int:
        """When ``talk`` has something to do: 0 never, 1 at once."""
        if self.closed:
            return 0
        if self.send.cut_short and not self.paused:
            return 1
        return max(1, self.agenda[0][0]) if self.agenda else 0

    @property
    def blocked(self) -> int:
        """How many request bodies wait for flow-control credit."""
        return len(self.send)

    def ping(self, payload: bytes) -> None:
        """Send a PING of ours, ahead of what is queued; it is in ``pings_open`` until the peer has answered."""
        self.pings_open.add(payload)
        self.emit(b"")
        self.out.insert(self.urgent, h2.frame(h2.PING, 0, 0, payload))
        self.urgent += 1

    def bodies_of(self, request: Request) -> tuple[bytes, ...]:
        return self._bodies if request is self.request else super().bodies_of(request)

    def expire(self, now_ns: int) -> None:
        self.now_ns = now_ns
        super().expire(now_ns)
        self.pump()

    def abandon(self, call: Call) -> bool | None:
        found = super().abandon(call)
        self.pump()
        return found

    def pause(self, paused: bool) -> None:
        """The transport's buffer is full, or drained again."""
        self.paused = paused
        self.pump()

    def pump(self) -> None:
        """Start waiting calls and send waiting bodies as far as slots, windows and the transport allow."""
        if not self.ready or self.closed:
            return
        while self.waiting and not self.paused and not self.draining and len(self.open) < self.limit:
            call, request = self.waiting.popleft()
            call.timeout_ns = call.timeout_ns or self._remainder(call, request)
            template = self._template_for(call, request)
            if template is not None and template.is_whole and self._may_send(template.size):
                self._write(call, template)
            else:
                self._send(call, request, template)
        if self.draining:
            self.release_waiting()
        if self.send.busy and not self.paused:
            for data in self.send.frames(self.peer.max_frame_size):
                self.emit(data)
        template = self._template = self._renewed()
        whole = template is not None and template.is_whole
        self.hot = whole and not (self.waiting or self.send.busy or self.paused or self.draining)

    def _remainder(self, call: Call, request: Request) -> int:
        """What a call that has waited should state as its deadline; 0 where the request's own is near enough."""
        left_ns = call.deadline_ns - self.now_ns
        return max(1, left_ns) if left_ns < request.timeout_ns - request.timeout_ns // 100 else 0

    def unsettle(self) -> None:
        """What the template was made for has changed; until ``pump`` has looked nothing is started from it."""
        self.hot = False
        self._template = None

    def _template_for(self, call: Call, request: Request) -> Template | None:
        """The template, if it is what this call has to send."""
        template = self._template
        if template is None or request is not self.request or call.timeout_ns:
            return None
        return template if template.generation == self.writer.generation else None

    def _may_send(self, size: int) -> bool:
        return not self.send.busy and self.send.connection >= size <= self.send.initial

    def _write(self, call: Call, template: Template) -> None:
        stream = self.next_id
        self.next_id = stream + 2
        self.open[stream] = call
        self.started.append(call)
        self.send.connection -= template.size
        self.emit(template.call(stream))

    def _send(self, call: Call, request: Request, template: Template | None) -> None:
        """The general way to start a call: CONTINUATION and split bodies where needed."""
        timeout_ns = call.timeout_ns or request.timeout_ns
        too_large = self._too_large(request, timeout_ns)
        if too_large:
            self.replies.append((call, local(Code.INTERNAL, too_large)))
            self.emit(b"")  # whoever flushes looks into the baskets
            return
        stream = self.next_id
        self.next_id = stream + 2
        self.open[stream] = self.uploading[stream] = call
        block = template.block if template is not None else self.writer.block(request, timeout_ns)
        self.emit(h2.header_frames(stream, block, self.peer.max_frame_size))
        if request.stream is None:
            self.send.begin(stream, (self._body if request is self.request else request.body(), True))
        else:
            talks.begin(self, stream, request)
        for data in self.send.frames(self.peer.max_frame_size):
            self.emit(data)
        if stream in self.uploading:
            call.waited_for = Wait.WINDOW
            self.count("waited", "window")

    def _too_large(self, request: Request, timeout_ns: int) -> str:
        """Why the peer would not take the request's header list, or nothing."""
        allowed = self.peer.max_header_list
        size = 0 if allowed is None else request.header_size(timeout_ns)
        if allowed is None or size <= allowed:
            return ""
        return f"request headers of {size} bytes exceed the server's limit of {allowed}"

    def _renewed(self) -> Template | None:
        """The template of the session's request, once its header fields are in the peer's table."""
        request, template = self.request, self._template
        if template is not None and template.generation == self.writer.generation:
            return template
        if request is None or not self.writer.is_stable(request) or self._too_large(request, request.timeout_ns):
            return None
        return Template(request, self._body, self.writer)
