"""The numbers at one point, as blocks: J, v, J^T v worked out, and the same by differences."""

from __future__ import annotations

from collections.abc import Mapping

from ..expr.names import fresh
from ..later import np
from .document import Block, Figure, Formula, Formulas, Paragraph, Pattern, Table
from .inputs import Array
from .point import STEP, Point, elements, flat

ROWS, COLUMNS = 12, 8  # of a J by one input that is shown in numbers
PICTURED = 40  # and of one that is shown as a picture
FEWER = 3  # elements of a gradient that are worked out, of one with more than these columns
LARGEST = 12  # gradients in the last table
TERMS = 8  # of a sum that is worked out
LISTED = 24  # elements of an array that are shown one by one
NAMED = 4  # gradients that are named where they are off
KINK = (
    "This point is at a kink or a jump of the formula, where it has no slope: the one that the code has is declared, "
    "and a difference takes the mean of the slopes on both sides. Choose another point with --at."
)
FEW = (
    f"The differences of {{}} are off: floating point has too few digits for a step of {STEP:g} here, or a kink is "
    "within that step. The check below takes differences with 200 digits."
)
CLOSE = 1e-5  # relative: what differences of floats agree to


def number_blocks(point: Point, seeds: Mapping[str, str], gradients: Mapping[str, str]) -> tuple[Block, ...]:
    """The point of a derivative with these names for grad_output by output, and for the gradients by input."""
    every = {**point.inputs, **point.options, **point.outputs}
    c, loss = fresh("c", every), fresh("L", every)
    lines = [f"{n} = {shown(a)}" for n, a in every.items()]
    weights = {n: shown(a) if not np.shape(a) else c if len(point.v) == 1 else f"{c}_{n}" for n, a in point.v.items()}
    lines += [f"{weights[n]} = {shown(a)}" for n, a in point.v.items() if np.shape(a)]
    terms = (f"sum({weights[n]} * {n})" if np.shape(a) else f"{weights[n]} * {n}" for n, a in point.v.items())
    lines.append(f"{loss} = {' + '.join(terms)}")
    lines += [f"{seeds[n]} = d {loss} / d {n} = {weights[n]}" for n in point.v]
    said = "Take a point, and let what comes behind be a sum with weights: then these weights are v."
    blocks: list[Block] = [Paragraph(said), Formulas(tuple(map(_plain, lines)))]
    blocks += _matrix(point)
    blocks += _sums(point, gradients)
    return (*blocks, *_compared(point, gradients))


def _matrix(point: Point) -> list[Block]:
    """J in numbers, by each input; the picture of where it is not 0."""
    rows, columns, j = point.rows, point.columns, point.jacobian
    if j is None:
        said = f"J is {len(rows):,} x {len(columns):,} here: too large to be worked out."
        return [Paragraph(said)]
    blocks: list[Block] = []
    first, left = 0, []
    whole = len(columns) <= COLUMNS
    for name, own in {"": columns}.items() if whole else ((n, elements(n, a)) for n, a in point.product.items()):
        part = j[:, first : first + len(own)]
        first += len(own)
        if len(rows) > ROWS or len(own) > COLUMNS:
            left.append(f"`{name}`" if name else "")
            continue
        table = tuple((f"d {r}", *(number(float(x)) for x in row)) for r, row in zip(rows, part, strict=True))
        by = f", by {name}" if name else ""
        blocks.append(Table(f"J at this point{by}", ("", *(f"/ d {c}" for c in own)), table))
    if left:
        by = f" by {', '.join(left)}" if all(left) else ""
        blocks.append(Paragraph(f"J{by} is too large to be read in numbers."))
    if not j.all() and j.size > 1 and max(len(rows), len(columns)) <= PICTURED:
        blocks.append(_pattern(point))
    return blocks


def _plain(text: str) -> Formula:
    return Formula(text, "")


def number(x: float) -> str:
    """Six digits, and no zeros behind them."""
    return f"{x:.6g}" if x else "0"


def shown(array: Array) -> str:
    """`[1, 2, 3]`; a large one by its first numbers and its shape."""
    if array is None:
        return "None"
    a = np.asarray(array)
    if a.size > LISTED:
        return f"[{', '.join(number(float(x)) for x in a.ravel()[:4])}, ...] of shape {a.shape}"

    def nested(x: Array) -> str:
        if np.ndim(x):
            return f"[{', '.join(nested(y) for y in x)}]"
        return number(float(x)) if a.dtype != bool else str(bool(x))

    return nested(a)


def _sums(point: Point, gradients: Mapping[str, str]) -> list[Block]:
    """J^T v worked out, a few elements of each gradient."""
    if point.jacobian is None:
        return []
    weights, first, lines = flat(point.v), 0, list[Formula]()
    for x, array in point.product.items():
        names = elements(gradients[x], array)
        columns = point.jacobian.T[first : first + len(names)]
        first += len(names)
        shown_few = len(names) if len(names) <= COLUMNS else FEWER
        for name, column, total in list(zip(names, columns, np.ravel(array), strict=True))[:shown_few]:
            terms = [f"{_factor(float(j))} * {_factor(w)}" for j, w in zip(column, weights, strict=True) if j]
            terms = [*terms[:TERMS], "..."] if len(terms) > TERMS else terms
            text = f"{name} = {' + '.join(terms)} = {number(float(total))}" if terms else f"{name} = 0"
            lines.append(_plain(text))
        lines += [_plain("...")] if shown_few < len(names) else []
    zeros = "" if point.jacobian.all() else " Zeros add nothing."
    said = f"J^T v takes J column by column: each entry times the v of its row, added up.{zeros}"
    arrays = [f"{gradients[x]} = {shown(array)}" for x, array in point.product.items() if np.size(array) > 1]
    whole = [Formulas(tuple(map(_plain, arrays)), "As arrays")] if arrays else []
    return [Paragraph(said), Formulas(tuple(lines)), *whole]


def _factor(x: float) -> str:
    return number(x) if x >= 0 else f"({number(x)})"


def _pattern(point: Point) -> Figure:
    assert point.jacobian is not None
    filled = tuple(tuple(bool(x) for x in row) for row in point.jacobian)
    some, every = int(np.count_nonzero(point.jacobian)), point.jacobian.size
    said = f"{len(filled)} x {len(filled[0])}: {some} of the {every} entries of J are not 0."
    return Figure("Where J is not 0", Pattern(tuple(point.rows), tuple(point.columns), filled), said)


def _compared(point: Point, gradient: Mapping[str, str]) -> list[Block]:
    names = [e for x, a in point.product.items() for e in elements(gradient[x], a)]
    sides = [flat(a) for a in (point.product, point.printed, point.differences)]
    rows = list(zip(names, *sides, strict=True))
    each = LARGEST if len(rows) <= LARGEST else max(1, LARGEST // len(point.product))
    own = (elements(gradient[x], a)[:each] for x, a in point.product.items())
    told = {name for some in own for name in some}
    ways = ("J^T v", "printed backward", "differences of L")[point.product is point.printed :]
    table = tuple((row[0], *map(number, row[-len(ways) :])) for row in rows if row[0] in told and row[3] == row[3])
    caption = f"The same {'three' if len(ways) == 3 else 'two'} ways"
    caption += f" ({len(table)} of {len(rows):,})" if len(table) < len(rows) else ""
    off = [name for name, a, b, c in rows if not _close(a, b) or c == c and not _close(a, c)]
    said = (
        f"The last column knows no derivative at all: it moves one input by h = {STEP:g} to both sides, and looks at "
        f"what L does: (L(x + h) - L(x - h)) / 2h."
    )
    found: list[Block] = [Table(caption, ("", *ways), table), Paragraph(said)]
    found += [
        Paragraph(f"`{n}` is a symmetric matrix: two elements are one, and each has half of the gradient.")
        for n in point.symmetric
    ]
    if off:
        found.append(Paragraph(KINK if point.kinked else FEW.format(", ".join(f"`{n}`" for n in off[:NAMED]))))
    return found


def _close(a: float, b: float) -> bool:
    return bool(a == b or abs(a - b) <= CLOSE * max(1.0, abs(a), abs(b)))
