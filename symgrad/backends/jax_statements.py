"""Array expressions and statements in the vocabulary of JAX: nothing is written to, `x.at[i].add(y)` is a new array."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from ..expr import Apply, Expr, postorder, refs
from ..ops import OPS
from ..plan.arrays.below import below, plain_number, sizes_in, sizes_of
from ..plan.arrays.commands import AddAt, Assign, For, Guard, Statement, Update, flat, items_of, tops
from ..plan.arrays.tree import Array, Copy, Einsum, Elementwise, SizeOf, Take, Var
from ..source import python as py
from ..source.python import Attribute, Def, Element, Expression, Given, If, Name, Operation, Space, Word, bare, integer
from .python_expressions import MATRICES, OPERATORS, PRODUCTS, TRUE, Child, Expressions, Matrix, spelled
from .python_sizes import size
from .python_statements import Statements, named, tuple_of

MODULES = frozenset(["jnp", "jax", "linalg", "special"])


class JaxExpressions(Expressions):
    """The words of `jax.numpy`, of `jax.nn`, and of `jax.scipy`."""

    target = "jax"
    module = "jnp"
    slow_from = PRODUCTS + 1  # XLA makes products of powers
    refuses_nothing = False
    library: ClassVar[Mapping[str, int]] = {"convolution": 3}
    matrices: ClassVar[Mapping[str, Matrix]] = {
        **MATRICES,
        "argsort": Matrix("np.argsort", axis=integer(-1), stable=TRUE),
    }

    def _node(self, node: Array, tree: Child) -> Expression:
        match node:
            case Einsum(subscripts, operands):
                return self.own("einsum", py.text(subscripts), *map(tree, operands))
            case Copy(Var(name)):
                return self.own("asarray", Name(name))  # who calls backward may have an array of NumPy
            case Copy(base):
                return tree(base)
        return super()._node(node, tree)

    def _elementwise(self, op: str, args: Sequence[Array], tree: Child) -> Expression:
        match op, args:
            case "log1p", (Elementwise(inner, _),) if OPS[inner].nonnegative and not plain_number(args[0]):
                return self.own(op, tree(args[0]))  # as exact as the function of the file, there
        return super()._elementwise(op, args, tree)

    def traced(self, number: Expression) -> bool:
        """Under jax.jit what JAX computes is no number, even of numbers."""
        words = py.words_in(number)
        return not words.isdisjoint(MODULES) or any(w.startswith("_") for w in words)

    def _called(self, word: str, arguments: Sequence[Expression]) -> Expression:
        # given a number, those of jnp widen nothing; others do, or refuse it
        own = word.startswith("jnp.")
        return spelled(word, arguments if own else [self.own("asarray", a, self.dtype) for a in arguments])


class JaxStatements(Statements):
    """A loop is a `jax.lax.fori_loop` where the number of a turn may be traced, else Python's own."""

    def update(self, s: Update) -> py.Block:
        return self._at(s, "set" if s.first else "add")

    def add_at(self, s: AddAt) -> py.Block:
        return self._at(s, "add")

    def _at(self, s: Update | AddAt, word: str) -> py.Block:
        place = Element(Attribute(Name(s.name), "at"), self.tree.items(s.items))
        return [py.Assign(Name(s.name), py.method(place, word, self.tree(s.value)))]

    def loop(self, s: For) -> py.Block:
        if not _traceable(s):
            return super().loop(s)
        own = {x.name for x in flat(s) if isinstance(x, Assign)}
        written = dict.fromkeys(x.name for x in flat(s) if isinstance(x, (Update, AddAt)))
        carried = named([n for n in written if n not in own])
        step, turn = Word(f"step_{s.name}"), Name(s.name)
        state = carried[0] if len(carried) == 1 else tuple_of(carried)
        one = isinstance(state, Name)
        body: list[py.Statement] = [] if one else [py.Assign(bare(carried), Word("state"))]
        if s.reverse:
            body.append(py.Assign(turn, Operation("sub", (size(s.extent - 1), turn))))
        given = (Given(turn), Given(state if isinstance(state, Name) else Word("state")))
        function = Def(step, given, [*body, *self(s.body), py.Return(bare(carried))])
        turns = py.call("jax.lax.fori_loop", integer(0), size(s.extent), step, state)
        # JAX traces the body even for no turn, and reads what is not there
        asked = If(Operation("gt", (size(s.extent), integer(0))), [py.Assign(bare(carried), turns)])
        return [Space(), function, Space(), asked]


def _traceable(s: For) -> bool:
    """Whether a loop asks nothing of the number of its turn that must be known when JAX traces it: no `if`, no extent,
    no slice, no function of Python."""
    inside = [x for b in s.body for x in _inside(b)]
    if any(isinstance(x, Guard) and x.condition is not None and _mentions(x.condition, s) for x in inside):
        return False
    if any(isinstance(x, For) and _mentions(x.extent, s) for x in inside):
        return False
    for array in (a for top in tops(s) for a in below(top)):
        numbers = [e for e in sizes_of(array) if _mentions(e, s)]
        if isinstance(array, Take):
            continue
        if numbers and not (isinstance(array, SizeOf) and all(map(_plain, numbers))):
            return False
        if isinstance(array, Elementwise) and array.op not in OPERATORS and plain_number(array):
            if any(_mentions(e, s) for a in below(array) for e in sizes_of(a)):
                return False
    places = [i for items in items_of(s) for i in items]
    return all(isinstance(i, Expr) and _plain(i) for i in places if any(_mentions(e, s) for e in sizes_in([i])))


def _mentions(e: Expr, s: For) -> bool:
    return any(r.name == s.name for r in refs(e))


def _plain(item: Expr) -> bool:
    """Whether it is what may be done with the number of a turn."""
    return all(OPS[n.op].kind in ("arithmetic", "integer") for n in postorder(item) if isinstance(n, Apply))


def _inside(s: Statement) -> list[Statement]:
    if isinstance(s, Guard):
        return [s, *(x for b in (*s.body, *s.otherwise) for x in _inside(b))]
    return [s, *(x for b in s.body for x in _inside(b))] if isinstance(s, For) else [s]
