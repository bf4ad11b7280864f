"""Lets ``python -m peckorder`` stand for ``peckorder``."""

from peckorder.cli import main

main()
