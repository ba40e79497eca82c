"""Which loops of a C function several threads share, as OpenMP has it: the outermost whose turns are independent.

What a loop is, its tag tells. Threads share the turns of a parallel one. Of one that adds rows, all of them take every
turn, and share the row: each adds to elements of its own, in the order in which one thread would. Of one that only adds
to numbers they share parts, a fixed number of them, which are added up in their order; of a product of matrices its
columns. So no sum depends on how many threads there are. With FMA an element may, in its last bit: compilers compute
those that fill no vector in another way.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod

from ..records import replace
from ..source.names import Scope
from ..source.tree import (
    SIZE,
    Array,
    Block,
    Call,
    Element,
    Expression,
    Function,
    If,
    Local,
    Loop,
    Name,
    Number,
    Operation,
    Return,
    Statement,
    Store,
    Type,
    joined,
    names_in,
    walk,
)
from . import c_contract

FROM = "PARALLEL_FROM"
TURNS = 10_000  # which one thread has done before others have begun: some microseconds
MACRO = f"""\
#ifndef {FROM}
#define {FROM} {TURNS} /* turns, from which on threads share a loop */
#endif"""
PARTS = 64  # of a sum: more than most machines have threads, and few enough to be added up at once
AT_ONCE = 16  # turns of a product, at least: there is a vector, and several of its rows
COLUMNS = 32  # of a product: the widest panel that `contract` has, lest one is cut


class Shared:
    """The body of a function with the loops marked that threads share.

    products  the local functions that multiply matrices, by what they stand for; that of CBLAS has its own threads
    """

    def __init__(self, function: Function, products: Mapping[str, str]) -> None:
        nodes = walk(*function.body)
        self._kinds = {n.name: n.type for n in nodes if isinstance(n, Local)}
        declared = (n.name for n in nodes if isinstance(n, (Local, Array)))
        counters = (n.index for n in nodes if isinstance(n, Loop))
        self._names = Scope((p.name for p in function.parameters), declared, counters, names_in(*function.body))
        self._given: dict[str, str] = {}
        self._products = products
        self.function = replace(function, body=self._block(function.body))

    def _block(self, block: Block) -> Block:
        return tuple([n for node in block for n in self._statement(node)])

    def _statement(self, node: Statement) -> Block:
        if isinstance(node, If):
            return (replace(node, body=self._block(node.body), otherwise=self._block(node.otherwise)),)
        if isinstance(node, Call) and node.function == self._products.get(c_contract.NAME):
            work = _product_of(node.arguments[:3])
            return (node,) if work is None else (self._by_columns(node, work),)
        if not isinstance(node, Loop):
            return (node,)
        work = _product_of(self._factors(node))
        leaves = any(isinstance(n, Return) for n in walk(*node.body))
        found = () if work is None or leaves or node.reverse else self._divided(node, work)
        return found or (replace(node, body=self._block(node.body)),)

    def _divided(self, node: Loop, work: Expression) -> Block:
        """The loop as threads share it; nothing where they cannot."""
        if node.tag == "parallel":
            return (replace(node, work=work),)
        if node.tag == "rows":
            body = (replace(n, tag="columns") if isinstance(n, Loop) else n for n in node.body)
            return (replace(node, body=tuple(body), work=work),)
        inside = [n for n in walk(*node.body) if isinstance(n, Store)]
        own = {n.name for n in walk(*node.body) if isinstance(n, Local)}
        sums = dict.fromkeys(n.target.name for n in inside if isinstance(n.target, Name) and n.target.name not in own)
        plain = isinstance(node.first, Number) and node.first.text == "0" and sums.keys() <= self._kinds.keys()
        ways = {n.how for n in inside if isinstance(n.target, Name) and n.target.name in sums}
        found = all(isinstance(n.target, (Name, Element)) for n in inside)  # not what a pointer points to
        if node.tag != "reduction" or not (sums and plain and found) or not ways <= {"+=", "-="}:
            return ()
        return self._in_parts(node, {name: self._names.new(f"{name}_part") for name in sums}, work)

    def _in_parts(self, node: Loop, own: Mapping[str, str], work: Expression) -> Block:
        """The sums of the loop, each in parts; `own` says what a part is called."""
        part, zero = self._named("part"), Number("0.0", True)
        parts = {name: self._names.new(f"{name}_parts") for name in own}

        def place(number: Expression) -> Expression:
            return Operation("floordiv", (Operation("mul", (number, node.end)), Number(str(PARTS))))

        sums = tuple((op, own.get(name, name)) for op, name in node.sums)
        end = place(Operation("add", (Name(part), Number("1"))))
        inner = replace(node, first=place(Name(part)), end=end, body=_renamed(node.body, own), sums=sums)
        before = [Local(new, self._kinds[name], zero, changes=True) for name, new in own.items()]
        at = {name: Element(Name(array), (Name(part),)) for name, array in parts.items()}
        after = [Store(at[name], Name(new)) for name, new in own.items()]
        adding = tuple(Store(Name(name), at[name], "+=") for name in own)
        each = Loop(part, Number("0"), Number(str(PARTS)), (*before, inner, *after), tag="parallel", work=work)
        arrays = (Array(array, self._kinds[name], Number(str(PARTS))) for name, array in parts.items())
        return (*arrays, each, replace(each, body=adding, tag="reduction", work=None))

    def _by_columns(self, call: Call, work: Expression) -> Loop:
        """A product of matrices, some columns at a time."""
        rows, columns, terms, scale, *places = call.arguments
        left, (right, right_term, right_column), (element, row, column) = places[:3], places[3:6], places[6:]
        part, first, width = self._named("part"), self._named("first_column"), Number(str(COLUMNS))
        before = Local(first, Type(SIZE), Operation("mul", (width, Name(part))))
        rest = Operation("sub", (columns, Name(first)))
        least = Operation("select", (Operation("lt", (rest, width)), rest, width))

        def moved(place: Expression, stride: Expression) -> Expression:
            one = isinstance(stride, Number) and stride.text == "1"
            return Operation("add", (place, Name(first) if one else Operation("mul", (Name(first), stride))))

        some = (moved(right, right_column), right_term, right_column, moved(element, column), row, column)
        more = Operation("add", (columns, Number(str(COLUMNS - 1))))
        fewer = Operation("floordiv", (work, Number(str(AT_ONCE))))
        inner = replace(call, arguments=(rows, least, terms, scale, *left, *some))
        end = Operation("floordiv", (more, width))
        return Loop(part, Number("0"), end, (before, inner), tag="parallel", work=fewer)

    def _named(self, word: str) -> str:
        """What a loop of ours counts with: no such loop stands in another one."""
        return self._given.get(word) or self._given.setdefault(word, self._names.new(word))

    def _factors(self, node: Loop, own: frozenset[str] = frozenset()) -> list[Expression]:
        """How many turns the loop has, and the longest of those inside; what its own turns tell is left out."""
        first, end = node.first, node.end
        turns = end if isinstance(first, Number) and first.text == "0" else Operation("sub", (end, first))
        inside = own | {node.index} | {n.name for n in walk(*node.body) if isinstance(n, (Local, Array))}
        known = [turns] if own.isdisjoint(names_in(turns)) else []
        inner = [self._factors(n, inside) for n in _loops(node.body)]
        for call in walk(*node.body):
            if isinstance(call, Call) and call.function in self._products.values():
                inner.append([size for size in call.arguments[:3] if inside.isdisjoint(names_in(size))])
        return known + max(inner, key=len, default=[])


def _product_of(factors: Sequence[Expression]) -> Expression | None:
    """How many turns that makes; None if it is known that they are few."""
    numbers, sizes = [n for n in factors if isinstance(n, Number)], [n for n in factors if not isinstance(n, Number)]
    count = prod(int(n.text) for n in numbers)
    if not sizes and count < TURNS:
        return None
    return joined("mul", [*[Number(str(count))] * (count > 1 or not sizes), *sizes])


def _loops(block: Block) -> Iterator[Loop]:
    """The outermost loops of a block."""
    for node in block:
        if isinstance(node, Loop):
            yield node
        elif isinstance(node, If):
            yield from _loops((*node.body, *node.otherwise))


def _renamed(block: Block, names: Mapping[str, str]) -> Block:
    """A block that adds to other variables, which it does not read."""
    return tuple([_adding(node, names) for node in block])


def _adding(node: Statement, names: Mapping[str, str]) -> Statement:
    match node:
        case Store(target=Name(name)):
            return replace(node, target=Name(names.get(name, name)))
        case Loop():
            sums = tuple((op, names.get(name, name)) for op, name in node.sums)
            return replace(node, body=_renamed(node.body, names), sums=sums)
        case If():
            return replace(node, body=_renamed(node.body, names), otherwise=_renamed(node.otherwise, names))
    return node
