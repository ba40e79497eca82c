"""Printing again whenever a declaration changes.

Each time it is a process of its own, which imports everything anew and says in its --depfile which files it has read.
Those are some tens, so they are asked for their times: watchfiles would find out the same by watching folders, in which
what is meant has to be told apart from all else.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import click

from .config import FILE
from .sources import named_files
from .ways import WORDS

PAUSE = 0.3  # seconds between two looks
SETTLED = 0.1  # seconds: an editor writes a file in several steps


def watched(ctx: click.Context) -> int:
    """Print, wait for a change, and print again, until the user ends it."""
    words = [word for word in ctx.meta[WORDS] if word != "--watch"]
    with tempfile.TemporaryDirectory() as folder:
        depfile = Path(folder, "depfile")
        command = [sys.executable, "-m", "symgrad", str(ctx.info_name), *words, f"--depfile={depfile}"]
        files: set[Path] = {Path(FILE), *named_files(ctx.params["targets"])}
        while True:
            before = _times(files)
            subprocess.run(command, check=False)
            files |= _read(depfile)
            before |= {path: stamp for path, stamp in _times(files).items() if path not in before}
            click.echo(f"watching {len(before)} files; Ctrl-C ends it", err=True)
            try:
                while _times(files) == before:
                    time.sleep(PAUSE)
                time.sleep(SETTLED)
            except KeyboardInterrupt:
                return 0


def write_depfile(depfile: Path, files: Sequence[Path], needed: Sequence[Path]) -> None:
    """Say, as make and ninja read it, on which files those that were printed depend."""
    written, read = (" ".join(str(p).replace("\\", "/").replace(" ", "\\ ") for p in some) for some in (files, needed))
    depfile.write_text(f"{written}: {read}\n", encoding="utf-8")


def _read(depfile: Path) -> set[Path]:
    """The files behind the colon; none where nothing could be printed."""
    if not depfile.exists():
        return set()
    needed = depfile.read_text(encoding="utf-8").rpartition(": ")[2].strip()
    return {Path(part.replace("\\ ", " ")) for part in re.split(r"(?<!\\) ", needed) if part}


def _times(files: Iterable[Path]) -> dict[Path, int]:
    found = {}
    for path in files:
        try:
            found[path] = path.stat().st_mtime_ns
        except OSError:  # it may come back
            found[path] = 0
    return found
