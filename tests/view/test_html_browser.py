"""Pages as a real browser shows them, where one is installed: light and dark, wide and narrow, and nothing refused."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

from lbctl.view.html.page import run_page
from tests.view.sample import sample
from tests.view.test_html import SAMPLES, page_of

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = [pytest.mark.slow, pytest.mark.skipif(BROWSER is None, reason="needs chromium")]


def browse(*arguments: str) -> str:
    """What the browser wrote to standard error: among other things, what pages have on their console."""
    assert BROWSER is not None
    command = [
        BROWSER,
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--hide-scrollbars",
        "--enable-logging=stderr",
    ]
    return subprocess.run([*command, *arguments], capture_output=True, timeout=120, check=True, text=True).stderr


def picture(page: Path, width: int, scheme: int) -> Image.Image:
    """The page as it is seen; ``scheme`` is 0 for dark and 1 for light."""
    shot = page.with_suffix(".png")
    settings = (f"--blink-settings=preferredColorScheme={scheme}", f"--window-size={width},2400")
    browse(*settings, f"--screenshot={shot}", page.as_uri())
    with Image.open(shot) as found:
        return found.convert("RGB")


def page_in(folder: Path) -> Path:
    path = folder / "run.html"
    path.write_text(run_page(replace(sample(5, in_flight=0), samples=SAMPLES, elapsed_s=5.0)), encoding="utf-8")
    return path


def test_pages_are_light_or_dark_as_the_reader_has_it(tmp_path: Path) -> None:
    page = page_in(tmp_path)
    assert picture(page, 1280, 1).getpixel((5, 5)) == (0xF6, 0xF7, 0xF9)
    assert picture(page, 1280, 0).getpixel((5, 5)) == (0x10, 0x13, 0x17)


def test_a_narrow_page_has_nothing_beside_it(tmp_path: Path) -> None:
    """What is too wide scrolls in its own box: the page's margin is empty on both sides."""
    narrow = picture(page_in(tmp_path), 500, 1)
    right = {narrow.getpixel((narrow.width - 4, y)) for y in range(narrow.height)}
    assert right == {(0xF6, 0xF7, 0xF9)}


def test_a_browser_finds_nothing_to_refuse_even_in_hostile_pages(tmp_path: Path) -> None:
    for name in ("hostile", "compared"):
        page = tmp_path / f"{name}.html"
        page.write_text(page_of(name), encoding="utf-8")
        said = browse("--virtual-time-budget=1000", "--dump-dom", page.as_uri())
        assert "CONSOLE" not in said
