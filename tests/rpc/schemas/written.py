"""Descriptor files for tests, written as text."""

from __future__ import annotations

from google.protobuf import text_format
from google.protobuf.descriptor_pb2 import FileDescriptorProto


def written(name: str, text: str) -> FileDescriptorProto:
    """A file of that name, whose package is the name without its ending; the text is protobuf's own format."""
    file = FileDescriptorProto(name=name, package=name.removesuffix(".proto"))
    return text_format.Merge(text, file)
