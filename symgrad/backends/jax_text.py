"""Array expressions and statements in the vocabulary of JAX: nothing is written to, `x.at[i].add(y)` is a new array."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from ..expr import ATOM, Apply, Expr, postorder, refs
from ..ops import OPS
from ..plan.arrays.below import below, plain_number, sizes_in, sizes_of
from ..plan.arrays.commands import AddAt, Assign, For, Guard, Statement, Update, flat, items_of, tops
from ..plan.arrays.tree import Array, Copy, Einsum, Elementwise, MatrixCall, SizeOf, Take, Var
from .python_lines import Lines, indented
from .python_text import INFIX, PRODUCTS, ArrayPrinter, assigned, returned, sizes

CALLS: Mapping[str, str] = {
    "solve_lower": "linalg.solve_triangular({}, {}, lower=True)",
    "solve_upper": "linalg.solve_triangular({}, {})",
    "eigh_values": "jnp.linalg.eigvalsh({})",
    "expm": "linalg.expm({})",
    "argsort": "jnp.argsort({}, axis=-1, stable=True)",
}


class JaxPrinter(ArrayPrinter):
    """The words of `jax.numpy`, of `jax.nn`, and of `jax.scipy`."""

    target = "jax"
    module = "jnp"
    slow_from = PRODUCTS + 1  # XLA makes products of powers
    of_nothing = "initial=-jnp.inf"
    refuses_nothing = False

    def _node(self, node: Array, text: Callable[[Array, int], str]) -> tuple[str, int]:
        match node:
            case Einsum(subscripts, operands):
                return f'jnp.einsum("{subscripts}", {", ".join(text(o, 0) for o in operands)})', ATOM
            case Copy(Var(name)):
                return f"jnp.asarray({name})", ATOM  # who calls backward may have an array of NumPy
            case Copy(base):
                return text(base, ATOM), ATOM
            case MatrixCall(kind, args) if kind in CALLS:
                return CALLS[kind].format(*(text(a, 0) for a in args)), ATOM
        return super()._node(node, text)

    def traced(self, number: str) -> bool:
        """Under jax.jit what JAX computes is no number, even of numbers."""
        return re.search(r"\b(jnp|jax|linalg|special)\.|\b_\w+\(", number) is not None

    def _called(self, word: str, arguments: Sequence[str]) -> str:
        # given a number, those of jnp widen nothing; others do, or refuse it
        number = "{}" if word.startswith("jnp.") else f"jnp.asarray({{}}, {self.dtype})"
        given = [number.format(a) for a in arguments]
        return word.format(*given) if "{" in word else f"{word}({', '.join(given)})"


class JaxLines(Lines):
    """A loop is a `jax.lax.fori_loop` where the number of a turn may be traced, else Python's own."""

    def update(self, s: Update, indent: int) -> list[str]:
        word = "set" if s.first else "add"
        return self._at(s, word, indent)

    def add_at(self, s: AddAt, indent: int) -> list[str]:
        return self._at(s, "add", indent)

    def _at(self, s: Update | AddAt, word: str, indent: int) -> list[str]:
        return assigned(s.name, f"{s.name}.at[{self.text.items(s.items)}].{word}({self.text(s.value)})", indent)

    def loop(self, s: For, indent: int) -> list[str]:
        if not _traceable(s):
            return super().loop(s, indent)
        own = {x.name for x in flat(s) if isinstance(x, Assign)}
        written = dict.fromkeys(x.name for x in flat(s) if isinstance(x, (Update, AddAt)))
        carried = [n for n in written if n not in own]
        step = f"step_{s.name}"
        state = carried[0] if len(carried) == 1 else f"({', '.join(carried)})"
        lines = [f"def {step}({s.name}, {state if len(carried) == 1 else 'state'}):"]
        lines += [] if len(carried) == 1 else indented(assigned(", ".join(carried), "state", indent + 4))
        lines += [f"    {s.name} = {sizes(s.extent - 1)} - {s.name}"] if s.reverse else []
        lines += indented(self(s.body, indent + 4))
        lines += [*indented(returned(", ".join(carried), indent + 4)), ""]
        call = f"jax.lax.fori_loop(0, {sizes(s.extent)}, {step}, {state})"
        # JAX traces the body even for no turn, and reads what is not there
        return ["", *lines, f"if {sizes(s.extent)} > 0:", *indented(assigned(", ".join(carried), call, indent + 4))]


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
        if isinstance(array, Elementwise) and array.op not in INFIX and plain_number(array):
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
