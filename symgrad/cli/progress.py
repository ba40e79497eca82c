"""What is being done, on a terminal: one line, which is gone before anything else is written."""

from __future__ import annotations

import shutil
import sys

import click


def quietly(doing: str) -> None:
    """Tell nobody."""


class Progress:
    """The line, of so many pieces of work; nothing where errors do not go to a terminal."""

    def __init__(self, count: int, quiet: bool = False) -> None:
        self.count, self.number, self.what = count, 0, ""
        self.terminal = sys.stderr.isatty() and not quiet

    def next(self, what: str) -> None:
        """Begin the next piece."""
        self.number += 1
        self.what = f"{self.number} of {self.count}   {what}" if self.count > 1 else what
        self.doing("")

    def doing(self, what: str) -> None:
        """What is done of it at the moment."""
        self._write(f"{self.what}   {what}"[: shutil.get_terminal_size().columns - 1])

    def done(self) -> None:
        """Make room for what is written."""
        self._write("")

    def _write(self, line: str) -> None:
        if self.terminal:
            click.echo(f"\r\033[K{line}", nl=False, err=True)
