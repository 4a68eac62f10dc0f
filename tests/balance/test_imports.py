"""Any module may be the first that is imported: none needs another one to have been there before it."""

from __future__ import annotations

import pkgutil
import subprocess
import sys

import lbctl.balance

_EACH_FIRST = """
import importlib, sys
for name in sys.argv[1:]:
    for loaded in [each for each in sys.modules if each.partition(".")[0] == "lbctl"]:
        del sys.modules[loaded]
    try:
        importlib.import_module(name)
    except ImportError as error:
        print(f"{name}: {error}")
"""


def test_every_module_of_the_balancer_may_be_imported_first() -> None:
    names = [each.name for each in pkgutil.walk_packages(lbctl.balance.__path__, "lbctl.balance.")]
    assert "lbctl.balance.hashing.picker" in names
    command = [sys.executable, "-c", _EACH_FIRST, *names]
    assert subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout == ""
