"""The scripts of ``completions/``, for packages to bring; ``python -m tests.cli.completions`` writes them anew."""

from __future__ import annotations

from pathlib import Path

from lbctl.cli.completion_scripts import SCRIPTS

FOLDER = Path(__file__).parents[2] / "completions"


def scripts() -> dict[Path, str]:
    return {FOLDER / script.file: script.text for script in SCRIPTS.values()}


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for path, text in scripts().items():
        path.write_text(text, encoding="utf-8")
