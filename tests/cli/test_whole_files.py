"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from lbctl.cli.whole_files import write_whole

_LITTLE = 1000  # octets that a file may have at most
_SMALL_DISK = f"""
import resource, signal, sys
from pathlib import Path
from lbctl.cli.whole_files import write_whole
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, ({_LITTLE}, {_LITTLE}))
try:
    write_whole(Path(sys.argv[1]), "new" * {_LITTLE})
except OSError as error:
    print(error.strerror)
"""


def test_a_file_holds_all_of_the_text_and_keeps_its_permissions(tmp_path: Path) -> None:
    file = tmp_path / "run.json"
    file.write_text("old")
    file.chmod(0o640)
    write_whole(file, "né")
    assert file.read_bytes() == "né".encode()
    assert file.stat().st_mode & 0o777 == 0o640
    assert os.listdir(tmp_path) == ["run.json"]


def test_a_new_file_has_the_permissions_that_any_new_file_has(tmp_path: Path) -> None:
    (tmp_path / "any").touch()
    write_whole(tmp_path / "new", "text")
    assert (tmp_path / "new").stat().st_mode == (tmp_path / "any").stat().st_mode


@pytest.mark.skipif(sys.platform == "win32", reason="there are no limits to set")
def test_what_a_file_held_is_still_there_when_the_new_text_does_not_fit(tmp_path: Path) -> None:
    file = tmp_path / "run.json"
    file.write_text("old")
    done = subprocess.run([sys.executable, "-c", _SMALL_DISK, str(file)], capture_output=True, text=True, check=True)
    assert done.stdout == "File too large\n"
    assert file.read_text() == "old"
    assert os.listdir(tmp_path) == ["run.json"]


def test_the_file_behind_a_link_is_written_and_the_link_stays(tmp_path: Path) -> None:
    file, link = tmp_path / "file", tmp_path / "link"
    file.write_text("old")
    link.symlink_to(file)
    write_whole(link, "new")
    assert link.is_symlink()
    assert file.read_text() == "new"


def test_files_with_other_names_are_written_in_place(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("old")
    os.link(file, tmp_path / "other")
    write_whole(file, "new")
    assert (tmp_path / "other").read_text() == "new"


def test_a_pipe_is_written_to(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    write_whole(Path(f"/dev/fd/{writing}"), "text")
    os.close(writing)
    with open(reading) as pipe:
        assert pipe.read() == "text"
