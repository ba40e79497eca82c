"""Packs become one axis, as loops see them; or none at all, for a function of one point."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType

from ...expr import Const, Expr, Index, Ref, apply, index, indices, ref, refs, substitution, transformer, values
from ...ir import Dropped, Equation, Role, Tensor
from ...records import replace
from ..program import Procedure, Program, Subscript
from .data import Guard, If, Local, Loop, Nest, Node, Note, Rewriter, Store, expressions, stores, walk
from .integers import fresh_index


def size_names(program: Program) -> dict[str, str]:
    """The name that each dim is printed with, in the order of the function's dims; a pack is called `batch`."""
    primal = program.derivative.primal
    taken = {t.name for t in program.tensors} | {d.name for d in primal.dims} | {o.name for o in primal.options}
    names = {}
    for dim in primal.dims:
        name = dim.name.removeprefix("*") if dim.name != "..." else "batch"
        while dim.pack and name in taken:
            name += "_size"
        names[dim.name] = name
        taken.add(name)
    return names


def flatten(
    program: Program, in_two: Mapping[str, tuple[str, str]] = MappingProxyType({}), equations: bool = True
) -> Program:
    """The same program, every pack one axis under an index `b`.

    equations  whether these are rewritten: who has the loops of one point asks how the tensors are laid out alone
    in_two     the packs that are two axes, under `b` and `h`, and the names of their sizes: the last of a pack's axes
               is the second one, and all before it are the first
    """
    packs = program.derivative.primal.packs
    if not packs:
        return program
    taken = {*program.names}
    renamed: dict[Expr, Expr] = {ref(name): ref(new) for name, new in size_names(program).items()}
    for pack in packs:
        renamed[index(pack)] = fresh_index(taken, "b")
    put = substitution(renamed)
    rewrite = Rewriter(put).equation if equations else lambda e: e
    flat = _rebuilt(program, rewrite, lambda t: replace(t, shape=tuple(map(put, t.shape))), put)
    for pack, (outer, inner) in in_two.items():
        i = renamed[index(pack)]
        assert isinstance(i, Index)
        split = _InTwo(flat, renamed[ref(pack)], i, (ref(outer), ref(inner)), (i, fresh_index(taken, "h")))
        flat = _rebuilt(flat, split.equation, split.tensor, split.put)
        flat = replace(flat, forward=split.procedure(flat.forward), backward=split.procedure(flat.backward))
    return flat


class _InTwo:
    """An axis as two: elements at `i` of `extent` are those at `pair` of `extents`."""

    def __init__(
        self, program: Program, extent: Expr, i: Index, extents: tuple[Expr, Expr], pair: tuple[Index, Index]
    ) -> None:
        self.extent, self.i, self.extents, self.pair = extent, i, extents, pair
        tensors = (*program.tensors, *program.forward.turns, *program.backward.turns)
        self.axes = {t.name: [n is extent for n in t.shape] for t in tensors}
        (outer, inner), (b, h) = extents, pair
        self.number = apply("add", apply("mul", b, inner), h)
        self.put = transformer(self._element, {i: self.number, extent: apply("mul", outer, inner)})

    def _element(self, node: Expr) -> Expr:
        if isinstance(node, Ref) and node.name in self.axes:
            return ref(node.name, *self._subscripts(node.name, node.subscripts))
        return node

    def _subscripts(self, name: str, subscripts: Sequence[Expr]) -> Iterator[Expr]:
        for s, two in zip(subscripts, self.axes[name], strict=True):
            assert not two or s is self.number, "packs have one index"
            yield from self.pair if two else (s,)

    def equation(self, e: Equation) -> Equation:
        """An equation in elements of such tensors."""
        pairs = [[*zip(self.pair, self.extents, strict=True)] if i is self.i else [(i, n)] for i, n in e.box]
        found = replace(e, box=tuple(pair for some in pairs for pair in some)).mapped(self.put)
        return replace(found, subscripts=tuple(self._subscripts(e.target, found.subscripts)))

    def tensor(self, t: Tensor) -> Tensor:
        """A tensor with two axes for one."""
        return replace(t, shape=tuple(x for n in t.shape for x in (self.extents if n is self.extent else (n,))))

    def procedure(self, p: Procedure) -> Procedure:
        """A procedure whose planes are told by axes as they are now."""

        def now(name: str, axis: int) -> int:
            return axis + sum(self.axes[name][:axis])

        return replace(p, planes={n: (now(n, a), now(n, b)) for n, (a, b) in p.planes.items()})


def pointwise(program: Program) -> Program | None:
    """The function of one point of the batch, if that is all the program does: one pack leads every tensor that is
    computed, every other size is a number, and no equation reduces over the pack or counts along it."""
    packs = program.derivative.primal.packs
    if len(packs) != 1 or program.indexed or program.derivative.primal.constraints:
        return None
    if any(e.matrix is not None for e in _equations(program)):
        return None  # a call may fail, and the batch would go on
    pack, b = ref(packs[0]), index(packs[0])
    batched = {t.name for t in program.tensors if t.shape and t.shape[0] is pack}
    for t in program.tensors:
        if not all(isinstance(e, Const) for e in (t.shape[1:] if t.name in batched else t.shape)):
            return None
        if t.name not in batched and t.role not in (Role.INPUT, Role.LOCAL):
            return None
    equations = _equations(program)
    reads = {r for e in equations for r in e.reads}
    if pack in reads or any(r.name in batched and r.subscripts[0] is not b for r in reads):
        return None
    elsewhere = [s for r in reads for s in r.subscripts[r.name in batched :]]
    if b in indices(*elsewhere) or b in values(*(root for e in equations for root in (e.body, *e.conditions))):
        return None
    for e in equations:
        if e.target in batched and (e.subscripts[0] is not b or b in indices(*e.subscripts[1:])):
            return None
        if e.target not in batched and any(i is b for i, _ in e.box):
            return None

    dropped = Dropped(dict.fromkeys(batched, (0,)), {b})
    return _rebuilt(program, dropped.equation, dropped.tensor, dropped.put)


def at_each_point(nest: Nest, program: Program) -> Nest | None:
    """The loop over all points of the batch around the nest of one, where that is one line after the other.

    program  with the pack as an axis: what `flatten` returns
    """
    if nest.arrays or any(not isinstance(n, (Local, Store, If, Guard, Note)) for n in nest.nodes):
        return None
    (pack,) = program.derivative.primal.packs
    size = ref(size_names(program)[pack])
    own = {n.name for n in nest.nodes if isinstance(n, Local)}
    table = {name: program.table.get(name, t) for name, t in nest.table.items()}
    batched = {name for name, t in table.items() if t.shape and t.shape[0] is size} - own
    b = fresh_index({*table} | own | {size.name}, "b")

    def lift(n: Expr) -> Expr:
        return ref(n.name, b, *n.subscripts) if isinstance(n, Ref) and n.name in batched else n

    lifted = Rewriter(transformer(lift))
    body = lifted.block(nest.body)
    changing = own & {r.name for n in walk(body) for r in stores(n)}
    before: list[Node] = []
    inside: list[Node] = []
    varying = batched | own
    for node in body:
        read = (r.name for e in expressions(node) for r in refs(e))
        if isinstance(node, Local) and node.name not in changing and varying.isdisjoint(read):
            before.append(node)
            varying.discard(node.name)
        else:
            inside.append(node)
    return Nest((*before, Loop(b, size, tuple(inside))), (), table)


def _equations(program: Program) -> list[Equation]:
    return [*program.forward.equations, *program.backward.equations]


def _rebuilt(
    program: Program,
    equation: Callable[[Equation], Equation],
    tensor: Callable[[Tensor], Tensor],
    rewrite: Callable[[Expr], Expr],
) -> Program:
    def procedure(p: Procedure) -> Procedure:
        items = tuple(item.mapped(equation, rewrite) for item in p.steps)
        return replace(p, steps=items, turns=tuple(map(tensor, p.turns)))

    checked = []
    for s in program.indexed:
        rebuilt = rewrite(s.element)
        assert isinstance(rebuilt, Ref)
        checked.append(Subscript(rebuilt, rewrite(s.extent), None if s.where is None else rewrite(s.where)))
    return replace(
        program,
        tensors=tuple(map(tensor, program.tensors)),
        forward=procedure(program.forward),
        backward=procedure(program.backward),
        indexed=tuple(checked),
    )
