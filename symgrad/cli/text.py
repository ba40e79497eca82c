"""What the command says about a function: its mathematics and its check, in a few lines."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from ..backends.header import gradient_lines, jacobian_lines
from ..derivatives import derive, jacobian
from ..differentiate import differentiate, entries
from ..ir import Derivative, Function
from ..ir.text import show_equations
from ..later import sympy
from ..pipeline import Printed, accuracy
from ..simplify.undeclared import spared
from ..verify import Report


def mathematics(function: Function, printed: Printed) -> list[str]:
    """The Jacobian of a function of scalars, the equations of the gradients for others, nothing without inputs; and
    what a domain would spare."""
    return [*(jacobian_matrix(printed) or gradient_lines(printed.program)), *undeclared(function, printed)]


def undeclared(function: Function, printed: Printed) -> list[str]:
    """The domain that would make the printed code shorter, if there is one."""
    found = spared(function, printed.program.derivative)
    if found is None:
        return []
    names = ", ".join(found.inputs)
    return [
        "Domain",
        f"    {found.needless} of {found.all} `where` are there for powers of 0 and of negative numbers.",
        f"    If there are none, declare it: `for {names} > 0` behind a formula, `sg.Real[\"> 0\"]` in Python.",
        "",
    ]


def jacobian_matrix(printed: Printed) -> list[str]:
    """The Jacobian of a function of scalars; nothing for others."""
    return jacobian_lines(entries(printed.program.derivative) or [])


def products(function: Function) -> list[str]:
    """J^T v as the rule of differentiation gives it, and as it is printed."""
    before, after = differentiate(function), derive(function)
    v = ", ".join(seed for _, seed in after.seeds)
    return [
        f"J^T v, before it is simplified (v = {v})",
        *_indented(before),
        "",
        "J^T v, simplified",
        *_indented(after),
    ]


def lost(function: Function) -> list[str]:
    """The bits of float64 that are lost: by the formula as it is written, and by what is printed."""
    return repr(accuracy(function)).splitlines()


def latex(function: Function) -> str:
    """The Jacobian, where it is a matrix, and the equations of J^T v."""
    derivative = derive(function)
    parts = [derivative.latex()]
    if entries(derivative) is not None:
        parts.insert(0, f"J = {sympy.latex(jacobian(function))}")
    return "\n\n".join(parts)


def checked(report: Report, width: int, before: str = "    ") -> list[str]:
    """The outcome of a check as a line of a list, and another where accuracy is lost."""
    first, *rest = str(report).splitlines()
    outcome = first.removeprefix(f"{report.function}   {report.target}").strip()
    lines = [f"{before}{report.target:<{width}}   {outcome}"]
    return [*lines, *(f"{' ' * len(before)}{'':<{width}}   {line.strip()}" for line in rest if report.ok)]


def as_json(report: Report) -> dict[str, Any]:
    """A report as data; a number that JSON has no word for becomes a string."""
    fields = {k: v for k, v in dataclasses.asdict(report).items() if k != "seconds"}
    ulps = report.worst.ulps
    fields["worst"]["ulps"] = ulps if math.isfinite(ulps) else str(ulps)
    return {"function": report.function, "target": report.target, "ok": report.ok} | fields


def _indented(derivative: Derivative) -> list[str]:
    return [f"    {line}" for line in show_equations(derivative.function.statements, derivative.function.facts)]
