"""A run that was saved by a real hammer, shown again by a real report."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.conftest import Standing
from tests.e2e.runs import hammer, lbctl

pytestmark = pytest.mark.e2e


async def test_a_saved_run_and_a_page_say_what_the_summary_said(demo: Standing, tmp_path: Path) -> None:
    done = await hammer("echo", "-n", "2000", "--save", "run.json", etcd=demo.etcd, cwd=tmp_path)
    assert done.status == 0
    assert (await lbctl("report", "run.json", cwd=tmp_path)).out == done.out
    page = await lbctl("report", "run.json", "-o", "html", cwd=tmp_path)
    (tmp_path / "run.html").write_text(page.out, encoding="utf-8")
    assert (await lbctl("report", "run.html", cwd=tmp_path)).out == done.out


@pytest.mark.slow
async def test_a_page_of_hammer_is_read_and_compared_with_a_saved_run(demo: Standing, tmp_path: Path) -> None:
    done = await hammer(
        "echo", "-r", "400", "-n", "200", "--save", "a.json", "-o", "html", etcd=demo.etcd, cwd=tmp_path
    )
    assert done.out.startswith("<!doctype html>\n<html ")
    assert (await lbctl("report", "a.json", "-o", "html", cwd=tmp_path)).out == done.out
    (tmp_path / "b.html").write_text(done.out, encoding="utf-8")
    compared = await lbctl("report", "a.json", "b.html", "--fail-on-regression", cwd=tmp_path)
    assert (compared.status, compared.out.count("no difference")) == (0, 7), compared.out
