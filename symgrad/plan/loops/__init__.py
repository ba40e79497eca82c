"""Program -> loop nests: the style of plan that C prints. Read `nests` first."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set

from ...domain import Domain
from ...expr import Const, Expr, refs, transformer
from ...ir import Equation, Role, below, reached
from ...records import replace
from ..narrow import Known, narrowed
from ..program import Item, Procedure, Program, Step
from ..sequence import steps_in_sequence
from .accumulate import accumulated, adding
from .constants import whole_constants
from .contract import summed_in_place, widened
from .data import (
    FULL_AXIS,
    Array,
    Block,
    Call,
    Contraction,
    Guard,
    If,
    Local,
    Loop,
    Nest,
    Node,
    Note,
    Rewriter,
    Store,
    expressions,
    stores,
    walk,
)
from .flat import at_each_point, flatten, pointwise, size_names
from .fuse import fuse, merged_calls
from .guards import Asked, in_branches
from .memory import Memory, last_homes, shared_memory, split_literals
from .names import distinct_scalars, name_scalars
from .notes import place_notes
from .order import Order
from .places import named_places
from .reach import Reach, without_idle, written_under
from .rematerialize import Rematerialize
from .share import Share
from .split import Split


def nests(
    program: Program, language: Callable[[Expr], Expr], threads: bool = False, wide: bool = True
) -> tuple[Nest, Nest]:
    """The loops of forward and of backward.

    program   without packs: what `flatten` or `pointwise` returns
    language  rewrites one node into operators that the language has
    threads   whether threads will share the turns of loops
    wide      whether products of matrices take in a loop around them
    """
    rewrite, known = Rewriter(transformer(language)), Known()
    forward = _nest(program, program.forward, rewrite, known, threads, wide)
    return forward, _nest(program, program.backward, rewrite, known, threads, wide)


def _nest(
    program: Program, procedure: Procedure, language: Rewriter, known: Known, threads: bool, wide: bool
) -> Nest:
    """One procedure: order its loops, fuse them, place its temporaries, name what is computed once."""
    primal = program.derivative.primal
    table = program.table_of(procedure)
    computed = {name for step in procedure.steps for name in step.targets}
    asked = (*procedure.returns, *(program.saved if procedure is program.forward else ()))
    kept = set(asked)
    temporaries, results = computed - kept, computed & kept
    optional = _optional(program, procedure)
    sizes = set(size_names(program).values())

    facts = replace(primal.facts, integers=primal.facts.integers | sizes)
    everywhere = Domain((), (), facts)
    order = Order(table, language, facts)
    of = {gradient: name for name, gradient in program.derivative.gradients}
    settled = [_settled(s, program, procedure, of) for s in procedure.steps]
    if procedure is program.forward and not program.partial:
        settled = _serving(settled, left_out(program), asked)
    needed = narrowed(settled, temporaries, optional, table, facts, known)
    needed = summed_in_place(needed, temporaries, table, facts)
    again = Rematerialize(needed, table, temporaries, optional, language, everywhere)
    steps = {step.targets: step for step in again.steps}
    sequence = steps_in_sequence([again.expanded(step) for step in again.steps])
    nodes: list[Node] = []
    returned = {*procedure.returns}
    owned: set[str] = set()  # what is stored under guards alone
    for s in sequence:
        some = _guarded(steps[s.targets], again(order.item(steps[s.targets])), owned, returned)
        owned |= written_under(some, numbers=True).keys()
        nodes += some
    block = in_branches(nodes)
    table |= order.scratch
    temporaries = temporaries | set(order.scratch)
    block, new, parts = split_literals(block, table, temporaries)
    table |= new
    temporaries = temporaries | set(new)
    shared = shared_memory(sequence, table, temporaries)
    homes = last_homes(shared)
    partial = {s.target for s in needed if isinstance(s, Step) and s.begins}
    places = {name: place for place, name in enumerate(asked)}
    serves = {name: frozenset(s.serves) for s in needed for name in s.targets if s.serves and table[name].shape}
    serves |= {part: serves[whole] for part, whole in parts.items() if whole in serves}
    given = {gradient: name for gradient, name in of.items() if program.table[name].optional}
    block = merged_calls(fuse(block, Asked(places, serves, homes, threads, given)), homes)
    memory = Memory(table, temporaries, results, optional, shared)
    block = memory.place(block)
    shapes = {t.name: t.shape for t in table.values()} | {a.name: a.shape for a in memory.arrays}
    block = Split(everywhere, order.name, order.limits)(whole_constants(block, shapes))
    if wide:
        block = widened(block, facts)
    block = distinct_scalars(named_places(block, facts))
    kinds = {t.name: t.dtype for t in table.values()} | {o.name: o.dtype for o in primal.options}
    kinds |= {a.name: a.dtype for a in memory.arrays}
    under = written_under(block) | _there_under(program, procedure)
    guarded = {*partial, *(homes.get(name, name) for name in partial)}
    block = place_notes(Share(kinds, guarded, Reach(shapes, everywhere, under))(block))
    taken = {*kinds, *size_names(program).values()} - temporaries | {a.name for a in memory.arrays}
    return Nest(name_scalars(block, taken, order.longer), tuple(memory.arrays), table)


def _there_under(program: Program, procedure: Procedure) -> dict[str, list[Guard]]:
    """The arrays that a caller gives, or that forward has saved, only if some inputs are given or are not."""
    optional = [name for name in program.derivative.primal.inputs if program.table[name].optional]
    saved: dict[str, list[Guard]] = {}
    if procedure is program.backward:
        for step in (leaf for item in program.forward.steps for leaf in item.leaves if leaf.target in program.saved):
            guards = [Guard((), tuple(dict.fromkeys((*step.when, *e.when))), ()) for e in step.equations]
            saved.setdefault(step.target, []).extend(guards)
    return without_idle(saved) | {name: [Guard((), ((name, True),), ())] for name in optional}


def left_out(program: Program) -> tuple[str, ...]:
    """The outputs without which forward may be called for what it saves: arrays that nothing saved is computed from,
    and that take loops over more indices than what is saved has axes; others are computed in the same loops. Any of a
    function that is `partial`."""
    if program.partial:
        return program.forward.returns
    equations = program.forward.equations
    reads = below(equations)
    saved = reads.keys() & {*program.saved} - {*program.forward.returns}
    axes = max((len(program.table[name].shape) for name in saved), default=0)

    def free(output: str) -> bool:
        needed = reached(reads, [*program.saved, *(n for n in program.forward.returns if n != output)])
        own = reached(reads, [output]) - needed
        return any(len(e.box) > axes for e in equations if e.target in own)

    shapes = {n: program.table[n].shape for n in program.forward.returns} if saved else {}
    return tuple(n for n, shape in shapes.items() if not all(isinstance(e, Const) for e in shape) and free(n))


def _serving(steps: Sequence[Item], outputs: Sequence[str], asked: Sequence[str]) -> list[Item]:
    """The steps of forward, of which some serve nothing but `outputs`."""
    reads = below([e for step in steps for e in step.equations])
    needed = reached(reads, [n for n in asked if n not in outputs])
    own = {n: reached(reads, [n]) for n in outputs}
    return [
        replace(step, serves=tuple(n for n in outputs if not own[n].isdisjoint(step.targets)))
        if needed.isdisjoint(step.targets)
        else replace(step, serves=())
        for step in steps
    ]


def _settled(step: Item, program: Program, procedure: Procedure, of: Mapping[str, str]) -> Item:
    """The step with the conditions that are left to ask: a gradient that is wanted has its input, and a result is
    written (with 0) whatever the conditions of its equations are, unless it is added to. A gradient is `of` an input.
    """
    implied = {(of[g], True) for g in step.serves} if len(step.serves) == 1 and step.serves[0] in of else set()

    def settled(e: Equation) -> Equation:
        return replace(e, when=tuple(w for w in e.when if w not in implied))

    returned = any(name in procedure.returns for name in step.targets)
    returned = returned and not (isinstance(step, Step) and step.how == "add")
    when = () if returned else tuple(w for w in step.when if w not in implied)
    return replace(step.mapped(settled, lambda size: size), when=when)


def _guarded(step: Item, block: Block, owned: Set[str], results: Set[str]) -> Block:
    """The loops of a step under the conditions on which it is needed. A number that several gradients need, and what
    all of them do, is simply computed, if what it reads is there on no condition: not `owned` by a guard before."""
    plain = not any(isinstance(n, Loop) for n in walk(block))
    guarded = {id(n) for guard in walk(block) if isinstance(guard, Guard) for n in walk(guard.body)}
    stored = {r.name for n in walk(block) if id(n) not in guarded for r in stores(n)}
    for_all = len(step.serves) >= len(results) and {*step.serves} >= results and stored.isdisjoint(results)
    if len(step.serves) > 1 and not step.when and (plain or for_all):
        if owned.isdisjoint(r.name for n in walk(block) for e in expressions(n) for r in refs(e)):
            return block
    return (Guard(step.serves, step.when, block),) if step.serves or step.when else block


def _optional(program: Program, procedure: Procedure) -> set[str]:
    """The results that may be left out while their value is computed: saved tensors, and those that others use."""
    if procedure is program.forward and not program.partial:
        return {n for n in program.saved if n not in procedure.returns and program.table[n].role is not Role.INPUT}
    return {
        step.target
        for item in procedure.steps
        for step in item.leaves
        if step.target in procedure.returns and step.serves != (step.target,) and step.how not in ("add", "once")
    }
