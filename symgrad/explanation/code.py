"""What forward saves, and each formula of the plan beside the lines that compute it.

The plan knows which tensor a step computes, and lines.py which lines do. A value that has none of its own stands in
those of what reads it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..backends.header import served
from ..ir import Equation, show_shape
from ..pipeline import Printed
from ..plan import Program
from ..plan.program import Procedure
from ..records import replace
from .document import Block, Code, Formulas, Items, Paragraph
from .formulas import AtPoint, equations
from .lines import PROCEDURES, lines_of_names


def saved_blocks(program: Program) -> tuple[Block, ...]:
    """What is kept from forward to backward, who reads it, and what is not kept."""
    primal = program.derivative.primal
    point = AtPoint(program.derivative.primal)
    said = []
    for name, gradients in served(program).items():
        t = point.tensor(program.table[name])
        shape = f" {show_shape(t)}" if t.shape else ""
        what = "computed by forward; to compute it again would cost more than to keep it"
        if name in (*primal.inputs, *primal.outputs):
            what = f"an {'input' if name in primal.inputs else 'output'}, which is there anyway"
        said.append(f"`{name}`{shape}: {what}. {_readers(gradients)}")
    said += [f"`{name}`: a size that no saved tensor tells" for name in program.saved_sizes]
    said += [f"`{name}`: an option that backward reads" for name in program.saved_options]
    said += [f"whether `{name}` was given" for name in program.saved_presence]
    first = "backward runs later, when v is known. What it reads of forward has to be kept until then:"
    blocks: list[Block] = [Paragraph(first), Items(tuple(said))]
    if not said:
        blocks = [Paragraph("Nothing is saved: the gradient does not depend on where it is taken.")]
    computed = {e.target for e in program.forward.equations}
    again = [n for n in dict.fromkeys(e.target for e in program.backward.equations) if n in computed]
    unread = [n for n in primal.inputs if n not in program.saved]
    more = [f"`{n}` is computed again in backward: that is cheaper than keeping it" for n in again]
    more += [f"`{n}` is not saved: no gradient reads it" for n in unread]
    if more:
        blocks += [Paragraph("And what is not kept:"), Items(tuple(more))]
    return tuple(blocks)


def _readers(gradients: Sequence[str]) -> str:
    names = ", ".join(f"`{g}`" for g in gradients)
    return f"Read for {names}." if gradients else "Read for its shape alone."


def code_blocks(printed: Printed) -> tuple[Block, ...]:
    """The formulas of forward and backward as they are computed, and the file."""
    program = printed.program
    path, text = next(iter(printed.files.items()))
    point = AtPoint(program.derivative.primal)
    tables: dict[str, tuple[int, ...]] = {}
    blocks: list[Block] = []
    lines = lines_of_names(printed, text)
    for name, procedure in zip(PROCEDURES, (program.forward, program.backward), strict=True):
        tables |= {f"{name} {target}": at for target, at in _lines(procedure, lines.get(name, {})).items()}
        some = [point.equation(_in_words(e)) for e in procedure.equations]
        if some:
            shown = equations(some, program.derivative.function, lambda e, name=name: f"{name} {e.target}")  # type: ignore[misc]
            blocks.append(Formulas(shown, name, beside=True))
    return (*blocks, Code(path, text, tuple(tables.items())))


def _in_words(e: Equation) -> Equation:
    """An equation without the words of a plan."""
    return replace(e, reduce="max") if e.reduce == "supremum" else e


def _lines(procedure: Procedure, lines: Mapping[str, tuple[int, ...]]) -> dict[str, tuple[int, ...]]:
    """The lines of each tensor that a procedure computes; of one that has none, those of its readers."""
    found: dict[str, tuple[int, ...]] = {}
    for e in reversed(procedure.equations):
        readers = [f.target for f in procedure.equations if any(r.name == e.target for r in f.reads)]
        there = lines.get(e.target) or tuple(n for r in readers for n in found.get(r, ()))
        found[e.target] = tuple(sorted({*there})) or lines.get("return", ())
    return found
