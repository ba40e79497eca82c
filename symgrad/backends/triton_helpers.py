"""Functions of a file for triton that stand for operators which triton.language lacks."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ..errors import UnsupportedError
from ..expr import Index, Ref
from ..ir import Dtype
from ..numerics.removable import Filled
from ..ops import OPS, ROWS, Polynomial
from ..plan import Program
from ..plan.functions import functions
from ..source import python as py
from ..source.python import Assign, Def, Given, Name, Operation, Word
from . import series
from .handwritten import handwritten
from .helpers import formulas, steps
from .triton_expressions import Expressions, Value


def helpers(name: str, words: Collection[str], program: Program) -> list[Def]:
    """Those of `words`, and those that they call."""
    rows = [*formulas(program), *(row.name for row in ROWS if row.helper is not None)]
    known = {word: op for op in rows if (word := OPS[op].word("triton"))}
    known |= functions(words, "triton")
    found: dict[str, Def] = {}
    waiting = sorted(words)
    while waiting:
        word = waiting.pop()
        if word in known and word not in found and word not in handwritten("triton"):
            found[word] = _helper(name, word, known[word])
            waiting += sorted(py.words_in(found[word].body))
    return [found[word] for word in sorted(found)]


def _helper(name: str, word: str, op: str) -> Def:
    if isinstance(op, Filled):
        raise UnsupportedError(f"{name}: triton has no series for {series.about(op)} Print torch: --to torch.")
    helper, before, result = steps(OPS[op])

    def leaf(node: Index | Ref) -> Value:
        return Value(Name(node.name), Dtype.REAL)

    dtype = py.Attribute(Name(helper.arguments[0]), "dtype")
    tree = Expressions(name, leaf, dtype)
    body: list[py.Statement] = []
    for own, value in before:
        if isinstance(value, Polynomial):
            kind = Operation("eq", (dtype, Word("tl.float64")))  # which is known when the kernel is compiled
            body.append(py.If(kind, _horner(own, value, value.coefficients), _horner(own, value, value.single)))
        else:
            body.append(Assign(Name(own), tree(value)))
    body.append(py.Return(tree(result)))
    given = tuple(Given(Name(a)) for a in helper.arguments)
    return Def(Word(word), given, body, series.documented(helper.about), (Word("triton.jit"),), stands_for=op)


def _horner(own: str, of: Polynomial, coefficients: Sequence[float]) -> list[py.Statement]:
    """The lines that compute a polynomial; triton has no loop over numbers."""
    first, *others = coefficients
    assert isinstance(of.variable, Ref)
    so_far: py.Expression = py.Number(repr(first))
    lines: list[py.Statement] = []
    for c in others:
        product = Operation("mul", (so_far, Name(of.variable.name)))
        lines.append(Assign(Name(own), Operation("sub" if c < 0 else "add", (product, py.Number(repr(abs(c)))))))
        so_far = Name(own)
    return lines
