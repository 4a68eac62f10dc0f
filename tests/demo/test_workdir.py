import subprocess
import sys
from pathlib import Path

import pytest

from lbctl.demo.workdir import PREFIX, reap, working_directory

HOLD = """
import sys
from pathlib import Path
from lbctl.demo.workdir import working_directory
with working_directory(Path(sys.argv[1])) as path:
    (path / "wal").write_bytes(b"x")
    print(path, flush=True)
    sys.stdin.read()
"""


def test_the_directory_is_gone_after_the_block(tmp_path: Path) -> None:
    with working_directory(tmp_path) as path:
        (path / "wal").write_bytes(b"x")
    assert list(tmp_path.iterdir()) == []


def test_the_directory_is_gone_after_an_error(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), working_directory(tmp_path):
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []


def test_the_directory_of_a_running_demo_is_left_alone(tmp_path: Path) -> None:
    with working_directory(tmp_path) as path:
        reap(tmp_path)
        assert path.is_dir()


def test_a_directory_that_has_no_lock_yet_is_left_alone(tmp_path: Path) -> None:
    starting = tmp_path / f"{PREFIX}starting"
    starting.mkdir()
    reap(tmp_path)
    assert starting.is_dir()


def test_a_link_that_only_looks_like_a_demo_is_left_alone(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "lock").touch()
    (tmp_path / f"{PREFIX}link").symlink_to(precious)
    reap(tmp_path)
    assert (precious / "lock").exists()


@pytest.mark.e2e
@pytest.mark.skipif(sys.platform == "win32", reason="no file locks of this kind")
def test_what_a_killed_demo_left_is_removed_by_the_next_one(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        left = Path(holder.stdout.readline().strip())
        holder.kill()
        holder.wait()
        assert left.is_dir()
        with working_directory(tmp_path):
            assert not left.exists()
