"""Derivative -> Program: lower, cut between forward and backward, order, guard."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from ..errors import UnsupportedError
from ..expr import ZERO, Ref, refs
from ..expr.names import Names
from ..expr.signs import OneForm
from ..ir import Derivative, Equation, Tensor, alive, recorded, show_element
from ..ops import KERNELS
from ..simplify.reuse import entangled
from .arrays.cut import cut
from .axes import packs_lead, points_last
from .chunks import InChunks, chunked
from .conditions import Divisors
from .exponents import split_gaussian, with_powers
from .factors import rows_first, summed_once
from .functions import with_functions
from .lower import aligned, divided_once, expanded, reread, shared, suprema, tidied, with_arguments, without_logsumexp
from .narrow import unmasked
from .operands import with_operands
from .planes import divided_last, planes, planes_of, regrouped
from .program import Procedure, Program, names_in
from .reciprocals import inverted_once
from .running import with_running_sums
from .saved import ROUNDED, choose_saved, with_exact_results
from .scattered import scattered_apart
from .segments import segments
from .steps import steps
from .subscripts import subscripts

LARGE = 150  # operations that equations share; a longer straight line is cut (arrays) or scheduled (loops)
STREAMS = ("triton",)  # where planes are computed in tiles as they are read


def plan(
    derivative: Derivative,
    to: str,
    style: str = "arrays",
    calls: Collection[str] | None = None,
    operation: float = 0.05,
    every: int | str | None = None,
    partial: bool = False,
) -> Program:
    """Return what forward and backward of `derivative` compute in the target `to`, of the style `arrays` or `loops`.

    calls      the functions of matrices that the target has, all of them if it is None
    operation  what one operation on an element costs, where keeping the element costs 1
    every      the steps of a recurrence from one checkpoint to the next, as `segments` has them; None without
               checkpoints
    partial    whether forward may be asked for some of its results only

    Saved is the cheapest cut: inputs and outputs are free, and a value is computed again where that costs less than
    keeping it.
    """
    joint, primal = derivative.function, derivative.primal
    if calls is not None:
        _refuse_matrices(derivative, to, calls)
    tensors = dict(joint.table)
    names = Names(names_in(joint))
    written = set(primal.writers)
    statements = with_functions(split_gaussian(with_powers(joint.statements), to, tensors), to)
    forward = aligned([e for e in statements if e.target in written])
    both = [*forward, *(e for e in statements if e.target not in written)]
    small = not entangled(both, LARGE)

    def border(both: Sequence[Equation]) -> int:
        """Where backward begins: what both read is forward's."""
        return max(place for place, e in enumerate(both) if e.target in written) + 1

    def shared_once(both: list[Equation]) -> list[Equation]:
        if not small:
            return both
        return shared(reread(both, tensors.keys() - joint.table.keys()), tensors, names, joint.facts)

    if not small:
        form = OneForm()
        both = [e.with_body(form(e.body)) for e in both]
    both = shared_once(both) if small else shared(both, tensors, names, joint.facts, calls=True)
    if small and style == "arrays":
        both = with_arguments(both, to, tensors, names)
    while (there := expanded(both, to, tensors)) != both:
        both = shared_once(there)
    both = without_logsumexp(both, border(both), primal.outputs, tensors, names, style)
    if small:  # else a quotient that has no name yet would lose its other readers
        both = [*both[: border(both)], *tidied(both[border(both) :])]
    if every is None and to not in KERNELS:
        both = with_running_sums(both, tensors, names, joint.facts)
    if style == "arrays":
        both = unmasked(suprema(both), border(both), tensors, names, joint.facts)
    both = list(recorded("lowered", joint.statements, shared_once(both)))
    forward, backward = both[: border(both)], both[border(both) :]
    if to in ROUNDED:
        forward, backward = with_exact_results(primal, forward, backward, tensors, names)
    never = planes(forward, primal.outputs) if to in STREAMS else {}
    if never:
        backward = list(recorded("regrouped", backward, regrouped(backward, forward, never, names_in(joint))))
        forward = list(recorded("divided last", forward, divided_last(forward, never, tensors, names)))
    in_chunks = InChunks(forward, backward)
    if to in STREAMS:
        backward = scattered_apart(backward, tensors, names)
        in_chunks = chunked(forward, backward, primal.outputs, never, tensors, names)
    forward, backward = [*in_chunks.forward], [*in_chunks.backward]
    tensors |= {t.name: t for t in in_chunks.picked}
    if in_chunks.products:
        forward, backward = summed_once(forward, tensors, names), summed_once(backward, tensors, names)
    unsaved = {*never, *in_chunks.planes}
    if style == "arrays":
        shaped = {*joint.inputs, *primal.outputs, *joint.outputs}
        forward, backward = packs_lead(forward, backward, tensors, shaped, names)
    loops = style == "loops"
    saved, again = choose_saved(derivative.primal, forward, backward, tensors, operation, not small, loops, unsaved)
    parts = None if every is None else segments(primal, forward, backward, tensors, names, every)
    if parts is not None:
        saved, again = parts.saved(forward, backward, saved, again)
    wanted = [*primal.outputs, *saved, *(parts.recurrent if parts else ())]
    forward = list(alive(forward, wanted))
    backward = [*again, *backward]
    if style == "loops":
        forward, backward = with_operands(forward, tensors, names), with_operands(backward, tensors, names)

    harmless = Divisors(joint, tensors.values(), forward, backward)

    def in_style(equations: Sequence[Equation]) -> list[Equation]:
        if style == "loops":
            equations = divided_once(equations, tensors, names)
        found = rows_first(equations)
        if to == "c":
            found = inverted_once(found, both, tensors, names)
        return found if style == "loops" and to not in KERNELS else cut(found, tensors, names, harmless)

    both = [*forward, *backward]
    forward, backward = (list(recorded("cut", es, in_style(es))) for es in (forward, backward))
    if style == "loops" and to not in KERNELS and parts is None:
        fixed = {*joint.inputs, *joint.outputs, *primal.outputs, *saved}
        forward, backward = points_last(forward, backward, tensors, fixed, primal.packs, names)
    backward += _zeros(derivative, backward)
    gradients = tuple(g for _, g in derivative.gradients)
    own = {g: {(name, True)} for name, g in derivative.gradients if name in primal.optional}
    results = {name: set[tuple[str, bool]]() for name in wanted}
    if style == "loops":  # backward is given memory for what is saved, written or not
        readers: dict[str, list[set[tuple[str, bool]]]] = {}
        for name, when in ((name, {*e.when}) for e in backward for name in {r.name for r in e.reads}):
            readers.setdefault(name, []).append(when)
        results |= {name: set.intersection(*readers[name]) for name in saved if name in readers}
    asked = primal.outputs if partial else ()
    items, turns = steps(forward, asked, tensors, joint.facts, results, parts.forward if parts else None)
    some = planes_of(forward, never, wanted)
    first = Procedure(primal.inputs, items, (*primal.outputs,), turns, some, in_chunks.products)
    results = {g: own.get(g, set()) for g in gradients}
    items, turns = steps(backward, gradients, tensors, joint.facts, results, parts.backward if parts else None)
    saved += parts.checkpoints if parts else ()
    reads = (*saved, *(s for _, s in derivative.seeds))
    second = Procedure(reads, items, gradients, turns, planes_of(backward, never, gradients), in_chunks.products)
    if parts:
        backward = [*backward, *second.equations]
    used = {e.target for e in (*forward, *first.equations, *backward)} | set(joint.inputs) | set(joint.outputs)
    read = {r.name for e in backward for r in (*e.reads, *refs(*(extent for _, extent in e.box)))}
    # the shape of what is given is checked, that of a result is made
    read |= {r.name for _, name in (*derivative.seeds, *derivative.gradients) for r in refs(*tensors[name].shape)}
    if style == "loops":  # where backward, too, asks what must hold of sizes, and of subscripts that are data
        by_data = any(n.name in primal.table for e in primal.statements for r in e.reads for n in refs(*r.subscripts))
        conditions = (*primal.constraints, *(x for e in primal.statements if by_data for x in e.expressions))
        read |= {r.name for r in refs(*conditions)}
    return Program(
        derivative=derivative,
        tensors=tuple(t for t in tensors.values() if t.name in used),
        forward=first,
        backward=second,
        saved=tuple(saved),
        saved_sizes=_untold(derivative, backward, tensors, saved),
        saved_options=tuple(o.name for o in joint.options if o.name in read),
        saved_presence=_presence(backward, saved, primal.optional),
        indexed=subscripts(primal),
        partial=partial,
        computed=parts.named if parts else (),
    )


def _refuse_matrices(derivative: Derivative, to: str, calls: Collection[str]) -> None:
    for e in derivative.function.statements:
        if e.matrix is not None and e.matrix.function not in calls:
            call = e.matrix.function
            raise UnsupportedError(
                f"{derivative.primal.name}: {to} has no {call}, which gives {show_element(e.target, e.subscripts)}. "
                f"Functions of whole matrices are printed for NumPy: --to numpy. C calls LAPACKE for most of them "
                f"where you ask for it: --to c --lapack. Or compute {call} by a library, and pass its result as an "
                f"input."
            )


def _zeros(derivative: Derivative, backward: Sequence[Equation]) -> list[Equation]:
    """An equation for every gradient that nothing contributes to: it is 0, and there is none of an absent input."""
    joint = derivative.function
    written = {e.target for e in backward}
    found = []
    for name, gradient in derivative.gradients:
        if gradient not in written:
            when = ((name, True),) if name in joint.optional else ()
            box = joint.box_of(joint.table[gradient].shape)
            found.append(Equation(gradient, tuple(i for i, _ in box), "none", ZERO, box, None, when))
    return found


# what backward must be told


def _untold(
    derivative: Derivative, backward: Sequence[Equation], tensors: Mapping[str, Tensor], saved: Sequence[str]
) -> tuple[str, ...]:
    """The sizes that backward works with, the shape of grad_output included, and that no saved tensor tells."""
    joint = derivative.function
    dims = [d.name for d in joint.dims]
    needed: set[str] = set()
    for e in backward:
        for expression in (*e.expressions, *(extent for _, extent in e.box)):
            needed |= {r.name for r in refs(expression)}
    results = (*(g for _, g in derivative.gradients), *(s for _, s in derivative.seeds))
    for name in (*results, *(e.target for e in backward)):  # of what is added to by place, no index may run along it
        needed |= {r.name for extent in tensors[name].shape for r in refs(extent)}
    certain = [tensors[s] for s in saved if not tensors[s].optional]
    told = {extent.name for t in certain for extent in t.shape if isinstance(extent, Ref)}
    return tuple(d for d in dims if d in needed and d not in told)


def _presence(backward: Sequence[Equation], saved: Sequence[str], optional: Sequence[str]) -> tuple[str, ...]:
    asked = {name for e in backward for name, _ in e.when}
    return tuple(name for name in optional if name in asked and name not in saved)
