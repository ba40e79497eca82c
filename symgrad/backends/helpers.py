"""Functions of a printed file that stand for operators: those that its language lacks, and those that are a formula
with a removable singularity (series.py)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from ..accuracy.removable import Filled
from ..expr import Apply, Expr, postorder, ref
from ..ops import OPS, ROWS, Helper, Op, Polynomial
from ..plan import Program
from . import series
from .python_names import names_in
from .python_text import ArrayPrinter, assigned
from .series import as_array, documented, returned

ROOM = 80  # columns for coefficients


def python_helpers(text: str, printer: ArrayPrinter, program: Program) -> list[list[str]]:
    """The functions that `text`, printed from `program`, calls, and those that they call, in a language of arrays."""

    def made(op: str) -> list[str]:
        return series.python_helper(op, printer) if isinstance(op, Filled) else _python(OPS[op], printer)

    rows = [*formulas(program), *(row.name for row in ROWS if row.helper is not None)]
    words = {word: op for op in rows if (word := OPS[op].word(printer.target))}
    return [*_called(text, words, made, set())]


def formulas(program: Program) -> tuple[Filled, ...]:
    """The operators of a program that stand for formulas, and those that are in the formulas. Another program's may
    have the name of one of them, and the same formula in other words."""
    found: dict[Filled, None] = {}
    waiting = [e.body for p in (program, program.product) if p for e in p.derivative.function.statements]
    while waiting:
        for node in postorder(waiting.pop()):
            if isinstance(node, Apply) and isinstance(node.op, Filled) and node.op not in found:
                found[node.op] = None
                waiting.append(node.op.formula)
    return tuple(found)


def _called(
    text: str, words: Mapping[str, str], made: Callable[[str], list[str]], known: set[str]
) -> Iterator[list[str]]:
    """What is made of the operators whose functions `text` calls, in the order of their `words`."""
    for word in sorted(names_in(text) & words.keys()):
        if word in known:
            continue
        known.add(word)
        lines = made(words[word])
        yield from _called("\n".join(lines[1:]), words, made, known)
        yield lines


def steps(row: Op) -> tuple[Helper, list[tuple[str, Expr | Polynomial]], Expr]:
    """The helper, its lines before the result, and the result."""
    assert row.helper is not None
    *lines, (_, result) = row.helper.lines
    assert isinstance(result, Expr)
    return row.helper, lines, result


def _python(row: Op, printer: ArrayPrinter) -> list[str]:
    helper, before, result = steps(row)
    names: Mapping[Expr, str] = {ref(name): name for name in (*helper.arguments, *(name for name, _ in before))}
    lines = []
    for name, value in before:
        if isinstance(value, Polynomial):
            lines += [f"{name} = 0.0", "for c in ("]
            lines += [f"    {line}" for line in _rows(repr(c) for c in value.coefficients)]
            lines += ["):", f"    {name} = {name} * {names[value.variable]} + c"]
        else:
            lines += assigned(name, printer(as_array(value, names, printer.target)), 4)
    lines += returned(printer(as_array(result, names, printer.target)))
    head = f"def {row.word(printer.target)}({', '.join(helper.arguments)}):"
    return [head, *documented(helper.about), *(f"    {line}" for line in lines)]


def _rows(numbers: Iterable[str]) -> list[str]:
    """Numbers with commas, as many in a line as there is room for."""
    lines = [""]
    for number in numbers:
        longer = f"{lines[-1]} {number},".lstrip()
        if len(longer) + 8 > ROOM:
            lines.append(f"{number},")
        else:
            lines[-1] = longer
    return lines
