"""Functions of a printed file that stand for operators: those that its language lacks, and those that are a formula
with a removable singularity (series.py)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from ..expr import Expr, operators, ref
from ..numerics.removable import Filled
from ..ops import OPS, ROWS, Helper, Op, Polynomial
from ..plan import Program
from ..plan.functions import functions
from ..source.python import Assign, Def, For, Given, Name, Number, Operation, Return, Several, Statement, Word, words_in
from . import series
from .python_expressions import Expressions
from .series import as_array


def python_helpers(words: Collection[str], tree: Expressions, program: Program) -> list[Def]:
    """Those of `words`, which functions printed from `program` speak of, that are such functions; and those that they
    call."""
    rows = [*formulas(program), *(row.name for row in ROWS if row.helper is not None)]
    known = {word: op for op in rows if (word := OPS[op].word(tree.target))}
    return [*_called(words, {**known, **functions(words, tree.target)}, tree, set())]


def formulas(program: Program) -> tuple[Filled, ...]:
    """The operators of a program that stand for formulas, and those that are in the formulas. Another program's may
    have the name of one of them, and the same formula in other words."""
    found: dict[Filled, None] = {}
    waiting = [e.body for p in program.whole for e in p.derivative.function.statements]
    while waiting:
        for op in operators(waiting.pop()):
            if isinstance(op, Filled) and op not in found:
                found[op] = None
                waiting.append(op.formula)
    return tuple(found)


def _called(words: Collection[str], ops: Mapping[str, str], tree: Expressions, known: set[str]) -> Iterator[Def]:
    """What is made of the operators whose functions are called, in the order of their words."""
    for word in sorted(ops.keys() & words):
        if word in known:
            continue
        known.add(word)
        op = ops[word]
        made = series.python_helper(op, tree) if isinstance(op, Filled) else _python(OPS[op], tree)
        yield from _called(words_in(made.body), ops, tree, known)
        yield made


def steps(row: Op) -> tuple[Helper, list[tuple[str, Expr | Polynomial]], Expr]:
    """The helper, its lines before the result, and the result."""
    assert row.helper is not None
    *lines, (_, result) = row.helper.lines
    assert isinstance(result, Expr)
    return row.helper, lines, result


def _python(row: Op, tree: Expressions) -> Def:
    helper, before, result = steps(row)
    names: Mapping[Expr, str] = {ref(name): name for name in (*helper.arguments, *(name for name, _ in before))}
    body: list[Statement] = []
    for name, value in before:
        if isinstance(value, Polynomial):
            product = Operation("mul", (Name(name), Name(names[value.variable])))
            body.append(Assign(Name(name), Number("0.0")))
            numbers = Several(tuple(Number(repr(c)) for c in value.coefficients))
            body.append(For(Word("c"), numbers, [Assign(Name(name), Operation("add", (product, Word("c"))))]))
        else:
            body.append(Assign(Name(name), tree(as_array(value, names, tree.target))))
    body.append(Return(tree(as_array(result, names, tree.target))))
    given = tuple(Given(Name(a)) for a in helper.arguments)
    word = Word(row.word(tree.target) or row.name)
    return Def(word, given, body, series.documented(helper.about), stands_for=row.name)
