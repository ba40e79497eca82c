"""The check: printed text and what was built of it, against the declaration.

For each point of the sample, in this order:

 1. the truth: the declaration and J^T v at two precisions that agree; differences as the second witness
 2. the text, executed on Numbers: it must be the truth up to the precision, and it tells its rounding bound
 3. the artefact in float64 (and float32): within that bound, or it is wrong; beyond the budget of DESIGN, a loss

and once: memory, gradients that are not asked for, a missing grad_output, zeros that a sparse matrix stores, and the
adjoint identity at real sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from time import perf_counter
from typing import Any

import numpy as np
from mpmath import mp

from ..ir import Function
from ..ops.primitive import Primitive, primitives, refuse_valueless
from ..records import dataclass, replace
from ..source.tree import Function as Head
from . import process
from .adjoint import Artefact, adjoint_error, drawn
from .arguments import accepted
from .budget import Budget
from .c_contract import wrong_products
from .c_matrix import CMatrix
from .c_text import CText
from .calls import Alone, Call, layouts, manners, memory_faults
from .cases import Case, combinations, in_normal, in_single, parts, refuses_infinity, refuses_nothing
from .compare import Bounds, Judged, Limits, judge, overflow, place
from .domains import all_in_single
from .execution import PRECISIONS, Execution, expected_of
from .imitation import disagreements
from .known import Fact, Known, known_of, same_as
from .literals import strange
from .numpy_text import NumpyText
from .origin import Origin
from .partials import symbolic
from .primitives import mistakes, mistakes_anywhere
from .reference import Declaration
from .refusals import refusals
from .report import Finding, Findings, Report, Worst
from .rounding import DOUBLE, SINGLE, Format, rounding
from .sampling import sample
from .sanitize import sanitized
from .solvers import Solvers
from .structure import stored_zero
from .text import Array, Fault, Text, Valued, differentiable, full_shape, has_backward, valued
from .transforms import example, transformed
from .truth import Truth, conditioning, differences, truth

TEXTS: Mapping[str, Callable[[Function, Mapping[str, str], Sequence[Head], Sequence[Primitive]], Text]] = {
    "numpy": NumpyText,
    "c": lambda function, *given: (CMatrix if getattr(function, "sparse", None) else CText)(function, *given),
    "scipy": NumpyText,
}
Written = tuple[str, Mapping[str, str], Sequence[Head]]  # a language of TEXTS, its files, and what is in them
LOWEST = {DOUBLE: 1e-290, SINGLE: 1e-33}  # exp, sigmoid and erfc of torch and JAX flush to 0, or lose digits, below
EXCUSES = 24  # elements of results that overflow, of which it is asked whether they must
ENOUGH = 12  # failures, after which the check stops
WITNESSED = 12  # points of a pack at which differences are taken one by one


def check(
    function: Function,
    files: Mapping[str, str],
    to: str,
    artefact: Artefact,
    *,
    text: str | None = None,
    heads: Sequence[Head] | None = None,
    origin: Origin | None = None,
    full: bool = False,
    seed: int = 0,
    seconds: float | None = None,
    case: int | None = None,
    enough: int = ENOUGH,
    strict: bool = False,
    watch: Callable[[str], None] = lambda doing: None,
    others: Callable[[], Iterable[Written]] = tuple,
    built: Mapping[str, str] | None = None,
    printed: bool = False,
) -> Report:
    """Check the printed `files` and the `artefact` built of them against the declaration `function`.

    to       the target of the artefact
    text     the language of `files`, which are executed as text and tell the rounding, if that is another
    heads    the functions of the text and what their parameters are; None: the artefact
             knows them
    origin   what the function is derived of: its values are compared with the derivatives of that
    full     the long matrix: see `pointwise`, `tensors`, LAYOUTS and `combinations`
    seed     the same seed gives the same points
    seconds  the time that it may take; the report says what was not checked then. None: what is long is left out by its
             `Budget`, but with `full`
    case     only the case with this number
    enough   failures, after which it stops
    strict   numbers outside of the domain are refused
    watch    is told what is being done
    others   gives the same function as it is written elsewhere: what overflows there too, must
    built    the files that the artefact was built of, if these are not the ones that are executed
    printed  whether it promises what printed code does: to refuse arguments of other types and shapes, and that its
             framework may transform it
    """
    start = perf_counter()
    heads = getattr(artefact, "heads", ()) if heads is None else heads
    languages = to.partition(":")[0], (text or to).partition(":")[0]
    artefact = getattr(artefact, "filled", artefact)  # with memory that shows what is not written
    if origin is not None and origin.beside:
        function, name = valued(function, origin.sparse), origin.printed
        artefact, heads = Alone(artefact, name, function), Alone.heads(heads, name)
    known = known_of(function, origin, full, seed)
    told = (function, files, *languages, artefact, heads, full, seed, case, origin, known, strict)
    checking = _Checking(*told, others=others, built=built, printed=printed, enough=enough)

    def heard(heading: str, said: Any) -> None:
        if heading == "doing":
            watch(said)

    if full or seconds is not None or case is not None:
        checking.budget.limit = None
    checking.prepare()
    if not process.possible() or getattr(artefact, "threads", False):  # a copy has no threads
        end = None if seconds is None else start + seconds
        checking.run(heard, end)
        return replace(checking.found.report(), seconds=perf_counter() - start)
    ending = process.isolated(checking.run, seconds, heard)
    report: Report = ending.told.get("report", checking.found.report())
    if not ending.how and not report.failures:  # else it may have written anywhere
        known.__dict__.update(vars(ending.told.get("known", known)))
    calling: Finding | None = ending.told.get("calling")
    if ending.how == "late":
        report = replace(report, stopped=f"the {seconds:g} s ran out")
    elif ending.how:  # what is written outside of an array may crash the process later
        said = f"does not end within {process.SILENCE:g} s" if ending.how == "silent" else f"crashes ({ending.how})"
        later = f"the process that called it {said}: what it writes may be outside of an array"
        crash = replace(calling, said=said) if calling else checking.found.finding("memory", function.name, later, None)
        report = replace(report, failures=(*report.failures, crash))
    return replace(report, seconds=perf_counter() - start)


@dataclass(frozen=True, slots=True)
class _Point:
    """What is known of a case: the truth, what the text may be off by, and how sensitive each result is."""

    case: Case
    truth: Truth
    bounds: Bounds | None
    condition: Mapping[str, Array]
    format: Format


@dataclass
class _Checking:
    """The state of one check."""

    function: Function
    files: Mapping[str, str]
    to: str
    language: str
    artefact: Artefact
    heads: Sequence[Head]
    full: bool
    seed: int
    only: int | None
    origin: Origin | None
    known: Known
    strict: bool
    text: Execution | None = None
    cases: tuple[Case, ...] = ()
    tell: process.Tell = lambda heading, said: None
    asked: set[tuple[bool, ...]] = field(default_factory=set)
    others: Callable[[], Iterable[Written]] = tuple
    built: Mapping[str, str] | None = None
    printed: bool = False
    enough: int = ENOUGH
    excuses: list[tuple[str, str, Judged, Case]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.declaration = Declaration(self.function)
        self.budget = Budget()
        self.rng = np.random.default_rng([self.seed, 3])
        self.found = Findings(self.function.name, self.to, self.seed)
        self.single = bool(getattr(self.artefact, "single", False))  # it knows no other numbers than float32

    def prepare(self) -> None:
        """Read the text, and the rest that is worth keeping between checks: the derivatives of the operators."""
        for component in self.declaration.components:
            for group in component.groups:
                for op in group.ops:
                    if op:
                        symbolic(op)
        for number in strange(self.built, self.files) if self.built is not None and self.language == "numpy" else ():
            said = f"has the number {number!r}, which the text for {self.language}, of the same plan, has not"
            self.found.fail("text", self.to, said, None)
        if self.language in TEXTS:
            try:
                with rounding(DOUBLE, PRECISIONS[0]):
                    text = TEXTS[self.language](self.function, self.files, self.heads, self._users())
                    if isinstance(text, CText):  # backward adds to gradients
                        text.accumulates = bool(getattr(self.artefact, "accumulates", False))
                self.text = Execution(self.function, text, self.found, self.full)
            except Fault as fault:
                self.found.fail("text", self.to, str(fault), None)

    def _users(self) -> Sequence[Primitive]:
        """The functions of the user's that the files may call: what is derived has those of what it is derived of."""
        whole = self.function if has_backward(self.function) or self.origin is None else self.origin.function
        found = primitives(*(e.body for e in whole.statements))
        refuse_valueless(found)
        return found

    def run(self, tell: process.Tell, end: float | None = None) -> None:
        """Check everything, until there are failures enough, or the time is over."""
        self.tell = tell
        before = len(self.known.facts)
        self.tell("doing", "drawing the points")
        if self.known.sample is None:
            self.known.sample = sample(self.declaration, self.full, self.seed)
        points = self.known.sample
        if self.single:
            points = replace(points, cases=tuple(c for c in map(self._in_single, points.cases) if c is not None))
        if getattr(self.artefact, "flushes", False):
            points = replace(points, cases=tuple(map(in_normal, points.cases)))
        if self.only is not None:
            points = replace(points, cases=tuple(c for c in points.cases if c.number == self.only))
        self.found.discarded = points.discarded
        self.found.planned = sum(case.count for case in points.cases)
        self.cases = points.cases
        for case in self.budget.chosen(points.cases):
            if len(self.found.failures) >= self.enough or (self.text is not None and self.text.endless):
                break
            if end is not None and perf_counter() > end:
                self.found.stopped = "the time ran out"
                break
            self._case(case)
            self.found.points += case.count
            tell("report", self.found.report())
        else:
            self.found.left_out = str(self.budget)
            self._once()
        if len(self.known.facts) > before:
            tell("known", self.known)
        tell("report", self.found.report())

    def _in_single(self, case: Case) -> Case | None:
        """The case in numbers of a float32, none of them rounded out of the domain."""
        found = in_single(case)
        return None if found is None else replace(found, inputs=all_in_single(self.function, found.inputs))

    def _once(self) -> None:
        """What is asked once."""
        if self.only is not None and self.found.points:
            return
        if all(not case.count or case.label == "a size of 0" for case in self.cases):
            said = "no point was found where the function has a value, and reads nothing outside of a tensor"
            said = said if self.only is None else f"there is no case {self.only}"
            self.found.fail("sampling", self.function.name, said, None)
        # of floats the driver of the sanitizers knows nothing, and differences of them tell nothing
        promised = (self._arguments, self._transforms) if self.printed else ()
        both = (self._adjoint, self._solvers) if has_backward(self.function) else ()
        others = () if self.single else (self._excuses, self._sanitized, *both, *promised)
        for ask in (self._derivatives, self._refusals, self._products, self._structure, *others):
            if not self.found.failures:
                self.tell("doing", ask.__name__.strip("_"))
                ask(None if self.text is None else self.text.text)
        self.tell("calling", None)

    def _excuses(self, text: Text | None) -> None:
        """What overflows is excused only where the same formula, in the words of another language, may do so too."""
        if not self.excuses:
            return
        cases = {case.number: case for *_, case in self.excuses}
        for language, files, heads in self.others():
            heads = Alone.heads(heads, self.origin.printed) if self.origin and self.origin.beside else heads
            scratch = Findings(self.function.name, language, self.seed)
            with rounding(DOUBLE, PRECISIONS[0]):
                written = TEXTS[language](self.function, files, heads, self._users())
            other = Execution(self.function, written, scratch, False)
            bounds = {number: other(case, self._fact(case).truth, DOUBLE) for number, case in cases.items()}
            for stage, name, judged, case in self.excuses:
                known, fact, exact = bounds[case.number], self._fact(case), float(judged.expected)
                if known is None or known.notes.doubts or scratch.failures or name not in known.arrays:
                    continue
                limits = self._limits(_Point(case, fact.truth, known, fact.condition, DOUBLE), name)
                allowed = limits.rounding(float(known.arrays[name][judged.position].err), abs(exact))
                if np.isfinite(allowed) and not abs(judged.obtained - exact) <= allowed:
                    said = f"is lost, though the formula need not overflow: as printed for {language}, it has a value"
                    where = place(name, judged.position)
                    self.found.fail(stage, where, said, case, judged.expected, judged.obtained)

    def _derivatives(self, text: Text | None) -> None:
        """The declared derivatives of functions of the user's, wherever these are defined."""
        for op in self.declaration.primitives:
            said = mistakes_anywhere(op, np.random.default_rng([self.seed, 13]))
            if said is not None:
                self.found.fail("witnesses", op.about.name, said, None)

    def _refusals(self, text: Text | None) -> None:
        example = None if self.text is None else self.text.example
        if text is not None and example is not None:
            self._calling("refusals", example)
            asked = refusals(self.declaration, text, self.artefact, example, self.strict)
            for stage, said, case in asked:
                self.found.fail(stage, self.function.name, said, case)

    def _products(self, text: Text | None) -> None:
        if not isinstance(text, CText):
            return
        mistaken = wrong_products(text.unit.local, self.files, self.single, text.users)
        if mistaken is not None:
            self.found.fail("products", self.function.name, mistaken, None)

    def _calling(self, stage: str, case: Case | None) -> None:
        """Tell what is known and what the artefact is asked for, lest it does not come back."""
        self.tell("report", self.found.report())
        self.tell("calling", self.found.finding(stage, self.function.name, "", case))

    # one point

    def _doing(self, case: Case, what: str) -> None:
        number = next(k for k, c in enumerate(self.cases, 1) if c.number == case.number)
        self.tell("doing", f"case {number} of {len(self.cases)}, {case.label}: {what}")

    def _case(self, case: Case) -> None:
        self._doing(case, "the formula in many digits")
        fact = self._fact(case)
        found, condition = fact.truth, fact.condition
        self.found.undecided += found.undecided
        for name, said, part in fact.disagreements:
            self.found.fail("witnesses", name, said, part)
        chosen = SINGLE if self.single else DOUBLE
        self._doing(case, "the text in many digits")
        bounds = self._bounds(case, found, chosen)
        if self.text is not None and bounds is None and case.label != "a size of 0":  # where a text may refuse, too
            return
        # beside the edge of a condition on what is computed, NumPy stands where its rounding says
        rounded = found.kinked if bounds is None else bounds.notes.doubts
        if not (case.strided or rounded):
            for name, said in disagreements(self.function, case, found.outputs, condition):
                self.found.fail("NumPy", name, said, case)
        self._doing(case, "the code")
        points = [_Point(case, found, bounds, condition, chosen)]
        if case.single and differentiable(self.function) and self.to != "c":
            points.append(replace(points[0], bounds=self._bounds(case, found, SINGLE), format=SINGLE))
        with self.budget.calling():
            for point in points:
                self._artefact(point)

    def _bounds(self, case: Case, found: Truth, chosen: Format) -> Bounds | None:
        """What the text may be off by in the format in which the artefact computes."""
        own = {name: bool(getattr(self.artefact, name, False)) for name in ("flushes", "powers", "reciprocals")}
        return None if self.text is None else self.text(case, found, replace(chosen, **own))

    def _fact(self, case: Case) -> Fact:
        """What is known of a case."""
        same = same_as(case)
        fact = self.known.facts.get(same)
        if fact is None:
            found = truth(self.declaration, case)
            wrong = tuple(self._witnesses(case, found))
            fact = Fact(found, conditioning(self.declaration, case, found, self.rng), wrong)
            self.known.facts[same] = fact
        return fact

    def _witnesses(self, case: Case, found: Truth) -> Iterator[tuple[str, str, Case]]:
        """Where the witnesses disagree: (place, in words, the case)."""
        if self.declaration.primitives:
            yield from ((name, wrong, case) for name, wrong in mistakes(self.declaration, case))
        if self.origin is not None and case.count:
            yield from ((name, wrong, case) for name, wrong in self.origin.mistakes(case, found))
        if found.kinked or not case.count or case.strided or not has_backward(self.function):
            return
        most = case.count if self.full else max(1, min(WITNESSED, 6000 // self.declaration.operations))
        for part, gradients in parts(case, found.gradients, most):
            said = differences(self.declaration, part, gradients, self.rng)
            if said is not None:
                yield "J^T v", f"the two witnesses disagree: {said}", part
                return

    # the artefact

    def _artefact(self, point: _Point) -> None:
        case = point.case
        first, *others = layouts(case, self.full)
        call = self._called(point, first)
        if call is not None and (point.format is DOUBLE or self.single) and not self.found.failures:
            for name, said in manners(call, combinations(self.function, self.full), self._apart(point)):
                self.found.fail("float32" if self.single else "float64", name, said, case)
        for layout in others:
            if not self.found.failures:
                self._called(point, layout)
        for absent in self._left_out(case):
            if not self.found.failures:
                self._called(point, first, absent)
        self.tell("calling", None)

    def _apart(self, point: _Point) -> dict[str, Array]:
        """How far a result may lie from itself in a call that asks for others beside it: nowhere, but where a compiler
        contracts a*b + c as it likes in each branch, or a library rounds as it likes in each call."""
        if not getattr(self.artefact, "contracts", False):
            return {}
        expected = expected_of(self.function, point.case, point.truth)
        return {n: self._limits(point, n).apart(array).reshape(shape) for n, (array, shape) in expected.items()}

    def _limits(self, point: _Point, name: str) -> Limits:
        """What a result may be off by."""
        case = point.case
        magnitude = max(
            (float(np.max(np.abs(v), initial=0.0)) for v in case.seeds.values() if v is not None), default=0.0
        )
        terms = sum(np.size(v) for v in case.inputs.values() if v is not None) // max(case.count, 1)
        lowest = 0.0 if self.language == self.to else LOWEST[point.format] * max(1.0, magnitude)
        infinite = name in point.truth.outputs
        return Limits(name, point.bounds, point.condition[name], terms, magnitude, lowest, point.format, infinite)

    def _left_out(self, case: Case) -> list[tuple[str, ...]]:
        """Results that need not be asked for: each, all but each, and all; once for each set of inputs given."""
        present = tuple(case.inputs.get(n) is None for n in self.function.inputs)
        names = [p.tensor for h in self.heads if h.role == "forward" for p in h.parameters if p.nullable]
        names = [n for n in self.function.outputs if n in names]
        if has_backward(self.function) or not case.count or present in self.asked or not names:
            return []
        self.asked.add(present)
        some = [*((n,) for n in names), *(tuple(m for m in names if m != n) for n in names), tuple(names)]
        return [*dict.fromkeys(filter(None, some))]

    def _called(self, point: _Point, layout: str, absent: tuple[str, ...] = ()) -> Call | None:
        """One call of the artefact, with arrays that lie in memory as the layout says; None if it raises.

        absent  the results that are not asked for
        """
        case, found, bounds, chosen = point.case, point.truth, point.bounds, point.format
        stage = "float64" if chosen is DOUBLE else "float32"
        stage += "" if layout == "plain" else f", {layout} arrays"
        stage += f", without {' and '.join(absent)}" if absent else ""
        self._calling(stage, case)
        artefact: Any = self.artefact
        artefact = artefact.without(*absent) if absent else artefact
        call = Call(self.function, artefact, case, np.float64 if chosen is DOUBLE else np.float32, layout)
        try:
            results = call.results()
        except Exception as error:  # whatever generated code raises is a finding
            arrays = bounds.arrays if bounds is not None else {}
            where = overflow(arrays) if refuses_infinity(error) else None
            if where is not None:
                name, position = where
                expected = found.arrays[name][position]
                self.found.lose(stage, name, Judged("loss", position, expected, np.nan, np.inf, 1 / chosen.unit), case)
            elif not refuses_nothing(case, error):
                self.found.fail(stage, self.function.name, f"raises {type(error).__name__}: {error}", case)
            return None
        expected = expected_of(self.function, case, found)
        with mp.workprec(found.bits):
            for name, (array, shape) in expected.items():
                value = results.get(name)
                if value is None and name in absent:
                    continue
                wrong = call.mistaken(name, value, shape)
                if wrong:
                    self.found.fail(stage, name, wrong, case)
                    continue
                value = np.asarray(value).reshape(array.shape)
                self._judge(stage, name, found.nearest(name, value), value, self._limits(point, name), case)
        for name, said in memory_faults(call, results, case):
            self.found.fail("memory", name, said, case)
        return call

    def _judge(self, stage: str, name: str, array: Array, value: Array, limits: Limits, case: Case) -> None:
        decided = case.generic and not self._fact(case).truth.kinked
        for judged in judge(array, value, limits):
            where = place(name, judged.position)
            if judged.verdict == "wrong":
                own = "the text" if self.language == self.to else f"the text for {self.language}, of the same plan"
                said = f"beyond the rounding of {own}" if limits.bound is not None else "beyond any rounding"
                self.found.fail(stage, where, said, case, judged.expected, judged.obtained)
            elif decided and judged.doubted and abs(judged.obtained - judged.expected) > abs(judged.expected) / 2:
                said = "has no right digit: the code compares numbers that differ by its rounding alone"
                self.found.fail(stage, where, said, case, judged.expected, judged.obtained)
            elif judged.verdict == "loss":
                self.found.lose(stage, name, judged, case)
                # at the ends of the range, what a library makes of a number below the normal ones decides
                asked = judged.excused and limits.format is DOUBLE and case.label != "edges"
                if asked and self.language == self.to and len(self.excuses) < EXCUSES:
                    self.excuses.append((stage, name, judged, case))
            elif (stage.startswith("float64") or self.single) and judged.ulps > self.found.worst.ulps:
                self.found.worst = Worst(judged.ulps, f"{where}, case {case.number}")

    def _sanitized(self, text: Text | None) -> None:
        """Every case, and one at real sizes, under the compiler's sanitizers."""
        if not isinstance(text, CText):
            return
        calls = list(self.cases)
        for call in drawn(self.function, np.random.default_rng([self.seed, 11]), self.full):
            shapes = {n: full_shape(self.function, n, call.inputs, call.options) for n in self.function.outputs}
            calls.append(replace(call, seeds={n: np.ones(s) for n, s in shapes.items()}))
        found = sanitized(self.function, text, self.files, calls, getattr(self.artefact, "integers", np.int64))
        if found is not None:
            said, number = found
            case = self.cases[number] if number < len(self.cases) else None
            if case is None:
                shapes = {n: np.shape(v) for n, v in calls[-1].inputs.items() if v is not None}
                said += f", for {', '.join(f'{n} {s}' for n, s in shapes.items())}"
            self.found.fail("sanitizer", self.function.name, said, case)

    def _structure(self, text: Text | None) -> None:
        function = self.function
        if not isinstance(self.artefact, Alone) or not isinstance(function, Valued) or function.sparse is None:
            return
        self._calling("structure", None)
        try:
            found = stored_zero(function, self.artefact, self.seed)
        except Exception as error:  # as above
            found = f"raises {type(error).__name__}: {error}"
        if found is not None:
            self.found.fail("structure", self.function.name, found, None)

    def _solvers(self, text: Text | None) -> None:
        solved = getattr(self.artefact, "solved", None)
        if solved is not None and isinstance(text, NumpyText):
            self._calling("solvers", None)
            for stage, where, said in Solvers(self.function, solved, self.seed).faults(text, self.artefact):
                self.found.fail(stage, where, said, None)

    def _arguments(self, text: Text | None) -> None:
        self._called_plainly("arguments", lambda case: accepted(self.function, self.artefact, case, self.to))

    def _transforms(self, text: Text | None) -> None:
        if getattr(self.function, "sparse", None) is not None:
            return
        empty = next((c for c in self.cases if c.label == "a size of 0"), None)
        self._called_plainly(
            "transforms", lambda case: transformed(self.function, self.artefact, self.to, case, empty, self.seed)
        )

    def _called_plainly(self, stage: str, asked: Callable[[Case], Iterator[tuple[str, str]]]) -> None:
        """What is asked of one call with every input, of which all results are numbers: (place, what is wrong)."""
        self._calling(stage, None)
        case = example(self.function, self.cases, self.seed, self.artefact, getattr(self.artefact, "traces", False))
        for where, said in asked(case) if case is not None else ():
            self.found.fail(stage, where, said, None)

    def _adjoint(self, text: Text | None) -> None:
        self._calling("adjoint", None)
        try:
            found = adjoint_error(self.function, self.artefact, self.seed, self.full)
        except Exception as error:  # as above
            self.found.fail("adjoint", self.function.name, f"raises {type(error).__name__}: {error}", None)
            return
        if found is not None:
            self.found.fail("adjoint", "J^T v", found, None)
