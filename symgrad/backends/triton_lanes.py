"""Where a program is: the rows it has, its lanes and which of them there are, and where their elements lie."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from ..expr import ONE, ZERO, Expr, Index, apply, index, indices, product, ref, signed_total, terms_of
from ..plan.kernels import Kernel
from ..records import replace
from ..source import python as py
from ..source.python import NONE, Assign, Expression, Name, Operation, Word, call, method

MASK, LANE, START, PROGRAM = Word("mask"), Word("lane"), Word("start"), call("tl.program_id", py.integer(0))
NUMBER = index("#lane")  # of several lanes that are one
ROW = index("#row")  # of a row that several indices tell
FIRST_ROW = method(PROGRAM, "to", Word("tl.int64"))  # rows times columns may be more than an int32 counts


def pointer(name: str) -> Word:
    """What the address of a tensor is called."""
    return Word(f"{name}_ptr")


class Lanes:
    """The rows and lanes of a program.

    blocks     what blocks there are, and how long the axis is that each is one of; None for all elements by number
    several    whether each lane is an axis of a block
    numbered   the indices that are computed from numbers
    """

    def __init__(self, kernel: Kernel, block: Callable[[str], Word], place: Callable[[Expr], Expression]) -> None:
        self.kernel, self.place = kernel, place
        self.rows, self.lanes = dict(kernel.rows), dict(kernel.lanes)
        self.several = len(self.lanes) > 1 and not kernel.counted
        self.total = product(self.lanes.values())
        named = {block(i.name): extent for i, extent in self.lanes.items()} if not kernel.counted else {}
        self.blocks: Mapping[Word, Expr | None] = named or ({block(""): self.total} if kernel.lanes else {})
        if kernel.flat:
            self.blocks = {block(""): None}
        self.numbered: list[Assign] = []
        elements = [r for s in kernel.steps for e in s.equations for r in (ref(e.target, *e.subscripts), *e.reads)]
        # lanes that are multiplied by a size in an address, which may be beyond int32
        self.wide = {i for r in elements for s in r.subscripts[:-1] for i in indices(s) if i in self.lanes}

    @property
    def row(self) -> Expression:
        """The number of a row: the index itself, if there is one."""
        return Name(next(iter(self.rows)).name) if len(self.rows) == 1 else Word("row")

    @property
    def along(self) -> list[tuple[Index | None, Word]]:
        """Each block of lanes, and its index; of several that are taken by one number there is none."""
        return [*zip((None,) if self.kernel.counted else self.lanes, self.blocks, strict=True)]

    @property
    def size(self) -> Expression:
        """How long the one block is."""
        (block,) = self.blocks
        return block

    def begun(self) -> list[py.Statement]:
        """What a program begins with."""
        lines: list[py.Statement] = []
        if self.kernel.flat:
            lines.append(Assign(self.row, beginning_at(Operation("mul", (FIRST_ROW, self.size)), self.size)))
            lines.append(Assign(MASK, Operation("lt", (self.row, self.place(product(self.rows.values()))))))
            lines += self.row_indices()
        elif self.rows and not self.kernel.strided:
            lines.append(Assign(self.row, FIRST_ROW))
            lines += self.row_indices()
        if self.kernel.apart:
            column = call("tl.program_id", py.integer(1))
            lines += self.block_at(Operation("mul", (column, self.size)))
        elif not (self.kernel.walks or self.kernel.flat):
            lines += self.block_at(None)
        return lines

    def row_indices(self) -> list[Assign]:
        """The indices of a row, from its number."""
        return self._from_number(self.row, self.rows) if len(self.rows) > 1 else []

    def _from_number(self, rest: Expression, box: Mapping[Index, Expr]) -> list[Assign]:
        found: list[Assign] = []
        later = list(box.values())
        for i in box:
            later = later[1:]
            value = Operation("floordiv", (rest, self.place(product(later)))) if later else rest
            if i is not next(iter(box)):
                value = Operation("mod", (value, self.place(box[i])))
            found.append(Assign(Name(i.name), self._wide(i, value)))
        self.numbered += found
        return found

    def _wide(self, i: Index, value: Expression) -> Expression:
        return method(value, "to", Word("tl.int64")) if i in self.wide else value

    def block_at(self, start: Expression | None) -> list[Assign]:
        """A block of lanes, and which of them there are; the first one, if there is no other."""
        if self.kernel.counted:
            lines = [Assign(LANE, beginning_at(start, self.size))]
            lines.append(Assign(MASK, Operation("lt", (LANE, self.place(self.total)))))
            return [*lines, *self._from_number(LANE, self.lanes)]
        lines = []
        for place, ((i, extent), block) in enumerate(zip(self.lanes.items(), self.blocks, strict=True)):
            lane = self._wide(i, beginning_at(start, block))
            if self.several:
                lane = py.Element(lane, tuple(py.Cut() if k == place else NONE for k in range(len(self.lanes))))
            lines.append(Assign(Name(i.name), lane))
            lines.append(Assign(self.mask_of(i), Operation("lt", (Name(i.name), self.place(extent)))))
        return lines

    def walk(self, body: Sequence[py.Statement], back: bool = False) -> py.For:
        """The body for one block of lanes after the other; or back from the last one, of which most is in a cache."""
        total, size = self.place(self.total), self.size
        steps: tuple[Expression, ...] = py.integer(0), total, size
        if back:
            blocks = Operation("floordiv", (Operation("sub", (total, py.integer(1))), size))
            steps = Operation("mul", (blocks, size)), Operation("neg", (size,)), Operation("neg", (size,))
        return py.For(START, call("range", *steps), [*self.block_at(START), *body])

    def rows_of_program(self, body: Sequence[py.Statement]) -> py.For:
        """The body for every n-th row."""
        end = self.place(product(self.rows.values()))
        rows = call("range", FIRST_ROW, end, call("tl.num_programs", py.integer(0)))
        return py.For(self.row, rows, [*self.row_indices(), *body])

    def counts(self, back: bool) -> tuple[Expression, Expression]:
        """How many lanes have been walked along before a block, and how many with it."""
        total, end = self.place(self.total), Operation("add", (START, self.size))
        last = call("tl.minimum", end, total)
        return (Operation("sub", (total, last)), Operation("sub", (total, START))) if back else (START, last)

    def mask_of(self, i: Index) -> Word:
        """What tells which elements of a block along an axis there are."""
        return Word(f"mask_{i.name}") if self.several else MASK

    def mask(self, span: Iterable[Index], *more: Expression) -> Expression | None:
        """What tells which elements of a block there are."""
        span = {*span}
        if self.kernel.flat:
            parts: list[Expression] = [MASK] if span else []
        else:
            parts = [*dict.fromkeys(self.mask_of(i) for i in self.lanes if i in span)]
        parts += more
        return py.joined("bitand", parts) if parts else None

    def needed(self, lines: Sequence[py.Statement]) -> list[py.Statement]:
        """The lines without indices that nothing speaks of."""
        spoken = py.names_in(_without(lines, self.numbered))
        return _without(lines, [n for n in self.numbered if n.target.name not in spoken])  # type: ignore[union-attr]

    # memory

    def address(
        self, name: str, subscripts: Sequence[Expr], shape: Sequence[Expr], strides: Sequence[Expr] = ()
    ) -> Expression:
        """Where an element is: by strides, as far as there are any, and row-major along the axes behind them."""
        if strides:
            count = len(strides)
            pairs = zip((*subscripts[:count], flat(subscripts[count:], shape[count:])), (*strides, ONE), strict=True)
            parts = [apply("mul", s, stride) for s, stride in pairs if s is not ZERO]
            return joined([pointer(name), *map(self.place, parts)])
        count = len(self.rows)
        if count > 1 and (*zip(subscripts, shape, strict=True),)[:count] == (*self.rows.items(),):
            subscripts, shape = (ROW, *subscripts[count:]), (product(shape[:count]), *shape[count:])
        place = self._of_number(subscripts, shape) if self.kernel.counted else flat(subscripts, shape)
        return pointer(name) if place is ZERO else joined([pointer(name), self.place(place)])

    def _of_number(self, subscripts: Sequence[Expr], shape: Sequence[Expr]) -> Expr:
        """The number of an element, by that of its lane where lanes are the last axes: neighbours are seen to be such,
        and loaded together."""
        (first, *inner), extents = self.lanes, [*self.lanes.values()][1:]
        at = len(subscripts) - len(self.lanes)
        if at < 0 or [*subscripts[at + 1 :]] != inner or [*shape[at + 1 :]] != extents:
            return flat(subscripts, shape)
        terms = terms_of(subscripts[at])
        if terms.count((first, 1)) != 1:
            return flat(subscripts, shape)
        rest = signed_total(t for t in terms if t != (first, 1))
        outer = apply("mul", flat((*subscripts[:at], rest), shape[: at + 1]), product(extents))
        return NUMBER if outer is ZERO else apply("add", outer, NUMBER)


def _without(lines: Sequence[py.Statement], some: Sequence[Assign]) -> list[py.Statement]:
    left = [n for n in lines if n not in some]
    return [replace(n, body=_without(n.body, some)) if isinstance(n, py.For) else n for n in left]


def beginning_at(start: Expression | None, size: Expression) -> Expression:
    """A block of indices."""
    block = call("tl.arange", py.integer(0), size)
    return block if start is None else Operation("add", (start, block))


def flat(subscripts: Sequence[Expr], shape: Sequence[Expr]) -> Expr:
    """The number of an element, row-major."""
    place: Expr = ZERO
    for s, extent in zip(subscripts, shape, strict=True):
        place = s if place is ZERO else apply("add", apply("mul", place, extent), s)
    return place


def joined(parts: Sequence[Expression]) -> Expression:
    """A sum, in which those that are sums themselves have no brackets."""
    first, *rest = parts
    for part in rest:
        match part:
            case Operation("add", (a, b)):
                first = joined([first, a, b])
            case _:
                first = Operation("add", (first, part))
    return first
