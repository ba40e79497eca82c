"""How printed files differ from others, or from what would be printed now, function by function."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

from ..errors import SymgradError, TargetError
from ..pipeline import Printed
from ..records import dataclass, replace
from .checking import Printings, Work, verified
from .files import MARK, command_of, language_of
from .interface import of_header, of_python
from .ways import way_of

_HEAD = re.compile(r'\A(?:""".*?"""|/\*.*?\*/)\n', re.DOTALL)  # of a file: what it computes, and how it was printed


@dataclass(frozen=True, slots=True)
class Unit:
    """The files of one function in one language, by name.

    command  the words that print it again, behind `symgrad generate`
    """

    folder: str
    to: str
    command: tuple[str, ...]
    files: Mapping[str, str]

    @property
    def interface(self) -> list[str]:
        """What callers rely on."""
        read = [of_header(t) if n.endswith(".h") else of_python(t) for n, t in self.files.items() if n[-2:] != ".c"]
        return [fact for facts in read for fact in facts]


@dataclass(frozen=True, slots=True)
class Compared:
    """What differs.

    kind       "same", "header" where nothing else differs, "text", "added", "removed"
    interface  the lines of it that differ
    results    what came of running it, in lines
    agree      whether it computes what is declared now; None where nobody knows
    lines      the text as a diff
    """

    folder: str
    to: str
    kind: str
    interface: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    agree: bool | None = None
    lines: tuple[str, ...] = ()

    def __str__(self) -> str:
        said = {
            "same": "as it was", "header": "the header alone", "added": "only in what is new",
            "removed": "only in what is old",
        }.get(self.kind, "called in another way" if self.interface else "the text")  # fmt: skip
        first = f"{self.folder}   {self.to}   {said}"
        return "\n".join([first, *(f"    {line}" for line in (*self.interface, *self.results))])


def compared(main: Any, old: Path, new: Path | None, now: Work | None, run: bool, jobs: int) -> Iterator[Compared]:
    """Each function in each language, in order: those of a folder against those of another, or what is printed now, by
    a project, or else by the commands in the heads of the files.

    main  the group of commands, which reads what a head says
    """
    _printings.cache_clear()  # declarations may have changed
    before = _units(old)
    after = {} if new is None else _units(new)
    works = {key: _work(main, unit) for key, unit in [*before.items(), *after.items()]}
    if new is None and now is not None:
        printings = now.printings
        works = {(printings.folder(number, to), to): now for number, to in printings.tasks}
    keys = list(dict.fromkeys([*before, *after, *works]))
    tasks = [_Task(key, before.get(key), after.get(key), works.get(key), new is None, run) for key in keys]
    if jobs == 1:
        yield from map(_compared, tasks)
        return
    with ProcessPoolExecutor(jobs) as pool:
        yield from pool.map(_compared, tasks)


@dataclass(frozen=True, slots=True)
class _Task:
    """What a process is sent: the key of units, these as they are on disk, and what prints them now.

    printed  compare with that
    run      run the code
    """

    key: tuple[str, str]
    old: Unit | None
    new: Unit | None
    work: Work | None
    printed: bool
    run: bool


@cache
def _printings(work: Work) -> Printings:
    """Its functions, resolved once in each process."""
    return work.printings


def _units(folder: Path) -> dict[tuple[str, str], Unit]:
    """What is printed in a folder, by function and language."""
    if not folder.is_dir():
        raise TargetError(f"{folder} is no folder. Name one that symgrad generate --out has written to.")
    paths = [path for path in sorted(folder.glob("*/*")) if path.is_file()]
    texts = {path: path.read_bytes().decode(errors="replace").replace("\r\n", "\n") for path in paths}
    found: dict[tuple[str, str], Unit] = {}
    for name in dict.fromkeys(path.parent.name for path in paths):
        some = {path.name: text for path, text in texts.items() if path.parent.name == name and MARK in text}
        found |= {(name, to): unit for to, unit in _by_language(name, some).items()}
    if not found:
        raise TargetError(f"in {folder} is no file that symgrad has printed. Name what --out named.")
    return found


def _by_language(folder: str, files: Mapping[str, str]) -> dict[str, Unit]:
    """The files of a folder by language; what one stands on, as torch_c on c, belongs to both."""
    commands = {name: command_of(text) for name, text in files.items()}
    found: dict[str, Unit] = {}
    for words in dict.fromkeys(commands.values()):
        own = {name: text for name, text in files.items() if commands[name] == words}
        if to := language_of(words):
            found[to] = Unit(folder, to, words, own)
    return found


def _work(main: Any, unit: Unit) -> Work:
    """What prints a unit again."""
    asked = main.commands["generate"].make_context("generate", [*unit.command]).params
    return Work(asked["targets"], (("", way_of(asked)),))


def _compared(task: _Task) -> Compared:
    (folder, to), old, new = task.key, task.old, task.new
    now: dict[int, Printed] = {}
    said = ""
    if task.work is not None:
        try:
            now = _printed(_printings(task.work), folder, to)
        except SymgradError as error:
            said = str(error).partition("\n")[0]
    if task.printed and now:
        new = _by_language(folder, next(iter(now.values())).files)[to]
    if task.printed and said:
        return Compared(folder, to, "text", (), (f"not printed any more: {said}",))
    if old is None or new is None:
        return Compared(folder, to, "removed" if new is None else "added")
    lines = _diff(old.files, new.files)
    kind = "same" if old.files == new.files else "header" if _bodies(old) == _bodies(new) else "text"
    if kind != "text":
        return Compared(folder, to, kind, lines=lines)
    interface = tuple(_changes(old.interface, new.interface))
    results: tuple[list[str], bool | None] = ([], None)
    if task.run and said:
        results = [f"not run: {said}"], None
    elif task.run and task.work is not None:
        results = _results(_printings(task.work), now, {"old": old} | ({} if task.printed else {"new": new}))
    return Compared(folder, to, kind, interface, tuple(results[0]), results[1], lines)


def _printed(printings: Printings, folder: str, to: str) -> dict[int, Printed]:
    """The functions of a folder as they are printed now, by number."""
    numbers = [k for k in range(len(printings.functions)) if printings.folder(k, to) == folder]
    if not numbers:
        raise TargetError(f"{folder} is declared no more")
    return {number: printings(number, to) for number in numbers}


def _results(
    printings: Printings, now: Mapping[int, Printed], units: Mapping[str, Unit]
) -> tuple[list[str], bool | None]:
    """What came of the check of some units against what is declared now; and whether all agree, if that is known."""
    said: list[str] = []
    agree: bool | None = True
    for which, unit in units.items():
        for number, printing in now.items():
            if _signatures(unit) != _signatures(_by_language(unit.folder, printing.files)[unit.to]):
                return [f"the {which} code is not run: it is called otherwise than what is declared now"], None
            files = {name: unit.files.get(name, text) for name, text in printing.files.items()}
            outcome = verified(printings.functions[number], replace(printing, files=files))
            if outcome.report is None:
                return [f"the {which} code is not run: {(outcome.lacking or outcome.failed).splitlines()[0]}"], None
            if outcome.report.failures:
                agree = False
                first = outcome.report.failures[0]
                said.append(f"the {which} code does not compute what is declared now")
                said.append(f"    {first.place}: expected {first.expected}, obtained {first.obtained}")
                break
        else:
            said.append(f"the {which} code computes what is declared now")
    return said, agree


def _signatures(unit: Unit) -> list[str]:
    """What it is called by; what a file saves for itself may change."""
    return [fact for fact in unit.interface if not fact.startswith((" ", "#"))]


def _bodies(unit: Unit) -> dict[str, str]:
    return {name: _HEAD.sub("", text, count=1) for name, text in unit.files.items()}


def _changes(old: list[str], new: list[str]) -> list[str]:
    lines = difflib.unified_diff(old, new, lineterm="", n=0)
    return [line for line in lines if not line.startswith(("---", "+++", "@@"))]


def _diff(old: Mapping[str, str], new: Mapping[str, str]) -> tuple[str, ...]:
    lines: list[str] = []
    for name in dict.fromkeys([*old, *new]):
        before, after = (some.get(name, "").splitlines() for some in (old, new))
        lines += difflib.unified_diff(before, after, name, name, lineterm="")
    return tuple(lines)
