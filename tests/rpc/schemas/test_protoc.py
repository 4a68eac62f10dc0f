from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from lbctl.errors import UsageError
from lbctl.rpc.schemas.protoc import compile_protos

COMMON: Final = 'syntax = "proto3";\npackage p;\nmessage Text { string message = 1; }\n'
ECHO: Final = """\
syntax = "proto3";
package p;
import "common.proto";
import "google/protobuf/timestamp.proto";
// Says things.
service Echo { rpc Say(Text) returns (google.protobuf.Timestamp); }
"""

Write = Callable[[str, str], Path]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    monkeypatch.chdir(tmp_path)

    def written(name: str, text: str) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return Path(name)

    return written


def test_sources_are_compiled_with_their_imports_and_comments(write: Write) -> None:
    echo = write("protos/echo.proto", ECHO)
    write("protos/common.proto", COMMON)
    files = {file.name: file for file in compile_protos([echo], [])}
    assert list(files) == ["common.proto", "google/protobuf/timestamp.proto", "protos/echo.proto"]
    comments = [each.leading_comments for each in files["protos/echo.proto"].source_code_info.location]
    assert " Says things.\n" in comments


def test_a_source_is_found_below_the_import_paths(write: Write) -> None:
    write("here/echo.proto", ECHO)
    write("there/common.proto", COMMON)
    files = compile_protos([Path("echo.proto")], [Path("here"), Path("there")])
    assert [file.name for file in files if file.package == "p"] == ["common.proto", "echo.proto"]


def test_the_place_of_a_mistake_is_protocs_own(write: Write) -> None:
    bad = write("bad.proto", 'syntax = "proto3";\nmessage M { strin x = 1; }\n')
    with pytest.raises(UsageError, match=r'^--proto: protoc: bad\.proto:2:13: "strin" is not defined\.$'):
        compile_protos([bad], [])


def test_an_import_that_is_not_there_asks_for_where_imports_begin(write: Write) -> None:
    echo = write("echo.proto", ECHO)
    with pytest.raises(UsageError, match=r"\n?common\.proto: File not found\.") as error:
        compile_protos([echo], [])
    assert error.value.hint == "say where imports begin: --import-path DIR"


def test_a_source_outside_the_import_paths_is_explained(write: Write) -> None:
    common = write("common.proto", COMMON)
    (Path("other")).mkdir()
    with pytest.raises(UsageError, match="--proto: ") as error:
        compile_protos([common], [Path("other")])
    assert error.value.hint == "give a folder that the file is in: --import-path DIR"


@pytest.mark.parametrize(
    ("source", "folder", "what"),
    [
        ("gone.proto", None, "^--proto: there is no file gone.proto$"),
        ("gone.proto", ".", "^--proto: there is no file gone.proto, nor in .$"),
        (".", None, "^--proto: . is a folder$"),
        ("a.proto", "nowhere", "^--import-path: nowhere is not there$"),
        ("a.proto", "a.proto", "^--import-path: a.proto is no folder$"),
        ("a.proto", "a:b", "^--import-path: protoc takes no ':' in the name of a folder"),
    ],
)
def test_files_and_folders_that_are_not_there_are_told(
    write: Write, source: str, folder: str | None, what: str
) -> None:
    write("a.proto", COMMON)
    write("a:b/x.proto", COMMON)
    with pytest.raises(UsageError, match=what):
        compile_protos([Path(source)], [] if folder is None else [Path(folder)])


def test_without_grpcio_tools_the_extra_is_named(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    common = write("common.proto", COMMON)
    monkeypatch.setitem(sys.modules, "grpc_tools", None)
    with pytest.raises(UsageError, match="needs protoc, which is not installed") as error:
        compile_protos([common], [])
    assert error.value.hint == "pip install 'lbctl[proto]', or give descriptors: --protoset FILE"
