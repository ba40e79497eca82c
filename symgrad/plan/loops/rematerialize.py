"""Temporaries that are computed where they are read: a subtraction is cheaper than a row of memory for its result.

Such a temporary is elementwise and cheap, or read in one place only; whoever reads it runs over just its indices, so
that nothing is computed more often than it would be loaded; and what it reads is at hand: inputs, results that are
complete, others of its kind, values of fewer axes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import count

from ...domain import Domain
from ...expr import Apply, Const, Expr, Index, Ref, indices, postorder, ref, refs, show, substitute, without_sign
from ...ir import Dtype, Equation, Tensor, unconditional
from ...ops import OPS
from ...records import dataclass
from ..program import Item, Step
from .data import Block, Local, Node, Rewriter, root_of, with_blocks, with_root
from .reach import Reach

HANDFUL = 8  # operations that are rather repeated than stored, those of what is inlined included; a division is three
MOST = 40  # operations of what is read once
INLINE = 48  # characters of a link of a chain that needs no name


@dataclass(frozen=True, slots=True)
class _Formula:
    """T[subscripts] = body, in operators that the language has."""

    subscripts: tuple[Index, ...]
    body: Expr
    dtype: Dtype
    operations: int

    def at(self, element: Ref) -> Expr:
        """The value of one element."""
        return substitute(self.body, dict(zip(self.subscripts, element.subscripts, strict=True)))


class Rematerialize:
    """Chooses these temporaries among the steps of one procedure; `steps` are those that are left.

    stored   results whose memory is there whenever they are read
    hidden   results that may have no memory of their own
    everywhere  what is known of the sizes
    """

    def __init__(
        self,
        steps: Sequence[Item],
        table: Mapping[str, Tensor],
        temporaries: set[str],
        hidden: set[str],
        language: Rewriter,
        everywhere: Domain,
    ) -> None:
        self._table = table
        self._everywhere = everywhere
        self._shapes = {t.name: t.shape for t in table.values()}
        self._serial = count(1)
        self._formulas: dict[str, _Formula] = {}
        written = {name for step in steps for name in step.targets}
        reads = _reads(steps)
        plain = {
            step.target
            for step in steps
            if isinstance(step, Step) and step.target in temporaries and _is_elementwise(step, table[step.target])
        }
        for step in steps:
            name = step.targets[0]
            if name not in plain or not table[name].shape or name not in reads or not _fits(name, reads[name]):
                continue
            if len(reads[name]) > 1 and all(_copies(table[name], e, r) for e, r in reads[name]):
                continue  # the loops of all are one
            (e,) = step.equations
            below = [r.name for r in e.reads]
            if any(n in written and not self._at_hand(n, name, temporaries | hidden) for n in below):
                continue
            body = language.of(e.body)
            operations = _operations(body) + sum(
                self._formulas[r.name].operations for r in refs(body) if r.name in self._formulas
            )
            once = len(reads[name]) == 1 and reads[name][0][0].target not in plain
            if operations <= (MOST if once else HANDFUL):
                subscripts = tuple(i for i in e.subscripts if isinstance(i, Index))
                self._formulas[name] = _Formula(subscripts, body, table[name].dtype, operations)
        self.steps = tuple(step for step in steps if step.targets[0] not in self._formulas)

    def _at_hand(self, name: str, reader: str, uncertain: set[str]) -> bool:
        fewer = len(self._table[name].shape) < len(self._table[reader].shape)
        return name in self._formulas or fewer or name not in uncertain

    def expanded(self, step: Item) -> Item:
        """The step with these temporaries written out: what it really reads."""
        return step.mapped(lambda e: e.with_body(self._written_out(e.body)), lambda size: size)

    def _written_out(self, root: Expr) -> Expr:
        while found := {r: self._formulas[r.name].at(r) for r in refs(root) if r.name in self._formulas}:
            root = substitute(root, found)
        return root

    def __call__(self, block: Block) -> Block:
        """`block` with a scalar for each of these elements, before the statement that reads it."""
        if not self._formulas:
            return block
        reach = Reach(self._shapes, self._everywhere)
        return tuple(new for node in block for new in self._node(node, reach))

    def _node(self, node: Node, reach: Reach) -> Iterator[Node]:
        blocks = zip(node.blocks, reach.inside(node), strict=True)
        node = with_blocks(node, tuple(tuple([new for n in b for new in self._node(n, r)]) for b, r in blocks))
        if (root := root_of(node)) is not None:
            before, value = self._scalars(root, reach)
            yield from before
            node = with_root(node, value)
        yield node

    def _scalars(self, root: Expr, reach: Reach) -> tuple[list[Local], Expr]:
        """The scalars that `root` needs, each after those it needs itself, and `root` in terms of them. What a
        condition keeps from being read where it is not stays behind it."""
        values: dict[Ref, Expr] = {}  # each after those it reads
        uses: dict[Ref, int] = {}
        free: set[Ref] = set()  # may be computed before any condition is known

        def visit(expression: Expr, weight: int, reached: bool) -> None:
            certain = unconditional(expression) if reached else set()
            for r in refs(expression):
                if r.name in self._formulas:
                    uses[r] = uses.get(r, 0) + weight
                    news = r not in free and (r in certain or reach.holds(r))
                    if news:
                        free.add(r)
                    if r not in values or news:
                        value = self._formulas[r.name].at(r)
                        visit(value, 1, r in free)
                        values.setdefault(r, value)

        visit(root, 2, True)
        found: dict[Expr, Expr] = {}
        before: list[Local] = []
        for r, value in values.items():
            value = substitute(value, found)
            if r not in free or uses[r] == 1 and len(show(value)) <= INLINE:
                found[r] = value
                continue
            local = Local(f"{r.name}@again{next(self._serial)}", value, self._formulas[r.name].dtype)
            before.append(local)
            found[r] = ref(local.name)
        return before, substitute(root, found) if found else root


def _reads(steps: Sequence[Item]) -> dict[str, list[tuple[Equation, Ref | None]]]:
    """Per tensor, the equations that read it and the element; None where it is no part of a body."""
    found: dict[str, list[tuple[Equation, Ref | None]]] = {}
    for step in steps:
        for e in step.equations:
            inside = set(refs(e.body))
            for r in dict.fromkeys(e.reads):
                found.setdefault(r.name, []).append((e, r if r in inside else None))
            outside = refs(*e.subscripts, *(() if e.where is None else (e.where,)), *(extent for _, extent in e.box))
            for r in outside:
                found.setdefault(r.name, []).append((e, None))
    return found


def _fits(name: str, reads: Sequence[tuple[Equation, Ref | None]]) -> bool:
    """Whether every reader runs over the indices of what it reads, and no others; a function reads memory."""
    return all(
        r is not None and e.matrix is None and e.target != name and {i for i, _ in e.box} == set(indices(*r.subscripts))
        for e, r in reads
    )


def _copies(tensor: Tensor, e: Equation, element: Ref | None) -> bool:
    """Whether an equation copies a whole tensor, or what it is with the other sign."""
    return without_sign(e.body)[0] == element and len(e.box) == len(tensor.shape)


def _is_elementwise(step: Step, target: Tensor) -> bool:
    """Whether one equation says what every element is; what it leaves out is 0, and not what it says elsewhere."""
    (e, *others) = step.equations
    plain = not others and e.reduce == "none" and e.plain and e.where is None and not e.when and not step.when
    shown = all(isinstance(s, Index) for s in e.subscripts) and {i for i, _ in e.box} == set(e.subscripts)
    return plain and shown and e.fills(target)


def _operations(body: Expr) -> int:
    """How much work `body` is: a division three, a call more than is ever repeated."""
    total = 0
    for node in postorder(body):
        if isinstance(node, Apply):
            constant = all(isinstance(a, Const) for a in node.args)
            total += 1 if constant else OPS[node.op].cost
    return total
