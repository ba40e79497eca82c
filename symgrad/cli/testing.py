"""The functions of a project as tests: what the plugin of pytest asks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path

from ..errors import SymgradError
from ..records import replace
from . import main
from .checking import Work
from .config import project
from .files import difference, placed


class Wrong(SymgradError):
    """A printed file, or a check, is not as it should be."""


class Tested:
    """A project, read once in a process: printed as `symgrad generate` does it, and checked as `symgrad check`."""

    def __init__(self, root: Path) -> None:
        self.root = root
        run, checks = (project(main, name, start=root) for name in ("generate", "check"))
        own = dict(checks.work.ways)
        ways = [(name, replace(way, full=own[name].full, seconds=own[name].seconds, seed=own[name].seed))
                for name, way in run.work.ways]  # fmt: skip
        self.work: Work = replace(run.work, ways=tuple(ways))
        with chdir(root):
            self.printings = self.work.printings

    def tasks(self) -> Iterator[tuple[int, str, str]]:
        """The number and name of each function, with each language."""
        return ((number, self.printings.functions[number].name, to) for number, to in self.printings.tasks)

    def test(self, number: int, to: str) -> str:
        """Raise Wrong where files are not as printed, or the check fails; return why it could not be asked here."""
        with chdir(self.root):
            outcome = self.work.one(number, to)
            folder = self.printings.ways[number].folder(outcome.folder)
            lines = [line for file in placed(folder, dict(outcome.files)) for line in difference(file)]
        said = [*lines, "Print it again: symgrad generate"] if lines else []
        if outcome.failed:
            said.append(outcome.failed)
        if outcome.report is not None and not outcome.report.ok:
            said.append(str(outcome.report))
        if said:
            raise Wrong("\n".join(said))
        return outcome.refused or outcome.lacking
