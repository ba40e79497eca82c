"""The reader's rule at each stage of the pipeline: who reads a value is where the value is computed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from symgrad.differentiate import differentiate
from symgrad.expr import show
from symgrad.ir import Derivative, Function, show_equation, unmet
from symgrad.plan import Program, plan
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


def _told(function: Function, values: set[str]) -> list[str]:
    return [f"{show(r)} is there where {show(c)}: {show_equation(e)}" for e, r, c in unmet(function, values)]
