"""Where the words and results of ``lbctl call`` go: messages to standard output, all else to standard error."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

from lbctl.cli.options import detail
from lbctl.cli.suggestions import again
from lbctl.cli.talking import say, width

if TYPE_CHECKING:
    from lbctl.cli.call_input import Prompt
    from lbctl.cli.settings import Settings
    from lbctl.load.single import Answer, Called, Done, Picked
    from lbctl.view.caps import Caps
    from lbctl.wire.request import Headers

_AS_THEY_COME: Final = ("reply", "pretty", "text", "raw")
_WIDTH: Final = 100  # of the reasons of a pick, where no terminal says


class CallPrinter:
    """Shows calls as they go on, in the format of the settings."""

    def __init__(self, settings: Settings, caps: Caps, service: str, prompt: Prompt | None = None) -> None:
        from lbctl.cli.patient_output import PatientOutput
        from lbctl.view.theme import Look

        self._settings = settings
        self._form = settings.output or "reply"
        self._look = Look(caps.err_style, caps.err_glyphs)
        self._width = caps.out_width if caps.out_tty else None
        self._detail = detail(settings)
        self._prompt = prompt
        self._out = PatientOutput()
        self._methods = again(settings).command("methods", service, options=("--all",))

    def begun(self, picked: Picked, metadata: Headers, sensitive: frozenset[bytes]) -> None:
        """Tell with -v why a call goes where it goes, and what it carries beside its message."""
        if not self._settings.verbose:
            return
        from lbctl.view.call import begun_lines

        for line in begun_lines(picked, metadata, sensitive, self._look, width() or _WIDTH):
            self._detail(line)

    async def answered(self, answer: Answer) -> None:
        """Print a message, unless the whole call is printed when it has ended."""
        if self._form not in _AS_THEY_COME or answer.unreadable:
            return
        from lbctl.view.call import octets_of, reply_text

        asking = self._prompt is not None and self._prompt.hide()
        if self._form == "raw":
            await self._out.write(octets_of(answer))
        else:
            text = f"{reply_text(answer, self._form, self._width)}\n"
            await self._out.write(text.encode(sys.stdout.encoding or "utf-8", "backslashreplace"))
        if asking and self._prompt is not None:
            self._prompt.show()

    def ended(self, done: Done) -> None:
        """Tell where a call went, how it ended, and what is wrong with it."""
        from lbctl.view.call import detail_lines, ended_line, error_hint, error_text, heard_lines

        if self._settings.verbose:
            for line in heard_lines(done, self._look):
                self._detail(line)
        if self._form == "jsonl":
            from lbctl.view.call_document import call_record
            from lbctl.view.output import as_json_line

            print(as_json_line(call_record(done)), flush=True)  # noqa: T201
        if not self._settings.quiet:
            self._say(ended_line(done, self._look))
        if done.is_ok or done.is_cancelled:  # by whom is said at the end of all
            return
        self._say(f"error: {error_text(done)}")
        for line in detail_lines(done):
            self._say(line)
        hint = error_hint(done, self._methods)
        if hint and not self._settings.quiet:
            self._say(f"hint: {hint}")

    def finish(self, called: Called) -> None:
        """Print the document, where that is what was asked for."""
        from lbctl.commands.stopping import spelled

        if called.signal is not None and not self._settings.quiet:
            self._say(f"cancelled by {spelled(called.signal)}")
        if self._form not in ("json", "yaml"):
            return
        from lbctl.view.call_document import call_document
        from lbctl.view.output import as_json, as_yaml

        document = call_document(called)
        print(as_json(document) if self._form == "json" else as_yaml(document), flush=True)  # noqa: T201

    def note(self, line: str) -> None:
        """Tell what is worth knowing before a call."""
        if not self._settings.quiet:
            self._say(line)

    def _say(self, line: str) -> None:
        if self._prompt is not None:
            self._prompt.hide()
        say(line)
