"""A plugin of pytest: each function of a project, in each language, is a test.

`pytest --symgrad` asks of each that the committed file is what is printed, and that the check passes; in `addopts` it
is asked of every run. Without it nothing of symgrad is imported but this file: to be installed changes no run. The
items are of pyproject.toml, whose table [tool.symgrad] names the functions, so `pyproject.toml::softmax[numpy]` is one.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .errors import SymgradError
from .later import Later

testing: Any = Later("symgrad.cli.testing")  # a run without --symgrad does without it
FILE = "pyproject.toml"


def pytest_addoption(parser: pytest.Parser) -> None:
    """The option."""
    parser.getgroup("symgrad").addoption(
        "--symgrad", action="store_true", help="test that printed files are as printed, and pass their check"
    )


def pytest_configure(config: pytest.Config) -> None:
    """A run of everything has the project, too, wherever its tests are looked for."""
    path = config.rootpath / FILE
    everything = config.args_source is not config.ArgsSource.ARGS and not hasattr(config, "workerinput")
    if config.option.symgrad and everything and path.is_file():
        if not any(Path(arg).resolve() in path.resolve().parents for arg in config.args):
            config.args.append(str(path))


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> ProjectFile | None:
    """The project of a pyproject.toml that has one."""
    if parent.config.option.symgrad and file_path.name == FILE and "tool.symgrad" in file_path.read_text("utf-8"):
        return ProjectFile.from_parent(parent, path=file_path)
    return None


class ProjectFile(pytest.File):
    """The functions of a project."""

    def collect(self) -> Iterator[pytest.Item]:
        """One item for each in each language."""
        tested = testing.Tested(self.path.parent)
        for number, function, to in tested.tasks():
            yield PrintedItem.from_parent(self, name=f"{function}[{to}]", tested=tested, number=number, to=to)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """A mistake in the table or a declaration, in its own words."""
        return _said(excinfo) or super().repr_failure(excinfo)


class PrintedItem(pytest.Item):
    """The files are as printed, and the check passes; skipped where this machine cannot run them, or the language has
    no words for the function."""

    def __init__(self, *, tested: Any, number: int, to: str, **keywords: Any) -> None:
        super().__init__(**keywords)
        self.tested, self.number, self.to = tested, number, to

    def runtest(self) -> None:
        """Run it."""
        if reason := self.tested.test(self.number, self.to):
            pytest.skip(reason)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """What is wrong, without a traceback of symgrad's."""
        return _said(excinfo) or super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, None, str]:
        """Where it is."""
        return self.path, None, self.name


def _said(excinfo: pytest.ExceptionInfo[BaseException]) -> str:
    return str(excinfo.value) if isinstance(excinfo.value, SymgradError) else ""
