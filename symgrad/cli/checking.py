"""What comes of checking functions in several languages, one after the other or in several processes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from typing import Any

from ..backends import takers
from ..errors import CompilerError, MachineError, UnsupportedError
from ..ir import Function
from ..pipeline import Printed, printed, printed_together, refuse_without_domain
from ..pipeline import verified as verified_code
from ..records import dataclass, replace
from ..verify import Report
from .progress import Progress, quietly
from .targets import resolve


def ways_of(to: str, ways: Mapping[str, Any]) -> dict[str, Any]:
    """Of the options that were given, those that a language has."""
    return {way: value for way, value in ways.items() if to.partition(":")[0] in takers(way)}


class Printings:
    """The code of some functions, by the number of one and a language: each by itself, or all in one file, which is
    printed once."""

    def __init__(self, functions: Sequence[Function], ways: Mapping[str, Any]) -> None:
        self.functions, self._ways = functions, ways
        self._together: dict[str, tuple[Printed, ...]] = {}

    def __call__(self, number: int, to: str) -> Printed:
        """Print one."""
        ways = ways_of(to, self._ways)
        if "file" not in ways:
            if not self.functions[number].domain:
                ways.pop("strict_domain", None)  # it is asked for of others
            return printed(self.functions[number], to, ways)
        if to not in self._together:
            self._together[to] = printed_together(self.functions, to, ways)
        return self._together[to][number]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one function in one language: a report, or in words why there is none.

    refused  the language has no words for it
    lacking  this machine cannot run it
    failed   the compiler refuses it
    function, to  what was checked
    """

    report: Report | None = None
    refused: str = ""
    lacking: str = ""
    failed: str = ""
    function: str = ""
    to: str = ""


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


@dataclass(frozen=True, slots=True)
class Checks:
    """What was asked of `symgrad check`."""

    targets: tuple[str, ...]
    languages: tuple[str, ...]
    full: bool = False
    seconds: float | None = None
    options: tuple[tuple[str, Any], ...] = ()
    seed: int = 0
    case: int | None = None
    stabilize: bool = True

    def printings(self) -> Printings:
        """The code of the functions that are asked for."""
        return Printings(resolve(self.targets, self.stabilize).functions, dict(self.options))

    def one(self, printings: Printings, number: int, to: str, doing: Callable[[str], None] = quietly) -> Outcome:
        """Print and check one function in one language."""
        function = printings.functions[number]
        try:
            doing("deriving and printing")
            printing = printings(number, to)
        except UnsupportedError as error:
            return Outcome(refused=str(error), function=function.name, to=to)
        how = {"full": self.full, "seconds": self.seconds, "seed": self.seed, "case": self.case}
        found = verified(function, printing, doing, **how)
        return replace(found, function=function.name, to=to)

    def outcomes(self, jobs: int) -> Iterator[Outcome]:
        """Every outcome, in the order of the functions and languages, from so many processes."""
        printings = self.printings()
        functions = printings.functions
        refuse_without_domain(functions, "strict_domain" in dict(self.options))
        tasks = [(number, to) for number in range(len(functions)) for to in self.languages]
        progress = Progress(len(tasks))
        if jobs == 1:
            for number, to in tasks:
                progress.next(f"{functions[number].name}   {to}")
                outcome = self.one(printings, number, to, progress.doing)
                progress.done()
                yield outcome
            return
        with ProcessPoolExecutor(min(jobs, len(tasks)), initializer=_prepare, initargs=(self,)) as pool:
            try:
                waiting: list[Future[Outcome]] = [pool.submit(_task, *task) for task in tasks]
                for future, (number, to) in zip(waiting, tasks, strict=True):
                    progress.next(f"{functions[number].name}   {to}")
                    outcome = future.result()
                    progress.done()
                    yield outcome
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise


_asked: tuple[Checks, Printings]  # of a process of the pool: what is declared is not sent, but resolved again


def _prepare(checks: Checks) -> None:
    global _asked
    _asked = checks, checks.printings()


def _task(number: int, to: str) -> Outcome:
    checks, printings = _asked
    return checks.one(printings, number, to)

