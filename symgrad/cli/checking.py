"""What comes of printing and checking functions in several languages, one after the other or in several processes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import field
from functools import cached_property
from typing import Any

from ..errors import CompilerError, MachineError, TargetError, UnsupportedError
from ..ir import Function
from ..pipeline import Printed, printed, printed_together, refuse_without_domain
from ..pipeline import verified as verified_code
from ..records import dataclass, replace
from ..verify import Report
from . import text
from .kept import Known, known_of
from .progress import Progress, quietly
from .targets import Targets, did_you_mean, resolve
from .ways import Way, ways_of


class Printings:
    """The code of some functions, by the number of one and a language: each by itself, or in one file with all that
    are asked for in the same way, which is printed once."""

    def __init__(self, found: Targets, ways: Sequence[Way]) -> None:
        self.found, self.functions, self.ways = found, found.functions, ways
        self._together: dict[tuple[Way, str], dict[int, Printed]] = {}

    def __call__(self, number: int, to: str) -> Printed:
        """Print one."""
        way, function = self.ways[number], self.functions[number]
        options = ways_of(to, dict(way.options))
        if "file" not in options:
            if not function.domain:
                options.pop("strict_domain", None)  # it is asked for of others
            return printed(function, to, options)
        if (way, to) not in self._together:
            same = [number, *self.beside(number, to)]
            results = printed_together([self.functions[k] for k in sorted(same)], to, options)
            self._together[way, to] = dict(zip(sorted(same), results, strict=True))
        return self._together[way, to][number]

    @property
    def tasks(self) -> list[tuple[int, str]]:
        """The number of each function, with each language."""
        return [(number, to) for number, way in enumerate(self.ways) for to in way.languages]

    def beside(self, number: int, to: str) -> list[int]:
        """The functions that stand in one file with this one."""
        way = self.ways[number]
        if "file" not in ways_of(to, dict(way.options)):
            return []
        return [k for k, other in enumerate(self.ways) if other == way and k != number]

    def folder(self, number: int, to: str) -> str:
        """The folder of its files."""
        return str(ways_of(to, dict(self.ways[number].options)).get("file") or self.functions[number].name)

    def known(self, number: int, to: str) -> Known:
        """What decides whether one is as it was."""
        beside = [self.functions[k] for k in self.beside(number, to)]
        return known_of(self.functions[number], beside, to, self.ways[number])


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one function in one language: a report, or in words why there is none.

    refused  the language has no words for it
    lacking  this machine cannot run it
    failed   the compiler refuses it
    number, function, to  what was printed
    folder, files  the text, and what it belongs to
    mathematics    what is shown of the function
    kept     the files on disk, or the check, are of the same; nothing was done
    """

    report: Report | None = None
    refused: str = ""
    lacking: str = ""
    failed: str = ""
    number: int = 0
    function: str = ""
    to: str = ""
    folder: str = ""
    files: tuple[tuple[str, str], ...] = ()
    mathematics: tuple[str, ...] = ()
    kept: bool = False


def verified(function: Function, printing: Printed, doing: Callable[[str], None] = quietly, **how: Any) -> Outcome:
    """Load and check what was printed; `how`, as `symgrad.verify.check` is told. `doing` is told what is being done."""
    try:
        doing("loading")
        artefact = printing.load()
    except MachineError as error:
        return Outcome(lacking=str(error))
    except CompilerError as error:
        return Outcome(failed=str(error))
    return Outcome(verified_code(function, printing, artefact, watch=doing, **how))


@dataclass(frozen=True)
class Work:
    """What is asked of the functions of some TARGETs, by a command or a project.

    ways   of the functions of some names, and of all others, ""
    name   of a formula alone
    check  whether what is printed is checked
    where  what a message says of the names
    """

    targets: tuple[str, ...]
    ways: tuple[tuple[str, Way], ...]
    name: str = ""
    check: bool = True
    where: str = field(default="", compare=False)

    @cached_property
    def printings(self) -> Printings:
        """The code of the functions that are asked for."""
        found, ways = resolve(self.targets, self.name), dict(self.ways)
        names = [f.name for f in found.functions]
        for name in ways:
            if name and name not in names:
                raise TargetError(f"{self.where}no function is called {name}.{did_you_mean(name, names)}")
        each = [ways.get(name, ways[""]) for name in names]
        functions = [replace(f, stabilize=w.stabilize) for f, w in zip(found.functions, each, strict=True)]
        for way in dict.fromkeys(each):
            some = [f for f, w in zip(functions, each, strict=True) if w == way]
            refuse_without_domain(some, "strict_domain" in dict(way.options))
        return Printings(replace(found, functions=tuple(functions)), each)

    def one(self, number: int, to: str, doing: Callable[[str], None] = quietly) -> Outcome:
        """Print and check one function in one language."""
        function, way = self.printings.functions[number], self.printings.ways[number]
        about: dict[str, Any] = {"number": number, "function": function.name, "to": to}
        try:
            doing("deriving and printing")
            printing = self.printings(number, to)
        except UnsupportedError as error:
            return Outcome(refused=str(error), **about)
        found = verified(function, printing, doing, **way.how) if self.check and not way.unchecked else Outcome()
        about |= {"folder": printing.folder, "files": tuple(printing.files.items())}
        return replace(found, mathematics=tuple(text.mathematics(function, printing)), **about)

    def outcomes(self, jobs: int, kept: Callable[[int, str], bool], quiet: bool = False) -> Iterator[Outcome]:
        """Every outcome, in the order of the functions and languages, from so many processes; what is `kept` is not
        done."""
        printings = self.printings
        functions = printings.functions
        tasks = printings.tasks
        done = {task for task in tasks if kept(*task)}
        left: dict[int, list[str]] = {}
        for number, to in tasks:
            if (number, to) not in done:
                left.setdefault(number, []).append(to)
        progress = Progress(len(tasks) - len(done), quiet)
        with _Processes(self, min(jobs, len(left))) as processes:
            begun = {number: processes.begun(number, languages) for number, languages in left.items()}
            for number, to in tasks:
                if (number, to) in done:
                    yield Outcome(number=number, function=functions[number].name, to=to, kept=True)
                    continue
                progress.next(f"{functions[number].name}   {to}")
                outcome = begun[number](to, progress.doing)
                progress.done()
                yield outcome


_Begun = Callable[[str, Callable[[str], None]], Outcome]  # is told a language, and whom to tell what is being done


class _Processes:
    """So many processes that print and check; one is this one."""

    def __init__(self, work: Work, jobs: int) -> None:
        self._work = work
        self._pool = ProcessPoolExecutor(jobs, initializer=_prepare, initargs=(work,)) if jobs > 1 else None

    def __enter__(self) -> _Processes:
        return self

    def begun(self, number: int, languages: Sequence[str]) -> _Begun:
        """A function in its languages, which share what is derived of it; what comes of each is waited for."""
        if self._pool is None:
            return lambda to, doing: self._work.one(number, to, doing)
        future: Future[dict[str, Outcome]] = self._pool.submit(_task, number, languages)
        return lambda to, doing: future.result()[to]

    def __exit__(self, kind: object, *raised: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=kind is None, cancel_futures=kind is not None)


_asked: Work  # of a process of the pool: what is declared is not sent, but resolved again


def _prepare(work: Work) -> None:
    global _asked
    _asked = work


def _task(number: int, languages: Sequence[str]) -> dict[str, Outcome]:
    return {to: _asked.one(number, to) for to in languages}
