"""The names of layouts: all that are read, with auto for whichever recognises a key, and those that are written."""

from lbctl.discovery.codecs import CODECS

LAYOUTS: tuple[str, ...] = ("auto", *(codec.name for codec in CODECS))
WRITERS: tuple[str, ...] = tuple(codec.name for codec in CODECS if codec.write is not None)
