"""The data every stage passes on: functions and their derivatives, frozen, comparable and printable."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import field
from functools import cached_property
from typing import Any

from ..domain import Facts
from ..expr import ZERO, Expr, Ref, index, ref, refs, show, transformer
from ..expr.names import Names, fresh_letters
from ..records import dataclass, replace
from .equations import Box, Dim, Dtype, Equation, Option, Role, Tensor
from .latex import aligned, latex_equations
from .order import alive
from .text import show_element, show_equations, statements_as_text


@dataclass(frozen=True)
class Function:
    """What a user declared: tensors, and the equations that compute the outputs from the inputs.

    statements   in an order in which each reads only what is an input or stands before it
    options      numbers given by keyword
    constraints  conditions on the sizes that the inputs must meet
    formula      the declaration in formula text or mathematics, one line or several, for people
    source       what prints it again: a TARGET of the command, or the formula text itself
    stabilize    whether it may be rewritten into a form that loses fewer digits
    python       the Python function that it is declared by, for the check: it takes what symgrad's functions do to
                 arrays, by their names, and arrays and options by name
    symbols      the SymPy symbols that it is declared with, by the text of what stands for each: `x`, `p[0]`
    derived      what it is derived of, for the check
    """

    name: str
    dims: tuple[Dim, ...]
    tensors: tuple[Tensor, ...]
    statements: tuple[Equation, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    options: tuple[Option, ...] = ()
    constraints: tuple[Expr, ...] = ()
    formula: str = ""
    source: str = ""
    stabilize: bool = True
    python: Callable[..., Any] | None = field(default=None, compare=False, repr=False)
    symbols: tuple[tuple[str, Any], ...] = field(default=(), compare=False, repr=False)
    derived: Derivation | None = field(default=None, compare=False, repr=False)

    @cached_property
    def table(self) -> Mapping[str, Tensor]:
        """The tensors by name."""
        return {t.name: t for t in self.tensors}

    @cached_property
    def facts(self) -> Facts:
        """What is known of the sizes and options: the constraints hold wherever an equation is evaluated."""
        numbers = [o.name for o in self.options if o.dtype == Dtype.INT]
        tensors = [t.name for t in self.tensors if t.dtype == Dtype.INT]
        return Facts.of((d.name for d in self.dims), (*numbers, *tensors), self.constraints)

    @cached_property
    def writers(self) -> Mapping[str, tuple[Equation, ...]]:
        """The equations of each tensor that has any."""
        found: dict[str, list[Equation]] = {}
        for equation in self.statements:
            found.setdefault(equation.target, []).append(equation)
        return {name: tuple(equations) for name, equations in found.items()}

    @cached_property
    def readers(self) -> Mapping[str, tuple[Equation, ...]]:
        """The equations that read each tensor that any does."""
        found: dict[str, list[Equation]] = {}
        for equation in self.statements:
            for name in dict.fromkeys(r.name for r in equation.reads):
                found.setdefault(name, []).append(equation)
        return {name: tuple(equations) for name, equations in found.items()}

    @cached_property
    def elementwise(self) -> Mapping[str, Equation]:
        """The tensors with one equation, at plain subscripts, without reduction or condition."""
        return {
            name: e
            for name, (e, *others) in self.writers.items()
            if not others and e.reduce == "none" and e.fills(self.table[name]) and e.where is None and not e.when
        }

    @cached_property
    def optional(self) -> tuple[str, ...]:
        """The inputs that may be absent."""
        return tuple(name for name in self.inputs if self.table[name].optional)

    @property
    def domain(self) -> str:
        """The intervals of the inputs as formula text has them behind `for`: `a > 0, 0 <= x <= 1`."""
        return domain_of(self.table[name] for name in self.inputs)

    @property
    def packs(self) -> tuple[str, ...]:
        """The names of the packs."""
        return tuple(d.name for d in self.dims if d.pack)

    def box_of(self, shape: Sequence[Expr], besides: Set[str] = frozenset()) -> Box:
        """An index for each axis of that shape: a pack's own, or a letter that stands for nothing else here or in
        `besides`."""
        letters, packs = fresh_letters(names_of(self) | besides), self.packs
        named = (e.name if isinstance(e, Ref) and e.name in packs else next(letters) for e in shape)
        return tuple((index(name), e) for name, e in zip(named, shape, strict=True))

    def latex(self) -> str:
        """The equations as a LaTeX `aligned` environment."""
        return aligned(latex_equations(self.statements, self.facts))

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.latex()}$"

    def __repr__(self) -> str:
        return str(self)

    def with_source(self, source: str) -> Function:
        """The same function, printed again by `source`."""
        return replace(self, source=source)

    @property
    def header(self) -> str:
        """The inputs and options as formula text has them: `x[n,k], bias[m]?; eps=1e-05`."""
        parts = []
        for name in self.inputs:
            tensor = self.table[name]
            part = show_element(name, tensor.shape) + ("?" if tensor.optional else "")
            parts.append(part if tensor.dtype == "real" else f"{part}: {tensor.dtype}")
        options = ", ".join(f"{o.name}={o.default}" for o in self.options)
        return ", ".join(parts) + (f"; {options}" if options else "")

    def __str__(self) -> str:
        """The function as formula text, which `sg.parse` reads."""
        lines = [f"require({', '.join(map(show, self.constraints))})"] if self.constraints else []
        lines += statements_as_text(self.statements, self.table, self.facts, self.box_of)
        lines += [f"for {self.domain}"] if self.domain else []
        return "\n    ".join([f"{self.name}({self.header}) -> {', '.join(self.outputs)}:", *lines])


@dataclass(frozen=True)
class Derivative:
    """A function together with the equations of its product J^T v (`vjp`), or J v (`jvp`).

    primal     the function that was differentiated
    function   the joint statements: inputs and seeds in; outputs and gradients out. It can be differentiated again
    seeds      vjp: (output, its grad_output) in the order of the outputs; jvp: (input, its tangent)
    gradients  vjp: (input, its gradient) in the order of the real inputs; jvp: (output, its tangent)
    kind       "vjp" or "jvp"
    """

    primal: Function
    function: Function
    seeds: tuple[tuple[str, str], ...]
    gradients: tuple[tuple[str, str], ...]
    kind: str = "vjp"

    @property
    def equations(self) -> tuple[Equation, ...]:
        """The equations that were added to those of the function."""
        forward = set(self.primal.writers)
        return tuple(e for e in self.function.statements if e.target not in forward)

    def latex(self) -> str:
        """The equations of the product as a LaTeX `aligned` environment."""
        return aligned(latex_equations(self.equations, self.function.facts))

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.latex()}$"

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        seeds = ", ".join(seed for _, seed in self.seeds)
        product = "J^T v" if self.kind == "vjp" else "J v"
        lines = show_equations(self.function.statements, self.function.facts)
        return "\n".join([f"{self.primal.name}: {product}, with v = {seeds}", *(f"    {line}" for line in lines)])


def domain_of(inputs: Iterable[Tensor]) -> str:
    """Their intervals, as formula text has them behind `for`; empty where there is none."""
    return ", ".join(t.interval.show(t.name) for t in inputs if t.interval.bounded)


def as_declared(function: Function) -> Function:
    """The function of a derivative as one that somebody declared: its seeds are inputs, its gradients outputs.

    What is called `grad_...` gets another name: those are what backward is given, and gives. What nothing contributes
    to has no equation in a derivative, and is 0 here.
    """
    if not any(t.role in (Role.SEED, Role.GRADIENT) for t in function.tensors):
        return function
    taken, names = Names(names_of(function)), dict[str, str]()
    for t in function.tensors:
        if t.role in (Role.SEED, Role.GRADIENT) and t.name.startswith("grad_"):
            word = "cotangent" if t.role == Role.SEED else "vjp"
            wish = word if t.name == "grad_output" else f"{word}_{t.name.removeprefix('grad_')}"
            names[t.name] = taken.new(wish)
    roles = dict.fromkeys(function.inputs, Role.INPUT) | dict.fromkeys(function.outputs, Role.OUTPUT)
    written = {e.target for e in function.statements}
    boxes = [(name, function.box_of(function.table[name].shape)) for name in function.outputs if name not in written]
    zeros = [Equation(name, tuple(i for i, _ in box), "none", ZERO, box) for name, box in boxes]
    renamed = with_names(replace(function, statements=(*function.statements, *zeros)), names)
    pairs = zip(function.tensors, renamed.tensors, strict=True)
    return replace(renamed, tensors=tuple(replace(t, role=roles.get(old.name, Role.LOCAL)) for old, t in pairs))


def with_names(function: Function, names: Mapping[str, str]) -> Function:
    """The function with other names for some of its tensors."""

    def new(name: str) -> str:
        return names.get(name, name)

    def rewrite(node: Expr) -> Expr:
        return ref(new(node.name), *node.subscripts) if isinstance(node, Ref) else node

    renamed = transformer(rewrite)

    def put(root: Expr) -> Expr:
        return root if names.keys().isdisjoint([r.name for r in refs(root)]) else renamed(root)

    tensors = tuple(replace(t, name=new(t.name)) for t in function.tensors)
    inputs, outputs = tuple(map(new, function.inputs)), tuple(map(new, function.outputs))
    statements = [e.mapped(put) for e in function.statements]
    statements = [replace(e, target=new(e.target)) for e in statements]
    return replace(function, tensors=tensors, statements=tuple(statements), inputs=inputs, outputs=outputs)


def with_outputs(function: Function, outputs: Sequence[str]) -> Function:
    """The function that gives these of what it computes, and no more."""
    kept = alive(function.statements, outputs)
    roles = {**dict.fromkeys(function.outputs, Role.LOCAL), **dict.fromkeys(outputs, Role.OUTPUT)}
    there = {*function.inputs, *outputs, *(e.target for e in kept)}
    tensors = tuple(replace(t, role=roles.get(t.name, t.role)) for t in function.tensors if t.name in there)
    return replace(function, tensors=tensors, statements=kept, outputs=tuple(outputs))


def names_of(function: Function) -> set[str]:
    """The names that stand for something in `function`: those of tensors, sizes and options."""
    sizes = {d.name.lstrip("*") for d in function.dims}
    return {t.name for t in function.tensors} | sizes | {o.name for o in function.options}


@dataclass(frozen=True, slots=True)
class Derivation:
    """What a function is derived of: the name of what it is, as `symgrad.kinds` has them, and by which inputs."""

    what: str
    function: Function
    wrt: tuple[str, ...]


# which rewrites made an equation


@dataclass(frozen=True, slots=True)
class Rewrite:
    """A rewrite that changed something.

    after       the equations that it left, of a whole function or of its gradients
    identities  the rows of a table that it applied: the name of each, and the expressions before and after it
    """

    name: str
    after: tuple[Equation, ...]
    identities: tuple[tuple[str, Expr, Expr], ...] = ()


class _Record:
    """The rewrites that are being recorded, and the identities of the one that is under way."""

    def __init__(self) -> None:
        self.rewrites: list[Rewrite] = []
        self.identities: list[tuple[str, Expr, Expr]] = []

    def rewrite(self, name: str, before: Iterable[Equation], after: Sequence[Equation]) -> None:
        """Keep it with the identities that lead from what was there to what is: others were only tried."""
        there, left = {e.body for e in before}, {e.body for e in after}
        kept = []
        for row in self.identities:
            if row[1] in there:
                there.add(row[2])
                kept.append(row)
        for row in kept[::-1]:
            if row[2] in left:
                left.add(row[1])
            else:
                kept.remove(row)
        self.identities.clear()
        self.rewrites.append(Rewrite(name, tuple(after), tuple(kept)))


_record: ContextVar[_Record | None] = ContextVar("record", default=None)


@contextmanager
def recording(on: bool = True) -> Iterator[list[Rewrite]]:
    """The rewrites that are made while this lasts, in order; none if not `on`."""
    record = _Record()
    token = _record.set(record if on else None)
    try:
        yield record.rewrites
    finally:
        _record.reset(token)


def applied(identity: str, before: Expr, after: Expr) -> None:
    """Tell who records that a row of a table has made one expression of another."""
    if (record := _record.get()) is not None:
        record.identities.append((identity, before, after))


def noted(rewrite: str, before: Sequence[Equation], after: Sequence[Equation]) -> Sequence[Equation]:
    """The equations `after` a rewrite; who records is told of it where it changed something."""
    if (record := _record.get()) is not None and [*before] != [*after]:
        record.rewrite(rewrite, before, after)
    return after


def recorded(rewrite: str, before: Iterable[Equation], after: Iterable[Equation]) -> tuple[Equation, ...]:
    """The equations `after` a rewrite. Each that was not there before it knows its name, and those of the rewrites that
    made what it replaces: what was the last equation of the same tensor."""
    known = {e: e.rewrites for e in before}
    earlier = {e.target: made for e, made in known.items()}
    return tuple(
        e if e in known else replace(e, rewrites=(*(e.rewrites or earlier.get(e.target, ())), rewrite)) for e in after
    )


def rewritten(rewrite: str, before: Function, after: Function) -> Function:
    """The function after a rewrite, whose equations know it."""
    noted(rewrite, before.statements, after.statements)
    return replace(after, statements=recorded(rewrite, before.statements, after.statements))
