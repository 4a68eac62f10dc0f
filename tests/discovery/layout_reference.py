"""``docs/reference/layouts.md``, made of the table; ``python -m tests.discovery.layout_reference`` writes it."""

from __future__ import annotations

from pathlib import Path

from lbctl.discovery.codecs import CODECS
from lbctl.discovery.codecs.base import COMMON_ROOTS, Codec
from lbctl.discovery.codecs.skipped import TREES

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "layouts.md"
_ROOTS = ", ".join(f"`{root}`" for root in COMMON_ROOTS)
_HEAD = f"""\
# Registry layouts

How registrations in etcd are written, in the order in which the layouts are asked: the first that recognises a key has
it. `lbctl ls --explain KEY` tells what each makes of a key. Under its own folder a layout answers for every key. A weak
layout's values say too little by themselves: the key has to stand beside registrations or under a common folder
({_ROOTS}), to end in an address or in the id of a lease,
or to be asked for with `--prefix` or `--layout`. Made by `python -m tests.discovery.layout_reference`.

| layout | key -> value | its own folders | `lbctl register` |
|---|---|---|---|
"""
_SKIPPED = """
Never read, because no registrations are there:

| tree | what it holds |
|---|---|
"""


def page() -> str:
    """The whole page."""
    trees = (f"| `{tree}` | {reason} |\n" for tree, reason in TREES.items())
    return _HEAD + "".join(map(_row, CODECS)) + _SKIPPED + "".join(trees)


def _row(codec: Codec) -> str:
    folders = "weak" if codec.weak else " ".join(f"`{root}`" for root in codec.roots) or "none"
    form = codec.form.replace("|", "\\|")
    return f"| {codec.name} | `{form}` | {folders} | {'yes' if codec.write else 'no'} |\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
