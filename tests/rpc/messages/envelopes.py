"""A message that may hold anything, and what may be put into it that its own file does not import."""

from __future__ import annotations

from google.protobuf.descriptor_pb2 import FileDescriptorProto

from tests.rpc.protos import F, add_field


def envelope() -> FileDescriptorProto:
    """Describe a message with an Any, and room for extensions."""
    file = FileDescriptorProto(name="e.proto", package="e", syntax="proto2")
    file.dependency.append("google/protobuf/any.proto")
    message = file.message_type.add(name="Envelope")
    add_field(message, "name", 1, F.TYPE_STRING)
    add_field(message, "content", 2, F.TYPE_MESSAGE, ".google.protobuf.Any")
    message.extension_range.add(start=100, end=200)
    file.service.add(name="S").method.add(name="M", input_type=".e.Envelope", output_type=".e.Envelope")
    return file


def letters() -> list[FileDescriptorProto]:
    """Describe what is put into envelopes, in files that import each other; none is known to the method."""
    paper = FileDescriptorProto(name="paper.proto", package="x", syntax="proto3")
    add_field(paper.message_type.add(name="Paper"), "weight", 1, F.TYPE_INT64)
    letter = FileDescriptorProto(name="letter.proto", package="x", syntax="proto3", dependency=["paper.proto"])
    add_field(letter.message_type.add(name="Letter"), "paper", 1, F.TYPE_MESSAGE, ".x.Paper")
    stamp = FileDescriptorProto(name="stamp.proto", package="x", syntax="proto2", dependency=["e.proto", "paper.proto"])
    for name, number, kind, of in (
        ("price", 100, F.TYPE_INT64, ""),
        ("made_of", 101, F.TYPE_MESSAGE, ".x.Paper"),
        ("seals", 102, F.TYPE_STRING, "[]"),
    ):
        holder = FileDescriptorProto().message_type.add(name="Holder")
        stamp.extension.add().CopyFrom(add_field(holder, name, number, kind, of))
        stamp.extension[-1].extendee = ".e.Envelope"
    return [paper, letter, stamp, envelope()]
