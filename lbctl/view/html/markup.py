"""Pieces of a page. Text is escaped wherever it becomes one: only what is ``Html`` already is taken as it is."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Final, TypeAlias

from lbctl.view.text import clean

_VOID: Final = frozenset({"meta", "link", "br", "rect", "line", "path", "polyline"})


class Html(str):
    """Markup that is safe to stand in a page."""

    __slots__ = ()


Child: TypeAlias = "str | Html | None"


def text(words: str, limit: int = 500) -> Html:
    """Escape text for a page; what cannot be seen, or would turn text around, is spelled as its code."""
    return Html(escape(clean(words, limit)))


def el(tag: str, *children: Child, cls: str = "", **attributes: object) -> Html:
    """One element. Attributes are escaped too; those of None are left out, and ``_`` in a name is ``-``."""
    given = {"class": cls or None, **attributes}
    spelled = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{value if isinstance(value, Html) else text(str(value))}"'
        for name, value in given.items()
        if value is not None
    )
    if tag in _VOID and not children:
        return Html(f"<{tag}{spelled}>" if tag in ("meta", "link", "br") else f"<{tag}{spelled}/>")
    return Html(f"<{tag}{spelled}>{joined(children)}</{tag}>")


def joined(children: Iterable[Child], between: str = "") -> Html:
    """Several pieces behind each other; None is nothing."""
    return Html(between.join(each if isinstance(each, Html) else text(each) for each in children if each is not None))


def data(document: str, name: str) -> Html:
    """A JSON document that ``report`` finds in the page; nothing in it ends the element or starts another."""
    safe = document.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    safe = safe.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    shown = escape(clean(name))
    return Html(f'<script type="application/json" class="lbctl-run" data-name="{shown}">{safe}</script>')
