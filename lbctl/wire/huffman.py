"""HPACK's Huffman code, decoded an octet at a time (RFC 7541 §5.2, appendix B; the code itself comes from ``hpack``).

The decoder is a tree walked bit by bit; where eight bits lead from a node, and what they spell on the way, is worked
out the first time it is needed and kept, so that a long value costs one lookup for each of its octets.
"""

from __future__ import annotations

from typing import Final

from hpack.huffman_constants import REQUEST_CODES, REQUEST_CODES_LENGTH

_EOS: Final = 256
_LONGEST_PADDING: Final = 7  # bits


class BadHuffman(Exception):
    """The octets are not a sequence of codes: the end-of-string code in them, or wrong padding behind them."""


class _Node:
    """An inner node: ``children`` are nodes or symbols, ``padding`` is whether a string may end here."""

    __slots__ = ("children", "depth", "padding", "steps")

    def __init__(self, depth: int, *, padding: bool) -> None:
        self.children: list[_Node | int | None] = [None, None]
        self.depth = depth
        self.padding = padding and depth <= _LONGEST_PADDING
        self.steps: list[tuple[bytes, _Node] | None] = [None] * 256

    def step(self, octet: int) -> tuple[bytes, _Node]:
        """What these eight bits spell from here, and where they lead; raises BadHuffman."""
        node: _Node = self
        spelt = bytearray()
        for shift in range(7, -1, -1):
            child = node.children[(octet >> shift) & 1]
            if isinstance(child, _Node):
                node = child
            elif child is None or child == _EOS:
                raise BadHuffman("end-of-string code in a value")
            else:
                spelt.append(child)
                node = _ROOT
        found = self.steps[octet] = (bytes(spelt), node)
        return found


def _grown() -> _Node:
    root = _Node(0, padding=True)
    for symbol, (code, length) in enumerate(zip(REQUEST_CODES, REQUEST_CODES_LENGTH, strict=True)):
        node = root
        for shift in range(length - 1, 0, -1):
            bit = (code >> shift) & 1
            child = node.children[bit]
            if not isinstance(child, _Node):
                # Padding is the beginning of the end-of-string code, which is all ones.
                child = node.children[bit] = _Node(node.depth + 1, padding=node.padding and bit == 1)
            node = child
        node.children[code & 1] = symbol
    return root


_ROOT: Final = _grown()


def decode(raw: bytes) -> bytes:
    """The octets that a Huffman-coded string stands for; raises BadHuffman."""
    node = _ROOT
    spelt = bytearray()
    for octet in raw:
        found = node.steps[octet]
        if found is None:
            found = node.step(octet)
        part, node = found
        spelt += part
    if not node.padding:
        raise BadHuffman("wrong padding behind a value")
    return bytes(spelt)
