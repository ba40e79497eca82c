"""The elements that a kernel has: what is computed, and what is loaded, each in a variable."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ..domain import Domain
from ..expr import Apply, Const, Expr, Index, Ref, conjunction, indices, ref, refs
from ..expr.names import Names
from ..ir import Dtype, Tensor, evaluated
from ..plan.kernels import Kernel
from ..records import dataclass
from ..source import python as py
from ..source.python import Assign, Expression, Name, Operation, Word, call, method
from .triton_expressions import Expressions, Value
from .triton_lanes import LANE, NUMBER, ROW, Lanes
from .triton_strides import Lies


@dataclass(frozen=True)
class Surroundings:
    """What a kernel stands in.

    name       of the kernel
    function   of what was declared
    table      every tensor, packs as one axis
    sizes      the names of sizes
    options    those of numbers that are given by name, with their types
    optional   the inputs that may be absent
    passed     the tensors that forward, or backward, has
    gradients  gradient -> the input that it is of; empty in forward
    lies       how tensors lie that need not be contiguous
    """

    name: str
    function: str
    table: Mapping[str, Tensor]
    sizes: Sequence[str]
    options: Mapping[str, Dtype]
    optional: Sequence[str]
    passed: Sequence[str]
    gradients: Mapping[str, str]
    lies: Mapping[str, Lies]

    def is_plain(self, option: str) -> bool:
        """Whether an option is a number that is known when a kernel is compiled."""
        return self.options[option] == Dtype.REAL


class Scope:
    """Statements in one block, and the elements that are loaded there."""

    def __init__(self, outer: Scope | None = None) -> None:
        self.lines: list[py.Statement] = []
        self.loaded: dict[Ref, Value] = {} if outer is None else {**outer.loaded}


class Elements:
    """The elements of one kernel, and the scopes that their variables stand in.

    known    what is computed, by its element
    spans    the lanes of what is computed or loaded, by name
    padded   those of them along which it is 0 where a block has more elements than there are
    read     the tensors that are read
    strides  those of tensors that are passed, by name, from the first axis on
    first    the scope before a loop over rows; `every` is that of a row, `turn` that of a block of lanes, and `scope`
             the innermost one
    """

    of_lanes: type[Lanes] = Lanes
    tree: Expressions
    lanes: Lanes

    def __init__(self, kernel: Kernel, around: Surroundings) -> None:
        self.kernel, self.around = kernel, around
        taken = [*around.table, *around.sizes, *around.options, *(i.name for i, _ in kernel.box)]
        self.names = Names(taken)
        self._words: dict[tuple[str, str], Word] = {}  # those of parameters, which a launch speaks of
        self.known: dict[Expr, Value] = {}
        self.spans: dict[str, frozenset[Index]] = {}
        self.padded: dict[str, frozenset[Index]] = {}
        self.read: dict[str, None] = {}
        self._called: dict[Ref, str] = {}
        self._under: dict[Ref, list[Expr]] = {}  # the conditions under which alone they are loaded
        self.strides: dict[str, list[Ref]] = {}
        self.real = self.word("REAL")
        self._begin()
        self.scope = self.turn = self.every = self.first = Scope()

    def _begin(self) -> None:
        """Its words for expressions, and for where a program is."""
        self.tree = Expressions(self.around.function, self._leaf, self.real, {*self.around.table, *self.around.options})
        self.lanes = self.of_lanes(self.kernel, lambda name: self.word("BLOCK", name), self.tree.place)

    def word(self, kind: str, of: str = "") -> Word:
        """What a parameter is called that is known when a kernel is compiled."""
        if (kind, of) not in self._words:
            self._words[kind, of] = Word(self.names.new(f"{kind}_{of.upper()}" if of else kind))
        return self._words[kind, of]

    def begin_row(self) -> None:
        """From here on statements stand in the loop over rows."""
        self.scope = self.turn = self.every = Scope(self.first)

    def begin_turn(self) -> None:
        """From here on statements are those for one block of lanes."""
        self.scope = self.turn = Scope(self.every)

    def end_turn(self) -> list[py.Statement]:
        """Those statements; the variables of elements that differ from lane to lane are of the last block then."""
        lines, along = self.turn.lines, {*self.lanes.lanes}
        self.scope = self.turn = self.every
        self.known = {r: value for r, value in self.known.items() if along.isdisjoint(indices(r))}
        return lines

    def _leaf(self, node: Index | Ref) -> Value:
        if node is NUMBER:
            return Value(LANE, Dtype.INT)
        if node is ROW:
            return Value(self.lanes.row, Dtype.INT)
        if isinstance(node, Index):
            return Value(Name(node.name), Dtype.INT)
        if node in self.known:
            return self.known[node]
        if node in self.scope.loaded:
            return self.scope.loaded[node]
        if node.name in self.around.options:
            return Value(Name(node.name), self.around.options[node.name], self.around.is_plain(node.name))
        assert not node.subscripts and node.name not in self.around.table, node
        return Value(Name(node.name), Dtype.INT)

    @property
    def _along(self) -> Mapping[Index, Expr]:
        return self.lanes.rows if self.kernel.flat else self.lanes.lanes

    def span(self, root: Expr) -> frozenset[Index]:
        """The lanes along which a value has elements; of a block of rows, its rows."""
        along = self._along
        found: set[Index] = set()
        stack: list[Expr] = [root]
        while stack:
            node = stack.pop()
            if isinstance(node, Index):
                found |= {node} & along.keys()
            elif isinstance(node, Ref) and node in self.known:
                found |= self.spans.get(_name(self.known[node]), frozenset())
            else:
                stack += node.args
        return frozenset(found)

    def span_with_loaded(self, *roots: Expr) -> frozenset[Index]:
        """The same, with those of what is loaded."""
        found = frozenset[Index]().union(*map(self.span, roots))
        for r in refs(*roots):
            value = self.known.get(r) or self.scope.loaded.get(r)
            if value is not None:
                found |= self.spans.get(_name(value), frozenset())
        return found

    def pad(self, name: str, body: Expr | None) -> None:
        """Note where a value is 0, from what it is computed of; nobody knows it of None."""
        lanes = [] if body is None else [i for i in self.lanes.lanes if self.is_0_outside(body, (i,))]
        self.padded[name] = frozenset(lanes)

    def is_0_outside(self, body: Expr, lanes: Iterable[Index]) -> bool:
        """Whether a value is 0 where a block has more elements than there are: what is loaded is."""
        match body:
            case Ref() if value := self.known.get(body) or self.scope.loaded.get(body):
                return self.padded.get(_name(value), frozenset()).issuperset(lanes)
            case Apply(op="mul", args=(a, b)):
                return self.is_0_outside(a, lanes) and (isinstance(b, Const) or self.is_0_outside(b, lanes))
            case Apply(op="add" | "sub", args=(a, b)):
                return self.is_0_outside(a, lanes) and self.is_0_outside(b, lanes)
            case Apply(op="pow", args=(a, Const(value=exponent))):
                return self.is_0_outside(a, lanes) and exponent > 0
            case _:
                return False

    # loads

    def load(self, roots: Sequence[Expr], where: Sequence[Expr] = (), wish: str = "") -> None:
        """Load every element that is not known yet; those whose place is data before what they are the place of.

        where  the conditions under which alone they are read
        wish   what the last of them is called
        """
        cases = evaluated([*((c, ()) for c in where), *((root, tuple(where)) for root in roots)])
        for node in _inner_first([*where, *roots]):
            if node in self.known or node.name not in self.around.table:
                continue
            tensor = self.around.table[node.name]
            some = list(cases.get(node, [()]))
            plain = all(isinstance(s, (Index, Const)) for s in node.subscripts)
            asked = [*map(conjunction, some)] if all(some) and not plain else []
            if node in self.scope.loaded:
                if self._under.get(node, asked) == asked:
                    continue
                self._called.pop(node)  # what another condition has left out
            self._under[node] = asked
            conditions: list[Expression] = []
            if asked:
                conditions.append(py.joined("bitor", [*map(self.tree.condition, asked)]))
            if not plain:
                conditions += self._inside(node, tensor)
            elif all(some):  # else they are inside wherever they are read
                conditions += self.bounds(node, tensor)
            if node not in self._called:
                self._called[node] = wish if wish and node is roots[-1] else self._new(node)
            name = self._called[node]
            home = self.scope
            if not conditions and not tensor.optional:  # before a condition, or a loop, that it does not need
                home = self._home(node)
            span = self.spans[name] = self.span_with_loaded(*node.subscripts, *asked)
            home.lines.append(Assign(Name(name), self._loaded(node, tensor, conditions, span)))
            scopes = [self.first, self.every, self.turn, self.scope]
            for scope in scopes[scopes.index(home) :]:
                scope.loaded[node] = Value(Name(name), tensor.dtype)
            self.padded[name] = frozenset(
                () if conditions else span if self.lanes.several else self._along if span else ()
            )
            self.read[node.name] = None

    def bounds(self, node: Ref, tensor: Tensor) -> list[Expression]:
        """That subscripts are inside of a tensor, where its axes are not those that indices run along."""
        found: list[Expression] = []
        box = dict(self.kernel.box)
        for s, extent in zip(node.subscripts, tensor.shape, strict=True):
            if not (isinstance(s, Index) and box.get(s) is extent or Domain.of(self.kernel.box).inside(s, extent)):
                place = self.tree.place(s)
                found += [] if isinstance(s, (Index, Const)) else [Operation("ge", (place, py.integer(0)))]
                found.append(Operation("lt", (place, self.tree.place(extent))))
        return found

    def _home(self, node: Ref) -> Scope:
        """The outermost scope in which an element is the same."""
        if self.turn is not self.every and not self.lanes.lanes.keys().isdisjoint(indices(node)):
            return self.turn
        fixed = self.kernel.strided and self.lanes.rows.keys().isdisjoint(indices(node))
        return self.first if fixed else self.every

    def _inside(self, node: Ref, tensor: Tensor) -> list[Expression]:
        """That subscripts which are data are inside."""
        found: list[Expression] = []
        for s, extent in zip(node.subscripts, tensor.shape, strict=True):
            if any(r.name in self.around.table for r in refs(s)):
                place = self.tree.place(s)
                found.append(Operation("ge", (place, py.integer(0))))
                found.append(Operation("lt", (place, self.tree.place(extent))))
        return found

    def _loaded(
        self, node: Ref, tensor: Tensor, conditions: Sequence[Expression], span: frozenset[Index]
    ) -> Expression:
        own = self.span_with_loaded(*node.subscripts)
        mask = self.lanes.mask(own, *conditions)
        other: Expression = py.Number("0.0" if tensor.dtype == Dtype.REAL else "0")
        if tensor.dtype == Dtype.REAL and conditions:
            other = call("float", py.text("nan"))  # of what is not inside
        options = {} if mask is None else {"mask": mask, "other": other}
        address = self.address(node, tensor)
        if span and not own:  # one address, and lanes that ask for it
            address = call("tl.broadcast_to", address, py.Several(tuple(self.lanes.blocks)))
        value: Expression = call("tl.load", address, **options)
        if tensor.dtype == Dtype.REAL:
            value = method(value, "to", self.real)
        return method(value, "to", Word("tl.int1")) if tensor.dtype == Dtype.BOOL else value

    def address(self, node: Ref, tensor: Tensor) -> Expression:
        """Where an element is, by the strides of a tensor that need not be contiguous."""
        if node.name not in self.strides:
            count = self.around.lies.get(node.name, Lies.stored).passed(len(tensor.shape))
            words = ["stride"] if count == 1 else [f"stride_{axis}" for axis in range(count)]
            self.strides[node.name] = [ref(self.names.new(f"{node.name}_{word}")) for word in words]
        return self.lanes.address(node.name, node.subscripts, tensor.shape, self.strides[node.name])

    def _new(self, node: Ref) -> str:
        """The name of a variable for an element: that of the tensor, if it is free and has no component named."""
        words = [str(s.value) for s in node.subscripts if isinstance(s, Const)]
        words += [r.name for s in node.subscripts for r in refs(s) if r.name in self.around.table]
        name = "_".join([node.name, *words])
        return self.names.new(name) if words or name in self.spans else name


def _name(value: Value | None) -> str:
    return value.tree.name if value is not None and isinstance(value.tree, Name) else ""


def _inner_first(roots: Sequence[Expr]) -> list[Ref]:
    """The elements that are read, each behind those in its subscripts."""
    found: dict[Ref, None] = {}
    stack: list[tuple[Expr, bool]] = [(root, False) for root in reversed(roots)]
    seen: set[Expr] = set()
    while stack:
        node, ready = stack.pop()
        if ready:
            assert isinstance(node, Ref)
            found[node] = None
            continue
        if node in seen:
            continue
        seen.add(node)
        if isinstance(node, Ref):
            stack.append((node, True))
        stack += [(a, False) for a in reversed(node.args)]
    return list(found)
