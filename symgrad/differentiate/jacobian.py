"""The Jacobian for people, as index equations.

It is read off the equations of J^T v, which are linear in v: with v a unit tensor at p,

    grad_x[q] = sum over the box of v[s] * c     gives     d out[p] / d x[q] = sum over the box of delta(s, p) * c

and each delta with a summed index ends its sum. What several equations contribute to one element is one sum, as is what
several points of one equation contribute. A recurrence stays one: `d_out_h`, the derivative of out by h, is computed
from itself. This is for display; nothing is computed by way of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..domain import NOTHING, Facts
from ..errors import UnsupportedError
from ..expr import (
    ONE,
    ZERO,
    Apply,
    Expr,
    Index,
    Ref,
    apply,
    conjunction,
    index,
    indices,
    postorder,
    ref,
    refs,
    show,
    substitute,
    total,
)
from ..expr.sizes import equal
from ..ir import (
    Box,
    Derivative,
    Equation,
    Tensor,
    When,
    alive,
    disjoint_writes,
    latex_equations,
    latex_of,
    recurrent,
    show_element,
    show_equations,
    writes_once,
)
from ..records import dataclass


@dataclass(frozen=True, slots=True)
class Entry:
    """d output[p] / d input[q] = value, where delta(a, b) is 1 if a == b and else 0.

    box  every index with its extent, those that are summed included
    """

    output: Ref
    input: Ref
    value: Expr
    box: Box

    def __str__(self) -> str:
        above, below = (show_element(r.name, r.subscripts) for r in (self.output, self.input))
        return f"d {above} / d {below} = {show(self.value)}"

    def latex(self) -> str:
        """One line of an `aligned` environment."""
        above, below = latex_of(self.output), latex_of(self.input)
        return rf"\frac{{\partial {above}}}{{\partial {below}}} &= {latex_of(self.value)}"


@dataclass(frozen=True, slots=True)
class Jacobian:
    """The Jacobian of a function of tensors as index equations; an element that is not listed is 0.

    entries   one for each output and input, or part of it
    chained   the derivatives by values of recurrences: `d_out_h[p,t]`, which is d out[p] / d h[t]
    values    what the entries mention besides inputs and the values of forward
    facts     what is known of the sizes
    """

    name: str
    entries: tuple[Entry, ...]
    chained: tuple[tuple[Ref, Entry], ...] = ()
    values: tuple[Equation, ...] = ()
    facts: Facts = NOTHING

    def __str__(self) -> str:
        chained = (f"{show(element)} = {entry}" for element, entry in self.chained)
        lines = [*self.entries, *chained, *show_equations(self.values, self.facts)]
        return "\n".join([f"Jacobian of {self.name}", *(f"    {line}" for line in lines)])

    def latex(self) -> str:
        """A LaTeX `aligned` environment, one line per entry."""
        lines = [e.latex() for e in self.entries]
        lines += [f"{latex_of(element)} = {entry.latex()}" for element, entry in self.chained]
        if self.values:
            lines += latex_equations(self.values, self.facts).splitlines()[1:-1]
        return "\\begin{aligned}\n" + " \\\\\n".join(line.removesuffix(r" \\") for line in lines) + "\n\\end{aligned}"

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.latex()}$"


def jacobian_equations(derivative: Derivative) -> Jacobian:
    """Return d output / d input for every pair, by index; forward's named values stand by their names.

    Raises UnsupportedError for a function of matrices that stands between them.
    """
    joint, primal = derivative.function, derivative.primal
    _refuse_matrices(derivative)
    found: list[Entry] = []
    chained: list[tuple[Ref, Entry]] = []
    for output, seed in derivative.seeds:
        reader = _Reader(derivative, output, seed)
        for name, gradient in derivative.gradients:
            found += [Entry(*rest) for rest in reader.rows(name, gradient)]
        chained += reader.chained()
    written = set(primal.writers) | set(primal.inputs)
    wanted = [r.name for e in (*found, *(e for _, e in chained)) for r in refs(e.value)]
    values = alive([e for e in joint.statements if e.target not in written], wanted)
    return Jacobian(primal.name, tuple(found), tuple(chained), values, joint.facts)


def _moved(derivative: Derivative) -> set[str]:
    """What depends on the cotangent."""
    moved = {seed for _, seed in derivative.seeds}
    statements = derivative.function.statements
    while more := {e.target for e in statements if any(r.name in moved for r in e.reads)} - moved:
        moved |= more
    return moved


def _refuse_matrices(derivative: Derivative) -> None:
    """A function of matrices that the cotangent goes through has no coefficient to be read off."""
    moved = _moved(derivative)
    for e in derivative.function.statements:
        if e.matrix is not None and e.target in moved:
            raise UnsupportedError(
                f"{derivative.primal.name}: the Jacobian through {e.matrix.function} has no elements to be shown "
                f"one by one. Its product with a cotangent has equations: sg.vjp."
            )


class _Reader:
    """Reads the coefficients of one cotangent off the equations of J^T v."""

    def __init__(self, derivative: Derivative, output: str, seed: str) -> None:
        self.joint, self.primal = derivative.function, derivative.primal
        self.output, self.seed = output, seed
        self.seeds = {s for _, s in derivative.seeds}
        self.moved = _moved(derivative)
        self.recurrent = recurrent(self.joint.statements) & self.moved
        self.asked: dict[str, None] = {}  # recurrent values that a row mentions
        self.extents: dict[Expr, Expr] = {}
        self.used: set[str] = set()
        self._begin()

    # names

    def _begin(self) -> None:
        """Begin a row: its indices are its own; the output is at p, q, r, ..., a pack at itself."""
        self.extents = {}
        self.used = {*self.joint.table, *(d.name for d in self.joint.dims), *(o.name for o in self.primal.options)}
        everything = {i.name for e in self.joint.statements for i, _ in e.box}
        self.at = tuple(self._place(extent, everything) for extent in self.primal.table[self.output].shape)

    def _place(self, extent: Expr, others: Iterable[str] = ()) -> Index:
        """A new index of that extent; a pack is its own."""
        if isinstance(extent, Ref) and extent.name in self.primal.packs:
            i = index(extent.name)
        else:
            letters = (f"{letter}{n}" for n in ("", *range(1, 100)) for letter in "pqrstuvw")
            i = index(next(n for n in letters if n not in self.used and n not in others))
        self.used.add(i.name)
        self.extents[i] = extent
        return i

    def _fresh(self, e: Equation) -> Equation:
        """`e` with indices that this row does not use yet; packs stay."""
        names: dict[Expr, Expr] = {}
        for i, extent in e.box:
            name, number = i.name, 1
            while name in self.used and i.name not in self.primal.packs:
                name, number = f"{i.name}{number}", number + 1
            self.used.add(name)
            names[i] = index(name)
            self.extents[names[i]] = extent
        changed = {i: j for i, j in names.items() if i is not j}
        return e.at(changed) if changed else e

    # rows

    def rows(self, name: str, gradient: str) -> list[tuple[Ref, Ref, Expr, Box]]:
        """d output / d `name`, of which `gradient` is the adjoint, in parts that have no element in common."""
        rows = []
        for part in _parts(self.joint.writers.get(gradient, ()), self.joint.facts):
            self._begin()
            (first, *others) = part = [self._fresh(e) for e in part]
            if others or not writes_once(first, self.joint.facts):
                place, value = self._joint(part, self.joint.table[gradient])
            else:
                place, value = first.subscripts, self._given([(first.when, self._right(first, ()))])
            if not _vanishes(value, ZERO):
                mentioned = {*indices(value, *self.at, *place), *(i for i in self.extents if _sums(value, i))}
                box = tuple((i, n) for i, n in self.extents.items() if i in mentioned and isinstance(i, Index))
                rows.append((ref(self.output, *self.at), ref(name, *place), value, box))
        return rows

    def chained(self) -> list[tuple[Ref, Entry]]:
        """The derivatives by the values of recurrences that the rows so far mention."""
        found: list[tuple[Ref, Entry]] = []
        done: set[str] = set()
        while left := [name for name in self.asked if name not in done]:
            done.add(left[0])
            for output, place, value, box in self.rows(self._by(left[0]), left[0]):
                element = ref(self._name(left[0]), *output.subscripts, *place.subscripts)
                found.append((element, Entry(output, place, value, box)))
        return found

    def _by(self, adjoint: str) -> str:
        """The value that a local is the adjoint of, as far as its name tells."""
        name = adjoint.removeprefix("grad_").removesuffix("_total")
        return name if name in self.primal.table else adjoint

    def _name(self, adjoint: str) -> str:
        name = f"d_{self.output}_{self._by(adjoint)}"
        while name in self.joint.table:
            name = f"{name}_"
        return name

    def _joint(self, part: Sequence[Equation], target: Tensor) -> tuple[tuple[Expr, ...], Expr]:
        """The place and the value of one row for several equations, or for one that writes an element twice."""
        place: list[Expr] = []
        for axis, extent in enumerate(target.shape):
            own = [_own(e, axis) for e in part]
            i = own[0]
            if i is not None and all(j is not None and equal(self.extents[j], extent) for j in own):
                place.append(i)
            else:
                place.append(self._place(extent))
        return tuple(place), self._given([(e.when, self._at(e, place)) for e in part])

    def _at(self, e: Equation, place: Sequence[Expr]) -> Expr:
        """What the equation, whose indices are new, contributes at that place."""
        return self._right(e, [(s, at) for s, at in zip(e.subscripts, place, strict=True) if s is not at])

    def _right(self, e: Equation, deltas: Sequence[tuple[Expr, Expr]]) -> Expr:
        """The coefficient of the cotangent at the output's place in the right-hand side of `e`, with deltas as factors:
        each pair is equal. What they leave open is summed."""
        if e.reduce not in ("none", "sum"):
            raise AssertionError(f"{e.target} is not linear in the cotangent")
        body = self._unit(e.body)
        for s, at in deltas:
            body = body * apply("delta", s, at)
        if e.where is not None:
            body = apply("select", e.where, body, ZERO)
        kept = {i for s in e.subscripts for i in indices(s)} if not deltas else set()
        open_ = {i for s, _ in deltas for i in indices(s)} | {i for i, _ in e.reduced} - kept
        return self._summed(body, [i for i, _ in e.box if i in open_])

    def _given(self, parts: Sequence[tuple[When, Expr]]) -> Expr:
        """The sum of what counts under conditions on optional inputs."""
        terms: list[Expr] = []
        single: dict[str, dict[bool, Expr]] = {}
        for when, value in parts:
            if len(when) == 1:
                ((name, present),) = when
                there = single.setdefault(name, {})
                there[present] = there.get(present, ZERO) + value
                continue
            for name, present in reversed(when):
                value = apply("given", ref(name), *((value, ZERO) if present else (ZERO, value)))
            terms.append(value)
        for name, there in single.items():
            then, otherwise = there.get(True, ZERO), there.get(False, ZERO)
            terms.append(then if then is otherwise else apply("given", ref(name), then, otherwise))
        return total(terms)

    def _unit(self, body: Expr) -> Expr:
        """`body` with the cotangent a unit tensor at the output's place, and what depends on it written out."""
        chosen: dict[Expr, Expr] = {}
        for r in refs(body):
            if r.name == self.seed:
                chosen[r] = _delta(r.subscripts, self.at)
            elif r.name in self.seeds:
                chosen[r] = ZERO
            elif r.name in self.recurrent:
                mine = any(x.name == self.seed for e in alive(self.joint.statements, [r.name]) for x in e.reads)
                if mine:
                    self.asked.setdefault(r.name)
                chosen[r] = ref(self._name(r.name), *self.at, *r.subscripts) if mine else ZERO
            elif r.name in self.moved:
                parts = [(e.when, self._element(e, r)) for e in self.joint.writers[r.name]]
                chosen[r] = self._given(parts)
        return substitute(body, chosen)

    def _element(self, e: Equation, r: Ref) -> Expr:
        """What the equation of a local contributes to its element `r`."""
        e = self._fresh(e)
        shape = self.joint.table[e.target].shape
        names: dict[Expr, Expr] = {}
        for axis, extent in enumerate(shape):
            i = _own(e, axis)
            if i is not None and equal(self.extents[i], extent):
                names[i] = r.subscripts[axis]
        return self._at(e.at(names), r.subscripts)

    # sums

    def _summed(self, body: Expr, reduced: Sequence[Index]) -> Expr:
        """The sum over `reduced`, ended by deltas where they allow it; a pack stays at the output's own point."""
        reduced = [i for i in reduced if i.name not in self.primal.packs]
        if not reduced or body is ZERO:
            return body
        if isinstance(body, Apply) and body.op in ("add", "sub"):
            a, b = (self._summed(x, reduced) for x in body.args)
            return a + b if body.op == "add" else a - b
        if isinstance(body, Apply) and body.op == "neg":
            return -self._summed(body.args[0], reduced)
        for node in postorder(body):
            if not (isinstance(node, Apply) and node.op == "delta"):
                continue
            for i, other in (node.args, tuple(reversed(node.args))):
                if isinstance(i, Index) and i in reduced and i not in indices(other) and _vanishes(body, node):
                    rest = substitute(substitute(body, {node: ONE}), {i: other})
                    if not equal(self.extents.get(other, ZERO), self.extents[i]):
                        inside = [apply("lt", other, self.extents[i])]
                        inside += [] if isinstance(other, Index) else [apply("ge", other, ZERO)]
                        rest = apply("select", conjunction(inside), rest, ZERO)
                    return self._summed(rest, [j for j in reduced if j is not i])
        told = {s for r in refs(body) for s in r.subscripts}
        names = ",".join(i.name if i in told else f"{i.name}:{show(self.extents[i])}" for i in reduced)
        return apply(f"sum[{names}]", body)


def _parts(equations: Sequence[Equation], facts: Facts) -> list[list[Equation]]:
    """The equations of one target in groups, such that those of two groups write no element both."""
    parts: list[list[Equation]] = []
    for e in equations:
        near = [part for part in parts if not disjoint_writes(e, part, facts)]
        parts = [part for part in parts if part not in near]
        parts.append([*(other for part in near for other in part), e])
    joint = len(parts) > 1 and any(len(part) > 1 or not writes_once(part[0], facts) for part in parts)
    return [[*equations]] if joint else parts  # the place of such a row is any


def _own(e: Equation, axis: int) -> Index | None:
    """The index that stands alone on this axis of the target, and on no other."""
    s = e.subscripts[axis]
    others = indices(*e.subscripts[:axis], *e.subscripts[axis + 1 :])
    return s if isinstance(s, Index) and s not in others and s in dict(e.box) else None


def _sums(value: Expr, i: Expr) -> bool:
    """Whether `value` sums over `i`, which its terms need not mention."""
    name = show(i)
    return any(
        isinstance(n, Apply) and n.op.startswith("sum[") and name in [x.split(":")[0] for x in n.op[4:-1].split(",")]
        for n in postorder(value)
    )


def _vanishes(body: Expr, delta: Expr) -> bool:
    """Whether `body` is a multiple of `delta`, or of 0."""
    zero: dict[Expr, bool] = {}
    for node in postorder(body):
        below = [zero[a] for a in node.args]
        op = node.op if isinstance(node, Apply) else ""
        zero[node] = node is delta or node is ZERO
        if op in ("mul", "neg"):
            zero[node] = zero[node] or any(below)
        elif op == "div":
            zero[node] = below[0]
        elif op in ("add", "sub"):
            zero[node] = all(below)
        elif op in ("select", "given"):
            zero[node] = all(below[1:])
    return zero[body]


def _delta(subscripts: Sequence[Expr], at: Sequence[Expr]) -> Expr:
    result: Expr = ONE
    for s, p in zip(subscripts, at, strict=True):
        if s is not p:
            result = result * apply("delta", s, p)
    return result
