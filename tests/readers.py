"""At each stage of the pipeline: who reads a value is where the value is computed, and all that is read is inside."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from symgrad.derivatives import derive
from symgrad.differentiate import differentiate
from symgrad.domain import Domain
from symgrad.expr import Expr, Ref, indices, ref, refs, show, substitute
from symgrad.ir import Derivative, Equation, Function, may_fail, reads_of, show_equation
from symgrad.plan import Program, Step, plan
from symgrad.simplify import simplify, stable


def of_derivative(derivative: Derivative) -> list[str]:
    """Who breaks the rule in the joint equations of a derivative."""
    return _told(derivative.function, set(derivative.primal.writers))


def of_program(program: Program) -> list[str]:
    """Who breaks the rule in what forward and backward compute, with what is saved between them."""
    forward, backward = program.forward, program.backward
    tensors = {t.name: t for t in (*program.tensors, *forward.turns, *backward.turns)}
    statements = tuple(dict.fromkeys((*forward.equations, *backward.equations)))
    joint = replace(program.derivative.function, tensors=tuple(tensors.values()), statements=statements)
    return _told(joint, {e.target for e in forward.equations})


def outside(function: Function) -> set[str]:
    """The subscripts of tensors that are not proved to stay inside where they are evaluated; but those from data."""
    found = set()
    for e in function.statements:
        writes = ref(e.target, *e.subscripts), e.domain(function.facts)
        for r, domain in (writes, *reads_of(e, function.facts)):
            shape = function.table[r.name].shape if r.subscripts and r.name in function.table else ()
            for s, axis in zip(r.subscripts, shape, strict=bool(shape)):
                from_data = any(x.name in function.table for x in refs(s))
                if not from_data and not all(piece.inside(s, axis) for piece in _pieces(domain)):
                    found.add(f"{show(s)} in an axis of {show(axis)}")
    return found


def _pieces(domain: Domain) -> list[Domain]:
    """The domain in parts, in each of which one side of an `or` holds."""
    found = [domain]
    for atom in domain.opaque:
        found = [piece for part in found for piece in part.pieces(atom.condition)]
    return found


def outside_at_stages(function: Function) -> Iterator[tuple[str, set[str]]]:
    """Each stage, and the subscripts that are proved to stay inside as declared, and not there."""
    known = outside(function)
    derivative = derive(function)
    yield "differentiated", outside(differentiate(stable(function)).function) - known
    yield "simplified", outside(derivative.function) - known
    for to, style in (("numpy", "arrays"), ("c", "loops")):
        program = plan(derivative, to, style)
        once = [s for p in (program.forward, program.backward) for s in p.steps if isinstance(s, Step)]
        statements = tuple(dict.fromkeys(e for s in once for e in s.equations))  # none of one turn of a loop
        yield to, outside(replace(derivative.function, tensors=program.tensors, statements=statements)) - known


def of_stages(function: Function) -> Iterator[tuple[str, list[str]]]:
    """Each stage, and who breaks the rule there."""
    primal = stable(function)
    yield "stable", _told(primal, set(primal.writers))
    raw = differentiate(primal)
    yield "differentiated", of_derivative(raw)
    derivative = simplify(raw)
    yield "simplified", of_derivative(derivative)
    yield "planned for NumPy", of_program(plan(derivative, "numpy"))
    yield "planned for C", of_program(plan(derivative, "c", "loops"))


def unmet(function: Function, values: set[str]) -> list[tuple[Equation, Ref, Expr]]:
    """The reader's rule: who reads a value is where the value is computed. Returned is who breaks it: the equation,
    what it reads, and the condition on which alone that is computed.

    values  the tensors that are such values: of a cotangent, 0 where nothing is added is what is meant
    """
    writers = ((name, es[0]) for name, es in function.writers.items() if name in values and len(es) == 1)
    partial = {name: e for name, e in writers if e.conditions and e.fills(function.table[name])}
    found = []
    for e in function.statements:
        for r, domain in reads_of(e, function.facts) if any(r.name in partial for r in e.reads) else ():
            if r.name in partial and may_fail(writer := partial[r.name], function.table):
                shown = {i for i, _ in writer.shown}
                at: dict[Expr, Expr] = dict(zip(writer.subscripts, r.subscripts, strict=True))
                asked = [substitute(c, at) for c in writer.conditions if shown.issuperset(indices(c))]
                found += [(e, r, c) for c in asked if not domain.holds(c)]
    return found


def _told(function: Function, values: set[str]) -> list[str]:
    return [f"{show(r)} is there where {show(c)}: {show_equation(e)}" for e, r, c in unmet(function, values)]
