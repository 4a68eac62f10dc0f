"""``lbctl ls --explain KEY``: its result on standard output."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lbctl.cli.settings import Settings
from lbctl.errors import UsageError

if TYPE_CHECKING:
    from lbctl.discovery.reading import Explanation

_OUTPUTS = ("table", "wide", "json", "yaml")


def explain_key(key: str, settings: Settings) -> int:
    """Print what every layout makes of one key."""
    from lbctl.cli.loop import run_plain
    from lbctl.cli.reading_progress import reading
    from lbctl.cli.registry import etcd_config
    from lbctl.cli.suggestions import again
    from lbctl.commands.explain import Explain, explain
    from lbctl.etcd.client import Etcd

    same = again(settings)
    if not key:
        raise UsageError("--explain needs a key", f"see what there is: {same.command('ls', options=('--all',))}")
    if settings.output not in _OUTPUTS:
        raise UsageError(f"--explain has no output format {settings.output!r}", f"use one of: {', '.join(_OUTPUTS)}")
    request = Explain(key, settings.prefix, settings.layout, settings.service_from, same)

    async def work() -> Explanation:
        with reading(quiet=settings.quiet) as tell:
            async with Etcd(etcd_config(settings)) as etcd:
                return await explain(etcd, request, tell)

    print(_text(run_plain(work()), settings))  # noqa: T201
    return 0


def _text(explanation: Explanation, settings: Settings) -> str:
    from lbctl.cli.screens import caps_of
    from lbctl.view.document import explanation_document
    from lbctl.view.output import as_json, as_yaml
    from lbctl.view.services import Look, trials_table

    if settings.output in ("json", "yaml"):
        document = explanation_document(explanation)
        return as_json(document) if settings.output == "json" else as_yaml(document)
    caps = caps_of(settings)
    width = None if settings.output == "wide" else caps.out_width
    look = Look(caps.out_style, caps.out_glyphs, width, headers=not settings.no_headers)
    return "\n".join(trials_table(explanation.trials, look).lines)
