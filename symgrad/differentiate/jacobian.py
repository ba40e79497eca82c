"""The Jacobian for people: rows of expressions for functions of scalars, index equations for functions of tensors.

It is read off the equations of J^T v, which are linear in v: with v a unit tensor at p,

    grad_x[q] = sum over the box of v[s] * c     gives     d out[p] / d x[q] = sum over the box of delta(s, p) * c

and each delta with a summed index ends its sum. This is for display; nothing is computed by way of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..errors import UnsupportedError
from ..expr import (
    ONE,
    ZERO,
    Apply,
    Const,
    Expr,
    Index,
    Ref,
    apply,
    const,
    index,
    indices,
    postorder,
    ref,
    refs,
    show,
    size,
    substitute,
    total,
)
from ..ir import Derivative, Equation, Function, Tensor, latex_of, show_element

LONG = 400  # operations; a Jacobian of more is not written at the head of a file


@dataclass(frozen=True, slots=True)
class Entry:
    """d output[p] / d input[q] = value, where delta(a, b) is 1 if a == b and else 0."""

    output: Ref
    input: Ref
    value: Expr

    def __str__(self) -> str:
        above, below = (show_element(r.name, r.subscripts) for r in (self.output, self.input))
        return f"d {above} / d {below} = {show(self.value)}"


@dataclass(frozen=True, slots=True)
class Jacobian:
    """The Jacobian of a function of tensors as index equations; a pair that is not listed is 0."""

    name: str
    entries: tuple[Entry, ...]

    def __str__(self) -> str:
        return "\n".join([f"Jacobian of {self.name}", *(f"    {entry}" for entry in self.entries)])

    def latex(self) -> str:
        """A LaTeX `aligned` environment, one line per entry."""
        lines = [
            rf"\frac{{\partial {latex_of(e.output)}}}{{\partial {latex_of(e.input)}}} &= {latex_of(e.value)}"
            for e in self.entries
        ]
        return "\\begin{aligned}\n" + " \\\\\n".join(lines) + "\n\\end{aligned}"

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.latex()}$"


def jacobian_equations(derivative: Derivative) -> Jacobian:
    """Return d output / d input for every pair, by index; forward's named values stand by their names."""
    joint, primal = derivative.function, derivative.primal
    _refuse_matrices(derivative)
    found: list[Entry] = []
    for output, seed in derivative.seeds:
        for name, gradient in derivative.gradients:
            reader = _Reader(joint, primal, seed, {s for _, s in derivative.seeds})
            for e in joint.writers.get(gradient, ()):
                at = reader.row(primal.table[output], e)
                value = reader.right(e, at)
                if value is not ZERO:
                    found.append(Entry(ref(output, *at), ref(name, *e.subscripts), value))
    return Jacobian(primal.name, tuple(found))


def _refuse_matrices(derivative: Derivative) -> None:
    """A function of matrices that the cotangent goes through has no coefficient to be read off."""
    moved = {seed for _, seed in derivative.seeds}
    for e in derivative.function.statements:
        if any(r.name in moved for r in e.reads):
            moved.add(e.target)
            if e.matrix is not None:
                raise UnsupportedError(
                    f"{derivative.primal.name}: the Jacobian through {e.matrix.function} has no elements to be shown "
                    f"one by one. Its product with a cotangent has equations: sg.vjp."
                )


class _Reader:
    """Reads the coefficients of one seed off the equations of J^T v."""

    def __init__(self, joint: Function, primal: Function, seed: str, seeds: set[str]) -> None:
        self.joint = joint
        self.primal = primal
        self.seed = seed
        self.seeds = seeds
        matrices = {e.target for e in joint.statements if e.matrix is not None}
        self.forward = set(primal.writers) | set(primal.inputs) | matrices

    def row(self, output: Tensor, e: Equation) -> tuple[Expr, ...]:
        """Subscripts of the output that no equation uses: p, q, r, ...; a pack stays itself."""
        taken = {i.name for x in self.joint.statements for i, _ in x.box} | set(self.joint.table)
        taken |= {d.name for d in self.joint.dims}
        fresh = iter(f"{letter}{n}" for n in ("", *range(1, 100)) for letter in "pqrstuvw")
        found: list[Expr] = []
        for extent in output.shape:
            if isinstance(extent, Ref) and extent.name in self.primal.packs:
                found.append(index(extent.name))
            else:
                found.append(index(next(n for n in fresh if n not in taken)))
        return tuple(found)

    def right(self, e: Equation, at: Sequence[Expr]) -> Expr:
        """The coefficient of seed[at] in the right-hand side of `e`."""
        body = self._unit(e.body, at)
        if e.where is not None:
            body = apply("select", e.where, body, ZERO)
        return self._summed(body, [i for i, _ in e.reduced])

    def _unit(self, body: Expr, at: Sequence[Expr]) -> Expr:
        """`body` with the seed a unit tensor at `at`, and gradient locals written out."""
        chosen: dict[Expr, Expr] = {}
        for r in refs(body):
            if r.name == self.seed:
                chosen[r] = _delta(r.subscripts, at)
            elif r.name in self.seeds:
                chosen[r] = ZERO
            elif r.name not in self.forward and r.name in self.joint.writers:
                chosen[r] = total(
                    self.right(_renamed(w, r, place), at) for place, w in enumerate(self.joint.writers[r.name])
                )
        return substitute(body, chosen)

    def _summed(self, body: Expr, reduced: Sequence[Index]) -> Expr:
        """The sum over `reduced`, ended by deltas where they allow it; a pack stays at the output's own point."""
        reduced = [i for i in reduced if i.name not in self.primal.packs]
        if not reduced:
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
                if isinstance(i, Index) and i in reduced and _vanishes(body, node):
                    rest = substitute(substitute(body, {node: ONE}), {i: other})
                    return self._summed(rest, [j for j in reduced if j is not i])
        left = [i for i in reduced if i in indices(body)]
        return apply(f"sum[{','.join(i.name for i in reduced)}]", body) if left and body is not ZERO else body


def _vanishes(body: Expr, delta: Expr) -> bool:
    """Whether `body` is a multiple of `delta`."""
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
        elif op == "select":
            zero[node] = all(below[1:])
    return zero[body]


def _delta(subscripts: Sequence[Expr], at: Sequence[Expr]) -> Expr:
    result: Expr = ONE
    for s, p in zip(subscripts, at, strict=True):
        if s is not p:
            result = result * apply("delta", s, p)
    return result


def _renamed(e: Equation, r: Ref, place: int) -> Equation:
    """The equation of a local as it is read at `r`, its summed indices under names of their own."""
    names: dict[Expr, Expr] = {i: index(f"{i.name}{place + 1}") for i, _ in e.reduced if i in indices(r)}
    names |= dict(zip(e.subscripts, r.subscripts, strict=True))
    box = tuple((j if isinstance(j, Index) else i, x) for i, x in e.box for j in (names.get(i, i),))
    where = None if e.where is None else substitute(e.where, names)
    body = substitute(e.body, names)
    return Equation(e.target, tuple(substitute(s, names) for s in e.subscripts), e.reduce, body, box, where, e.when)


# functions of scalars


def entries(derivative: Derivative, expand: bool = False) -> list[list[Expr]] | None:
    """The Jacobian of a function of scalars (or of vectors of literal size), one row per component of the outputs.

    None for a function of tensors. A value that forward names stands by its name, unless `expand` writes everything
    in the inputs.
    """
    joint, primal = derivative.function, derivative.primal
    scalar = all(e.reduce == "none" and e.where is None and not e.when and not e.reduced for e in joint.statements)
    literal = all(_components(t, primal) is not None for t in joint.tensors)
    places = all(isinstance(s, Const) or _is_pack(s, primal) for e in joint.statements for s in e.subscripts)
    if not (scalar and literal and places) or derivative.kind != "vjp":
        return None
    if not expand and sum(size(e.body) for e in joint.statements) > LONG:
        return None
    forward = set(primal.writers)
    rows = []
    for output, seed in derivative.seeds:
        for at in _components(primal.table[output], primal) or ():
            seeds: dict[Expr, Expr] = {
                ref(s, *x): ONE if (s, x) == (seed, at) else ZERO
                for o, s in derivative.seeds
                for x in _components(primal.table[o], primal) or ()
            }
            row = []
            for name, gradient in derivative.gradients:
                for x in _components(primal.table[name], primal) or ():
                    cell = _written_out(ref(gradient, *x), joint, set() if expand else forward, seeds)
                    row.append(_of_one_point(cell, primal))
            rows.append(row)
    return rows


def _of_one_point(cell: Expr, primal: Function) -> Expr:
    """`p[..., 0]` as `p[0]`: a formula for one point of a pack."""
    points = {r: ref(r.name, *(s for s in r.subscripts if not _is_pack(s, primal))) for r in refs(cell)}
    return substitute(cell, points)


def _components(tensor: Tensor, primal: Function) -> list[tuple[Expr, ...]] | None:
    """The subscripts of every component; None if a size is not literal."""
    found: list[tuple[Expr, ...]] = [()]
    for extent in tensor.shape:
        if isinstance(extent, Ref) and extent.name in primal.packs:
            found = [(*at, index(extent.name)) for at in found]
        elif isinstance(extent, Const) and extent.value <= 64:
            found = [(*at, const(k)) for at in found for k in range(int(extent.value))]
        else:
            return None
    return found


def _is_pack(s: Expr, primal: Function) -> bool:
    return isinstance(s, Index) and s.name in primal.packs


def _written_out(element: Ref, joint: Function, opaque: set[str], seeds: dict[Expr, Expr]) -> Expr:
    """`element` by its equations, and so on down to the inputs and what is opaque."""
    done: dict[Expr, Expr] = dict(seeds)
    stack: list[Expr] = [element]
    while stack:
        node = stack[-1]
        if node in done:
            stack.pop()
            continue
        assert isinstance(node, Ref)
        bodies = [
            e.body
            for e in joint.writers.get(node.name, ())
            if node.name not in opaque and tuple(e.subscripts) == node.subscripts
        ]
        below = dict.fromkeys(r for body in bodies for r in refs(body))
        waiting = [r for r in below if r not in done]
        if waiting:
            stack.extend(reversed(waiting))
            continue
        written = node.name in joint.writers and node.name not in opaque
        done[node] = total(substitute(b, {r: done[r] for r in below}) for b in bodies) if written else node
        if not written and node.name in set(joint.outputs) - opaque - set(joint.inputs):
            done[node] = ZERO  # a gradient that nothing contributes to
        stack.pop()
    return done[element]
