"""Run lbctl as ``python -m lbctl``."""

from lbctl.cli import main

main()
