"""Where values live: a temporary that dies inside a loop is a scalar there, or what is left of an array.

A temporary that is used only to compute a result, element by element, may stand in the memory of that result. A result
that may not be asked for (a saved tensor, a gradient that another one needs) cannot be read back: its value is a scalar
that is stored where the result is wanted, or an array that stands in for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import field
from functools import partial
from operator import attrgetter

from ...expr import ZERO, Const, Expr, Index, Ref, ref, refs, substitute, substitution, transformer, unchanged
from ...ir import Dtype, Tensor
from ...records import dataclass, replace
from ..program import Item, Step
from .data import (
    Array,
    Block,
    Guard,
    Local,
    Loop,
    Node,
    Rewriter,
    Store,
    expressions,
    root_of,
    stores,
    walk,
    with_blocks,
    with_inner,
    with_root,
)
from .names import value_name

Path = tuple[tuple[int, int, Index | None], ...]  # position in the block, which block inside, the index of a loop
Places = Mapping[str, tuple[str, Sequence[int]]]  # tensor -> what stands for it, and the axes that are left


def shared_memory(steps: Sequence[Item], table: Mapping[str, Tensor], temporaries: set[str]) -> dict[str, str]:
    """Temporary -> the tensor in whose memory it can stand: nothing reads it at another element once that one is
    written, nor at all afterwards."""
    readers: dict[str, list[int]] = {}
    writers = {name: n for n, step in enumerate(steps) for name in step.targets}
    for n, step in enumerate(steps):
        for name in {r.name for e in step.equations for r in e.reads}:
            readers.setdefault(name, []).append(n)
    found: dict[str, str] = {}
    for n, step in enumerate(steps):
        if not isinstance(step, Step) or not (step.how == "fill" or step.begins):
            continue
        (e, *others) = step.equations
        if (
            table[step.target].dtype is not Dtype.REAL
            or others and (e.when or step.how != "fill")  # what they add to stands there
            or e.reduce != "none"
            or not e.plain
            or e.where is not None and step.how == "fill"
            or not e.subscripts
            or not e.fills(table[step.target])  # what it does not write is set to 0 first
        ):
            continue
        for name in dict.fromkeys(r.name for r in e.reads):
            if name not in temporaries or name in found or readers[name][-1] != n or table[name].dtype != Dtype.REAL:
                continue
            mine = steps[writers[name]]
            shape, wanted = table[name].shape, table[step.target].shape
            same = len(shape) == len(wanted) and all(a.key is b.key for a, b in zip(shape, wanted, strict=True))
            at = {r.subscripts for r in e.reads if r.name == name}
            again = any(r.name == name for other in others for r in other.reads)  # after the first is written
            alike = (mine.serves, mine.when) == (step.serves, step.when)
            if same and alike and at == {e.subscripts} and not again:
                found[name] = step.target
                break
    return found


def last_homes(shared: Mapping[str, str]) -> dict[str, str]:
    """Temporary -> the tensor in whose memory it stands in the end: that one's may be another one's."""
    found: dict[str, str] = {}
    for name, home in shared.items():
        while home in shared:
            home = shared[home]
        found[name] = home
    return found


def split_literals(
    block: Block, table: Mapping[str, Tensor], temporaries: set[str]
) -> tuple[Block, dict[str, Tensor], dict[str, str]]:
    """Temporaries that are only used at literal subscripts of some axes become one tensor per literal: v[0] is v0. Also
    these tensors, and the name of what each is a part of."""
    elements: dict[str, set[Ref]] = {}
    for node in walk(block):
        for r in (*stores(node), *(r for e in expressions(node) for r in refs(e))):
            if r.name in temporaries and r.subscripts:
                elements.setdefault(r.name, set()).add(r)
    new: dict[str, Tensor] = {}
    parts: dict[str, str] = {}
    places: dict[str, tuple[str, Sequence[int]]] = {}  # by the name, and the literals
    literals: dict[str, list[int]] = {}
    for name, used in elements.items():
        rank = len(table[name].shape)
        literal = [a for a in range(rank) if all(isinstance(r.subscripts[a], Const) for r in used)]
        literals[name] = literal
        for r in used if literal else ():
            label = _label(r, literal)
            split = f"{name}{'_' if name[-1].isdigit() else ''}{label}"
            if split in table:
                split = f"{name}_at_{label}"
            rest = [a for a in range(rank) if a not in literal]
            new[split] = replace(table[name], name=split, shape=tuple(table[name].shape[a] for a in rest))
            parts[split] = name
            places[f"{name} {label}"] = split, rest

    def key(node: Ref) -> str:
        return f"{node.name} {_label(node, literals.get(node.name, ()))}"

    return _placing(places, key).block(block), new, parts


def _label(element: Ref, literal: Sequence[int]) -> str:
    return "_".join(str(element.subscripts[a]) for a in literal)


def _placing(places: Places, key: Callable[[Ref], str] = attrgetter("name")) -> Rewriter:
    return Rewriter(transformer(lambda node: _placed(node, places, key)) if places else unchanged)


def _placed(node: Expr, places: Places, key: Callable[[Ref], str]) -> Expr:
    """What stands for an element, whose own subscripts have been rewritten already."""
    if not isinstance(node, Ref) or (found := places.get(key(node))) is None:
        return node
    name, axes = found
    return ref(name, *(node.subscripts[a] for a in axes))


@dataclass
class _Use:
    """How one tensor is used in a procedure; a place is the path of a statement, its own position last."""

    elements: set[Ref] = field(default_factory=set)
    places: list[Path] = field(default_factory=list)
    written: list[Path] = field(default_factory=list)
    reads: int = 0

    @property
    def home(self) -> Path:
        """The path of the innermost block that holds every use."""
        shortest = self.places[0][:-1]
        for place in self.places:
            depth = 0
            while depth < min(len(place) - 1, len(shortest)) and place[depth] == shortest[depth]:
                depth += 1
            shortest = shortest[:depth]
            if not depth:
                break
        return shortest


@dataclass(eq=False)
class Memory:
    """Rewrites the loops of one procedure so that every temporary has its place.

    temporaries  tensors that live inside the procedure only
    results      everything the caller gets
    optional     results that the caller may leave out while their value is needed
    shared       temporary -> the tensor in whose memory it can stand, as `shared_memory` finds them
    """

    table: Mapping[str, Tensor]
    temporaries: set[str]
    results: set[str]
    optional: set[str]
    shared: Mapping[str, str]
    arrays: list[Array] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._uses: dict[str, _Use] = {}
        self._scalars: dict[str, str] = {}  # tensor -> the scalar that holds its element
        self._places: dict[str, tuple[str, Sequence[int]]] = {}
        self._lent: dict[str, tuple[str, Sequence[int]]] = {}  # in the memory of a result
        self._lenders: dict[str, tuple[str, list[int]]] = {}  # tensor -> the array it has, and the axes that are left
        self._asked: set[str] = set()  # results whose absence a guard asks for
        self._accumulators: dict[Expr, Expr] = {}  # accumulator -> the scalar it is the value of

    def place(self, block: Block) -> Block:
        """`block` with every temporary in its place; `arrays` then lists those that need memory."""
        self._collect(block, (), self.temporaries | self.results)
        self._asked = {name for n in walk(block) if isinstance(n, Guard) for name in n.wanted}
        opens: dict[Path, list[str]] = {}
        closes: dict[Path, list[str]] = {}
        lenders_first = sorted(self._uses, key=self._distance)
        scalars = {name for name in lenders_first if self._decide(name, self._uses[name])}
        for name, use in self._uses.items():
            if name in scalars:
                depth = len(use.home)
                start = min(place[depth][0] for place in use.places)
                opens.setdefault((*use.home, (start, -1, None)), []).append(name)
                if name in self.results:
                    end = max(place[depth][0] for place in use.written)
                    closes.setdefault((*use.home, (end, -1, None)), []).append(name)
        rewrite = _placing(self._places)
        placed = self._rebuild(block, (), opens, closes, rewrite)
        named = Rewriter(substitution(self._accumulators)).block(placed)
        lent = _placing(self._lent)
        return lent.block(_forwarded(named, set(self.shared)))

    def _collect(self, block: Block, path: Path, known: Set[str]) -> None:
        for position, node in enumerate(block):
            place = (*path, (position, -1, None))
            for element in (r for r in stores(node) if r.name in known):
                use = self._uses.setdefault(element.name, _Use())
                use.elements.add(element)
                use.places.append(place)
                use.written.append(place)
            for r in dict.fromkeys(r for e in expressions(node) for r in refs(e) if r.name in known):
                use = self._uses.setdefault(r.name, _Use())
                use.elements.add(r)
                use.places.append(place)
                use.reads += 1
            turn = node.index if isinstance(node, Loop) else None
            for number, inner in enumerate(node.blocks):
                self._collect(inner, (*path, (position, number, turn)), known)

    def _decide(self, name: str, use: _Use) -> bool:
        """Find the place of one tensor; True if it is a scalar."""
        if name in self.results and name not in self.optional:
            self._lenders[name] = (name, list(range(len(self.table[name].shape))))
        if name in self.results and not use.reads and name not in self.optional or not use.written:
            return False
        around = {i for _, _, i in use.home if i is not None}
        axes = range(len(self.table[name].shape))
        left = [a for a in axes if not _same_index({r.subscripts[a] for r in use.elements}, around)]
        if not left:
            (element,) = use.elements
            self._scalars[name] = name if name in self.temporaries else _own_name(element)
            self._places[name] = self._scalars[name], ()
            return True
        if name in self.optional:
            asked = name in self._asked  # whether its pointer is NULL must then be told to the end
            self._array(name, f"{name}_values" if asked else name, list(axes), stands_for=name)
        elif (lender := self._lenders.get(self.shared.get(name, name))) is not None and {*left} <= {*lender[1]}:
            self._lent[name] = lender
            self._lenders[name] = lender
        elif name in self.temporaries:
            self._array(name, name, left)
        return False

    def _distance(self, name: str) -> int:
        steps = 0
        while name in self.shared:
            name, steps = self.shared[name], steps + 1
        return steps

    def _array(self, name: str, new: str, axes: list[int], stands_for: str | None = None) -> None:
        tensor = self.table[name]
        self._lenders[name] = (new, axes)
        self.arrays.append(Array(new, tuple(tensor.shape[a] for a in axes), tensor.dtype, stands_for))
        self._places[name] = new, axes

    def _rebuild(
        self,
        block: Block,
        path: Path,
        opens: Mapping[Path, list[str]],
        closes: Mapping[Path, list[str]],
        rewrite: Rewriter,
    ) -> Block:
        done: list[Node] = []
        for position, node in enumerate(block):
            place = (*path, (position, -1, None))
            fresh = opens.get(place, [])
            direct = node.element.name if isinstance(node, Store) and node.how == "=" else None
            for name in fresh:
                if name != direct:
                    done.append(Local(self._scalars[name], ZERO, self.table[name].dtype, changes=True))
            turn = node.index if isinstance(node, Loop) else None
            inner = tuple(
                self._rebuild(b, (*path, (position, number, turn)), opens, closes, rewrite)
                for number, b in enumerate(node.blocks)
            )
            if isinstance(node, Store) and direct in fresh:
                done += self._first(node, rewrite)
            else:
                done.append(with_blocks(rewrite.own(node), inner))
            for name in closes.get(place, []):
                (element,) = self._uses[name].elements
                keep = Store(element, ref(self._scalars[name]))
                done.append(Guard((name,), (), (keep,)) if name in self.optional else keep)
        return tuple(done)

    def _first(self, node: Store, rewrite: Rewriter) -> Block:
        """The declaration of a scalar; the accumulator of a reduction gets the name of what it is the value of."""
        name = node.element.name
        local, value = ref(self._scalars[name]), rewrite.of(node.value)
        if isinstance(value, Ref) and "#" in value.name:
            self._accumulators[value] = local
            return ()
        return (Local(local.name, value, self.table[name].dtype, changes=len(self._uses[name].written) > 1),)


def _same_index(subscripts: set[Expr], around: set[Index]) -> bool:
    """Whether an axis is at one and the same index of an enclosing loop wherever it is used."""
    (first, *more) = subscripts
    return not more and isinstance(first, Index) and first in around


def _own_name(element: Ref) -> str:
    """A name for the value of one element: other names are made from what stands before the ~; what stands behind the @
    keeps it apart."""
    return f"{value_name(element, '~_')}@{element.serial}"


def _forwarded(block: Block, lodgers: set[str]) -> Block:
    """What is stored and read again by a later statement of the same block is a scalar first.

    lodgers  temporaries without memory of their own, whose name is free for the scalar
    """
    block = tuple([with_inner(node, partial(_forwarded, lodgers=lodgers)) for node in block])
    stored: dict[Ref, int] = {}
    again: set[int] = set()
    for position, node in enumerate(block):
        for e in expressions(node) if stored else ():
            again |= {stored[r] for r in refs(e) if r in stored}
        for name in {r.name for n in walk((node,)) for r in stores(n)}:
            for r in [r for r in stored if r.name == name]:
                del stored[r]
        if isinstance(node, Store) and node.how == "=" and node.element.subscripts:
            stored[node.element] = position
    if not again:
        return block
    done: list[Node] = []
    values: dict[Expr, Expr] = {}
    for position, node in enumerate(block):
        if values and (read := root_of(node)) is not None:
            node = with_root(node, substitute(read, values))
        for name in {r.name for n in walk((node,)) for r in stores(n)}:
            for e in [e for e in values if isinstance(e, Ref) and e.name == name]:
                del values[e]
        if position in again and isinstance(node, Store):
            name = node.element.name
            local = f"{name}@{node.element.serial}" if name in lodgers else _own_name(node.element)
            done.append(Local(local, node.value))
            values[node.element] = ref(local)
            node = replace(node, value=ref(local))
        done.append(node)
    return tuple(done)
