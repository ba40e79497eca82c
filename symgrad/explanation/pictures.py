"""The graph of a function, forward and backward, and the bits that it loses over the range, as data of figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..ir import Derivative, Equation, Function, bind
from ..later import Later, mp, np
from ..pipeline import printed
from ..records import replace
from ..verify.accuracy import bits_lost
from .document import Block, Curve, Figure, Graph, Paragraph, Plot, Table
from .point import Point

_cases: Any = Later("symgrad.verify.cases")
_reference: Any = Later("symgrad.verify.reference")
_truth: Any = Later("symgrad.verify.truth")
_sizes: Any = Later("symgrad.verify.sizes")

DRAWN = 24  # values of a graph that is drawn
SCALES = tuple(sign * 10.0 ** (k / 2) for sign in (-1, 1) for k in range(-16, 7))  # of the point
TOLD = (-1e3, -10.0, -1.0, -1e-3, 1e-8, 1e-3, 1.0, 10.0, 1e3)  # of these in a table
WORTH = 4.0  # bits lost, from which on such a table has something to say
DEAR = 3000  # operations of one evaluation, from which on it is not asked for at every scale


def graph_blocks(derivative: Derivative) -> tuple[Block, ...]:
    """What is computed of what, forward and backward."""
    primal = derivative.primal
    forward = _graph("Forward", primal.statements, primal.inputs, primal.table)
    seeds = [seed for _, seed in derivative.seeds]
    backward = _graph("Backward", derivative.equations, seeds, derivative.function.table)
    return tuple(f for f in (forward, backward) if f is not None)


def _graph(title: str, some: Sequence[Equation], roots: Sequence[str], table: Mapping[str, Any]) -> Figure | None:
    reads: dict[str, list[str]] = {}
    for e in some:
        reads.setdefault(e.target, []).extend(r.name for r in e.reads if r.name in table and r.name != e.target)
    nodes = list(dict.fromkeys((*roots, *(n for t, rs in reads.items() for n in (*rs, t)))))
    if not reads or len(nodes) > DRAWN:
        return None
    depth = dict.fromkeys(nodes, 0)
    for _ in nodes:  # a loop from turn to turn ends nowhere
        for target, some_read in reads.items():
            depth[target] = min(max([depth[target], *(depth[r] + 1 for r in some_read)]), len(nodes))
    levels = sorted({*depth.values()})
    layers = tuple(tuple(n for n in nodes if depth[n] == level) for level in levels)
    edges = tuple(dict.fromkeys((r, t) for t, some_read in reads.items() for r in some_read))
    said = "; ".join(f"{t} is computed from {', '.join(dict.fromkeys(rs)) or 'nothing'}" for t, rs in reads.items())
    return Figure(title, Graph(layers, edges), f"{said}.")


def accuracy_blocks(function: Function, point: Point) -> tuple[Block, ...]:
    """The bits that the formula as it is written loses along the line through the point, and what is printed."""
    declaration = _reference.Declaration(function)
    sizes = {n: np.shape(a) for n, a in point.inputs.items()}
    if _sizes.cost(function, bind(function, point.inputs), point.options) > DEAR or not sizes:
        return (Paragraph("This function is too large to be measured here: `symgrad show --accuracy` does it."),)
    artefacts = [printed(replace(function, stabilize=s), "numpy").load() for s in (False, True)]
    lost: list[list[tuple[float, float]]] = [[], []]
    for scale in sorted(SCALES):
        inputs = {n: a * scale if np.asarray(a).dtype.kind == "f" else a for n, a in point.inputs.items()}
        if not all(a is None or np.all(function.table[n].interval.holds(a)) for n, a in inputs.items()):
            continue
        case = _cases.Case(inputs, point.options, {n: point.v.get(n) for n in function.outputs})
        found = _truth.truth(declaration, case)
        with mp.workprec(found.bits):
            exact = [v for a in (*found.outputs.values(), *found.gradients.values()) for v in np.ravel(a)]
            if not all(mp.isfinite(v) for v in exact):
                continue
            for artefact, curve in zip(artefacts, lost, strict=True):
                curve.append((scale, _most(function, artefact, case, found)))
    if len(lost[0]) < 2:
        return ()
    names = ("as written", "as printed")
    curves = tuple(Curve(n, tuple(c)) for n, c in zip(names, lost, strict=True))
    said = ", ".join(f"{max(y for _, y in c.points):.1f} at most {c.name}" for c in curves)
    what = (
        "the inputs of the point above times s"
        if len(point.inputs) > 1 or sizes[function.inputs[0]]
        else (f"{function.inputs[0]} = {float(point.inputs[function.inputs[0]]):g} * s")
    )
    ends = " to ".join(f"{curves[0].points[k][0]:g}" for k in (0, -1))
    title = "Bits of float64 that are lost, of 53"
    about = Paragraph(
        "A formula can be right and still compute badly: numbers overflow, or nearly equal ones are subtracted. Here "
        f"are the bits that the worst output or gradient loses with {what}, for s from {ends} (64: no number "
        "comes out at all)."
    )
    rows = [k for k, (s, _) in enumerate(curves[0].points) if any(abs(s / t - 1) < 1e-9 for t in TOLD)]
    table = tuple((f"{curves[0].points[k][0]:g}", *(f"{c.points[k][1]:.1f}" for c in curves)) for k in rows)
    figure = Figure(title, Plot("s", "bits lost", curves), f"{said}.")
    worth = max(y for c in curves for _, y in c.points) > WORTH
    return about, figure, *([Table("At some s", ("s", *names), table)] if worth else [])


def _most(function: Function, artefact: Any, case: Any, found: Any) -> float:
    """The bits that the worst result loses."""
    order = [case.inputs.get(n) for n in function.inputs]
    with np.errstate(all="ignore"):
        out, saved = artefact.forward(*order, **case.options)
        seeds = tuple(case.seeds[n] for n in function.outputs)
        gradients = artefact.backward(saved, seeds if len(seeds) > 1 else seeds[0])
    values = dict(zip(function.outputs, out if len(seeds) > 1 else (out,), strict=True))
    by_input = dict(zip(function.inputs, gradients, strict=True))
    pairs = [(values[n], a) for n, a in found.outputs.items()] + [(by_input[n], a) for n, a in found.gradients.items()]
    lost = [
        bits_lost(float(x), t)
        for got, exact in pairs
        for x, t in zip(np.ravel(got), np.ravel(exact), strict=True)
        if not isinstance(t, int)
    ]
    return max(lost, default=0.0)
