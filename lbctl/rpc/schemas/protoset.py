"""Files of descriptors as protoc and buf write them: a FileDescriptorSet."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet
from google.protobuf.message import DecodeError

from lbctl.errors import UsageError

_MAKE: Final = "make one: protoc --include_imports --descriptor_set_out=FILE X.proto, or: buf build -o FILE.binpb"


def read_protoset(path: Path) -> list[FileDescriptorProto]:
    """Read the files of a set; raises UsageError for a file that cannot be read or is none."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f"--protoset: cannot read {path}: {(error.strerror or str(error)).lower()}", _MAKE) from None
    try:
        files = list(FileDescriptorSet.FromString(data).file)
    except DecodeError:
        files = []
    if not files or not all(file.name for file in files):
        raise UsageError(f"--protoset: {path} is {_instead(path, data)}", _advice(path))
    return files


def _instead(path: Path, data: bytes) -> str:
    """What a file is that is no set of descriptors."""
    if not data:
        return "empty"
    if path.suffix == ".proto":
        return "protobuf source, not a FileDescriptorSet"
    return "not a FileDescriptorSet"


def _advice(path: Path) -> str:
    return f"give it as --proto {path}" if path.suffix == ".proto" else _MAKE
