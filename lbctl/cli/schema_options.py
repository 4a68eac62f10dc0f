"""The options that say who describes methods and messages, where that is not to be server reflection."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from lbctl.cli.completion_values import files, folders
from lbctl.cli.flags import Flags, option
from lbctl.errors import UsageError

if TYPE_CHECKING:
    from lbctl.rpc.schemas.described_files import DescribedFiles

PANEL: Final = "Schema"


@dataclass(frozen=True, slots=True)
class SchemaFlags(Flags):
    """Files that describe methods; with any of them nobody is asked by server reflection."""

    protoset: Annotated[
        list[Path] | None,
        option(
            "--protoset",
            text="descriptors in place of server reflection: a FileDescriptorSet, as protoc --descriptor_set_out and "
            "buf build write it; may be repeated",
            metavar="FILE",
            panel=PANEL,
        ),
    ] = None
    proto: Annotated[
        list[Path] | None,
        option(
            "--proto",
            text="the same from protobuf source; needs grpcio-tools: pip install 'lbctl[proto]'; may be repeated",
            metavar="FILE",
            panel=PANEL,
            completes=files("*.proto"),
        ),
    ] = None
    import_path: Annotated[
        list[Path] | None,
        option(
            "--import-path",
            text="where --proto and what it imports are looked for (default: the current folder, then that of the "
            "file); may be repeated",
            metavar="DIR",
            panel=PANEL,
            completes=folders(),
        ),
    ] = None


def source_of(flags: SchemaFlags) -> DescribedFiles | None:
    """Return what the files describe, None where there are none; raises UsageError for files that cannot be used."""
    if flags.import_path and not flags.proto:
        raise UsageError("--import-path is for --proto", "give the source too: --proto FILE")
    if not flags.protoset and not flags.proto:
        return None
    from lbctl.rpc.schemas.described_files import DescribedFiles
    from lbctl.rpc.schemas.protoset import read_protoset

    written = [(f"--protoset {path}", read_protoset(path.expanduser())) for path in flags.protoset or ()]
    if flags.proto:
        from lbctl.rpc.schemas.protoc import compile_protos

        sources = [path.expanduser() for path in flags.proto]
        made = compile_protos(sources, [path.expanduser() for path in flags.import_path or ()])
        written.append((" ".join(f"--proto {path}" for path in flags.proto), made))
    return DescribedFiles(written)
