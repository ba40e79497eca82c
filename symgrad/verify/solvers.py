"""What a printed file offers to solvers: the value with its gradient, the Hessian or the Jacobian, and their products.

Expected are differences of the reference at 200 digits: of its gradients for H p, of its values for J v. J^T u is the
reference's own. A matrix is multiplied with the same vectors, in which every entry counts; that of a Hessian is
symmetric to the last bit. The text is executed on Numbers, then the module is called; every result must be an array of
its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import mpmath
import numpy as np
from mpmath import mp

from ..ir import Function, is_scalar, single
from ..records import dataclass
from .adjoint import KINDS, draws_at
from .cases import Case, is_of_nothing
from .numpy_text import NumpyText
from .reference import Declaration
from .rounding import DOUBLE, lift, rounding
from .sizes import choose, cost, defined, fitting
from .symmetric import directions
from .text import Array, moved, written_out

DIGITS = 200
STEP = 60  # decimal places of the step, whose square is the error of a difference
BITS = 330
EXACT, FLOATS = mpmath.mpf(10) ** -40, mpmath.mpf(10) ** -8  # of 1 and the largest element
COST = 600  # operations of one evaluation
MOST = 50_000  # beyond which it takes minutes


@dataclass(frozen=True)
class _Products:
    """What is known of a matrix: its shape, and for some vectors what it makes of them; from the left, u^T M."""

    shape: tuple[int, int]
    right: tuple[Array, Array]
    left: tuple[Array, Array]
    symmetric: bool

    def differing(self, name: str, value: Any, tolerance: Any) -> Iterator[tuple[str, str]]:
        """Where a matrix is another: (what was asked, in words)."""
        value = written_out(value) if hasattr(value, "indptr") else value
        if np.shape(value) != self.shape:
            yield name, f"has shape {np.shape(value)} instead of {self.shape}"
            return
        elements = [lift(v).value for v in np.asarray(value, dtype=object).ravel()]
        matrix = np.array(elements, dtype=object).reshape(self.shape)
        if self.symmetric and not np.array_equal(matrix, matrix.T):
            yield name, "is not symmetric"
        sides = (f"{name} @ v", matrix, self.right), (f"v @ {name}", matrix.T, self.left)
        for said, rows, (vector, expected) in sides:
            with mp.workdps(DIGITS):
                found = [sum(row * vector, mpmath.mpf(0)) for row in rows]
            yield from _differing(expected, said, found, tolerance)


class Solvers:
    """The check of one file: `solved` says which inputs its solver moves (`unknowns`), which one it gives before them
    (`ahead`), and its name (`solver`)."""

    def __init__(self, function: Function, solved: Mapping[str, Any], seed: int) -> None:
        self.unknowns: Sequence[str] = solved["unknowns"]
        self.ahead, self.solver = solved["ahead"], solved["solver"]
        self.function = function if self.solver == "solve_bvp" else single(function)
        self.declaration = Declaration(self.function)
        self.rng = np.random.default_rng([seed, 23])
        self.is_scalar = self.solver == "optimize" and is_scalar(function)

    def faults(self, text: NumpyText, module: Any) -> Iterator[tuple[str, str, str]]:
        """What is wrong: (stage, where, what), at one point of each kind of numbers."""
        for case in self._points():
            try:
                asked = _Asked(self, case)
            except ArithmeticError:
                continue
            if not asked.finite:
                continue
            with rounding(DOUBLE, BITS), np.errstate(all="ignore"):
                yield from asked.compared("text", text.module, text.given, EXACT)
            with np.errstate(all="ignore"):
                yield from asked.compared("float64", vars(module), _own, FLOATS)
                yield from asked.shared(vars(module))

    def _points(self) -> Iterator[Case]:
        # that an option is passed on is seen where it has another value than its default, and what that is where it is
        # left out
        for scale in (1.25, 1.0) if self.function.options else (1.25,):
            defaults = {o.name: o.default for o in self.function.options}
            options = {n: v if isinstance(v, int) else scale * v for n, v in defaults.items()}
            chosen = {**dict.fromkeys(self.function.packs, 3), **choose(self.function, options, self.rng, COST)}
            few = [dict.fromkeys(chosen, count) for count in (1, 0)] if scale != 1.0 and chosen else []
            for sizes in (chosen, *few):
                if fitting(self.function, sizes, options) and defined(self.function, sizes, options):
                    if cost(self.function, sizes, options) <= MOST:
                        kinds = KINDS if sizes is chosen and scale != 1.0 else KINDS[:1]
                        yield from draws_at(self.function, self.rng, sizes, options, kinds)


class _Asked:
    """One point: what is asked there, and what should come of it."""

    def __init__(self, solvers: Solvers, case: Case) -> None:
        self.function, self.declaration, self.unknowns = solvers.function, solvers.declaration, solvers.unknowns
        self.outputs, self.is_scalar = solvers.function.outputs, solvers.is_scalar
        self.solver, self.ahead = solvers.solver, solvers.ahead
        self.inputs: Mapping[str, Any] = case.inputs
        self.options = case.options
        if self.solver == "solve_bvp":  # parameters are the same at all places
            numbers = {n: np.asarray(self.inputs[n]) for n in self.unknowns[len(self.outputs) :]}
            self.inputs = {**self.inputs, **{n: np.full_like(v, v.flat[0]) for n, v in numbers.items() if v.size}}
        self.steps = directions(self.function, self.unknowns, self.inputs, solvers.rng)
        with mp.workdps(DIGITS):
            trace = self.declaration.trace(self.inputs, self.options)
            self.value = _flat([trace.arrays[n] for n in self.outputs])
            seeds = {n: np.asarray(solvers.rng.standard_normal(trace.arrays[n].shape)) for n in self.outputs}
            self.seeds = {n: np.ones(()) for n in self.outputs} if self.is_scalar else seeds
            self.gradient = _flat(self._pulled(trace))
            up, down = (self._moved(sign) for sign in (1, -1))
            self.product = (up - down) * mpmath.mpf(10) ** STEP / 2
        everything = [*self.value, *self.gradient, *self.product]
        self.finite = not trace.kinked and all(mp.isfinite(v) for v in everything)

    def _pulled(self, trace: Any) -> list[Array]:
        gradients = trace.pull(self.seeds)
        return [gradients[n] for n in self.unknowns]

    def _moved(self, sign: int) -> Array:
        length = sign * mpmath.mpf(10) ** -STEP
        there = {n: moved(self.inputs[n], (length * u for u in step.flat)) for n, step in self.steps.items()}
        trace = self.declaration.trace({**self.inputs, **there}, self.options)
        return _flat(self._pulled(trace)) if self.is_scalar else _flat([trace.arrays[n] for n in self.outputs])

    # calls

    def _changed(self, given: Callable[[Any], Any]) -> dict[str, Any]:
        """The options that are not left to the signature of the text."""
        changed = {o.name: self.options[o.name] for o in self.function.options if self.options[o.name] != o.default}
        return {n: v if isinstance(v, int) else given(v)[()] for n, v in changed.items()}

    def _called(self, module: Mapping[str, Any], given: Callable[[Any], Any], name: str, *vectors: Any) -> Any:
        """What a function gives that a solver calls with some vectors: other arguments stand around them."""
        options = self._changed(given)
        before = [] if self.solver == "optimize" else [given(self.inputs[self.ahead] if self.ahead else 0.0)]
        if self.solver == "curve_fit":
            return module[name](*before, *vectors[0], **options)
        code = module[name].__code__
        rest = code.co_varnames[len(before) + len(vectors) : code.co_argcount]
        sizes = {
            str(e): size
            for n in self.unknowns
            for e, size in zip(self.function.table[n].shape, np.shape(self.inputs[n]), strict=False)
        }
        others = [sizes[p] if p in sizes and p not in self.inputs else given(self.inputs[p]) for p in rest]
        return module[name](*before, *vectors, *others, **options)

    def results(self, module: Mapping[str, Any], given: Callable[[Any], Any]) -> Iterator[tuple[str, Any, Any]]:
        """(what was asked, what came, what should have come)."""
        if self.solver in ("solve_bvp", "bc"):
            yield from self._of_vectors(module, given)
            return
        direction, seed = _flat([self.steps[n] for n in self.unknowns]), _flat([self.seeds[n] for n in self.outputs])
        x, p = given(_flat([self.inputs[n] for n in self.unknowns])), given(direction)
        if self.is_scalar:
            value, gradient = self._called(module, given, "fun_and_grad", x)
            yield "fun_and_grad[0]", [value], self.value
            yield "fun_and_grad[1]", gradient, self.gradient
            yield "hessp", self._called(module, given, "hessp", x, p), self.product
            if "hess" in module:
                both = direction, self.product
                products = _Products((len(direction),) * 2, both, both, True)
                yield "hess", self._called(module, given, "hess", x), products
            return
        values = "residuals" if self.solver == "optimize" else "fun"
        yield values, self._called(module, given, values, x), self.value
        jacobian = self._called(module, given, "jac", x)
        if hasattr(jacobian, "matvec"):
            yield "jac.matvec", jacobian.matvec(p), self.product
            yield "jac.rmatvec", jacobian.rmatvec(given(seed)), self.gradient
        else:
            sides = (direction, self.product), (seed, self.gradient)
            yield "jac", jacobian, _Products((len(seed), len(direction)), *sides, False)

    def _of_vectors(self, module: Mapping[str, Any], given: Callable[[Any], Any]) -> Iterator[tuple[str, Any, Any]]:
        """The same for solve_bvp, whose arrays have the places behind; its boundary is at one."""
        mesh = self.solver == "solve_bvp"
        high, wide = len(self.outputs), len(self.unknowns)
        ends = [0, high, wide] if mesh else [0, wide - high, 2 * (wide - high), wide]
        parts = [[np.asarray(self.inputs[n]) for n in self.unknowns[a:b]] for a, b in pairwise(ends) if a < b]
        vectors = [given(np.stack(part)) for part in parts]
        if mesh and wide > high:
            vectors[1] = given(np.array([v.flat[0] if v.size else 1.0 for v in parts[1]]))
        arguments = [*([given(self.inputs[self.ahead])] if mesh else []), *vectors]
        options = self._changed(given)
        values, derivatives = ("fun", "fun_jac") if mesh else ("bc", "bc_jac")
        found = module[values](*arguments, **options)
        yield values, np.reshape(found, -1) if np.ndim(found) == 1 + mesh else found, self.value
        blocks = module[derivatives](*arguments, **options)
        blocks = blocks if isinstance(blocks, tuple) else (blocks,)
        yield from ((derivatives, block, None) for block in blocks)
        matrix = np.concatenate([np.asarray(b, dtype=object).view(np.ndarray) for b in blocks], axis=1)
        p = np.reshape(_flat([self.steps[n] for n in self.unknowns]), (wide, -1))
        u = np.reshape(_flat([self.seeds[n] for n in self.outputs]), (high, -1))
        product, gradient = self.product.reshape(u.shape), self.gradient.reshape(p.shape)
        for k in range(p.shape[1]):
            sides = (p[:, k], product[:, k]), (u[:, k], gradient[:, k])
            yield f"{derivatives}[{k}]", matrix[..., k] if mesh else matrix, _Products((high, wide), *sides, False)

    def compared(
        self, stage: str, module: Mapping[str, Any], given: Callable[[Any], Any], tolerance: Any
    ) -> Iterator[tuple[str, str, str]]:
        """Where the results differ from what they should be."""
        try:
            for name, value, expected in self.results(module, given):
                if expected is None:  # it is compared with others
                    continue
                differing = expected.differing if isinstance(expected, _Products) else partial(_differing, expected)
                yield from ((stage, *said) for said in differing(name, value, tolerance))
        except Exception as error:  # whatever generated code raises is a finding, but for a maximum of nothing
            if is_of_nothing(error) and any(not np.size(v) for v in self.inputs.values()):
                return
            yield stage, self.function.name, f"raises {type(error).__name__}: {error}"

    def shared(self, module: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
        """Results that share memory with an argument or with each other, or that change in the next call."""
        held: list[Array] = []

        def given(value: Any) -> Any:
            held.append(np.array(value))
            return held[-1]

        try:
            first = [*self._memory(module, given)]
            kept = [np.array(v) for _, v in first]
            again = [*self._memory(module, given)]
        except Exception:
            return  # said by `compared`
        every = [(n, v) for n, v in (*first, *again) if isinstance(v, np.ndarray)]
        for k, (name, array) in enumerate(every):
            if any(np.shares_memory(array, other) for other in (*held, *(v for _, v in every[:k]))):
                yield "memory", name, "shares memory with an argument or an earlier result"
        for (name, array), before in zip(first, kept, strict=True):
            if not np.array_equal(array, before, equal_nan=True):
                yield "memory", name, "changes when it is called again"

    def _memory(self, module: Mapping[str, Any], given: Callable[[Any], Any]) -> Iterator[tuple[str, Any]]:
        """The arrays that results are in, the entries of a sparse one; those of objects are made here."""
        for name, value, _ in self.results(module, given):
            array = value.data if hasattr(value, "indptr") else value
            if getattr(array, "dtype", np.dtype(float)).kind != "O":
                yield name, array


def _differing(expected: Array, name: str, value: Any, tolerance: Any) -> Iterator[tuple[str, str]]:
    """The first element that is another."""
    found = [lift(v).value for v in np.asarray(value, dtype=object).ravel().tolist()]
    if len(found) != len(expected) or np.ndim(value) != 1:
        yield name, f"has shape {np.shape(value)} instead of ({len(expected)},)"
        return
    with mp.workdps(DIGITS):
        room = tolerance * (1 + max(map(abs, expected), default=mpmath.mpf(0)))
        for k, (a, b) in enumerate(zip(found, expected, strict=True)):
            if not abs(a - b) <= room:
                yield f"{name}[{k}]", f"{mp.nstr(a, 17)} instead of {mp.nstr(b, 17)}"
                break


def _own(value: Any) -> Any:
    return np.array(value)


def _flat(arrays: Sequence[Array]) -> Array:
    return np.concatenate([np.ravel(a) for a in arrays])
