"""The layout names that --format takes: those of the table, and auto for whichever recognises a key."""

from lbctl.discovery.codecs import CODECS

LAYOUTS: tuple[str, ...] = ("auto", *(codec.name for codec in CODECS))
