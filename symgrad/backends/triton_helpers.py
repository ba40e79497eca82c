"""Functions of a file for triton that stand for operators which triton.language lacks."""

from __future__ import annotations

from collections.abc import Collection

from ..errors import UnsupportedError
from ..expr import Index, Ref
from ..ir import Dtype
from ..numerics.removable import Filled
from ..ops import OPS, ROWS, Polynomial
from ..plan import Program
from ..plan.functions import functions
from ..source import python as py
from ..source.python import Assign, Def, Given, Name, Word
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

    tree = Expressions(name, leaf, Word(f"{helper.arguments[0]}.dtype"))
    body: list[py.Statement] = []
    for own, value in before:
        if isinstance(value, Polynomial):
            raise UnsupportedError(f"{name}: triton has no {op}. Print torch: --to torch.")
        body.append(Assign(Name(own), tree(value)))
    body.append(py.Return(tree(result)))
    given = tuple(Given(Name(a)) for a in helper.arguments)
    return Def(Word(word), given, body, series.documented(helper.about), (Word("triton.jit"),), stands_for=op)
