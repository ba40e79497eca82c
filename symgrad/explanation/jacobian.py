"""The Jacobian for somebody who sees one for the first time: a matrix with its zeros, or one equation for each pair,
with the deltas that say where it is not 0.

    d out[i] / d x[j] = out[i] * (delta[i, j] - out[j])        for  d out[i] / d x[i] = out[i]
                                                                    d out[i] / d x[j] += -out[i] * out[j]
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from ..derivatives import jacobian
from ..differentiate import Jacobian
from ..differentiate.chain import combined
from ..differentiate.components import cells, of_components
from ..errors import UnsupportedError
from ..expr import Apply, Expr, Index, Ref, index, product, ref, show, substitute, total, transform
from ..expr.names import Names, fresh_letters
from ..ir import Derivative, Equation, Function, latex_of, names_of, show_element, show_equations
from ..ir.latex import latex_equations
from ..records import replace
from ..simplify.normal import Normal, TooLarge
from ..simplify.write import Writer
from .document import Block, Formula, Formulas, Paragraph, Table
from .formulas import latex_quotient, quotient, slope

WIDE = 60  # letters of a cell, from which on the values of forward stand by their names


def jacobian_blocks(function: Function, derivative: Derivative) -> tuple[Block, ...]:
    """The Jacobian of a function at one point, whose derivative this is."""
    if of_components(derivative):
        return _matrix(derivative)
    try:
        found = jacobian(function)
    except UnsupportedError as error:
        said = str(error).removeprefix(f"{function.name}: ")
        return (Paragraph(f"Here J is not written as equations: {said} It is in numbers below."),)
    assert isinstance(found, Jacobian)
    return _by_index(found)


def _matrix(derivative: Derivative) -> tuple[Block, ...]:
    rows = _cells(derivative, set())
    if any(len(show(cell)) > WIDE for _, row in rows for _, cell in row):
        rows = _cells(derivative, set(derivative.primal.writers))
    below = [element for element, _ in rows[0][1]] if rows else []
    text = tuple((f"d {_element(above)}", *(show(cell) for _, cell in row)) for above, row in rows)
    body = r" \\ ".join(" & ".join(latex_of(cell) for _, cell in row) for _, row in rows)
    latex = rf"J = \begin{{pmatrix}} {body} \end{{pmatrix}}"
    said = "A row for each output, a column for each input: the cell is how much the output moves when the input does."
    head = ("", *(f"/ d {_element(e)}" for e in below))
    return (Paragraph(said), Table("J", head, text), Formulas((Formula("", latex),)))


def _cells(derivative: Derivative, opaque: set[str]) -> list[tuple[Ref, list[tuple[Ref, Expr]]]]:
    """The rows of J, of each cell one `where` for each condition."""

    def joined(node: Expr) -> Expr:
        return combined(node.op, *node.args) if isinstance(node, Apply) and node.op in ("add", "sub") else node

    found = cells(derivative, opaque)
    return [(above, [(below, transform(cell, joined)) for below, cell in row]) for above, row in found]


def _element(r: Ref) -> str:
    return show_element(r.name, r.subscripts)


def _by_index(found: Jacobian) -> tuple[Block, ...]:
    function = found.function
    names = Names(names_of(function))
    delta = names.new("delta")
    formulas = [f for name in found.pairs for f in _of_pair(found, name, delta)]
    facts = function.facts
    texts, latex = show_equations(found.values, facts), latex_equations(found.values, facts)
    formulas += [Formula(t, line.replace("&", "", 1)) for t, line in zip(texts, latex, strict=True)]
    blocks: list[Block] = [Formulas(tuple(formulas))]
    if any(f"{delta}[" in f.text for f in formulas):
        said = f"`{delta}[i, j]` is 1 where i = j, and 0 elsewhere: there the input does not move that output."
        blocks.append(Paragraph(said))
    if found.values:
        said = "is the derivative by a value on the way: it is found step by step, as that value is."
        blocks.append(Paragraph(f"`{found.values[0].target}` {said}"))
    return tuple(blocks)


def _of_pair(found: Jacobian, name: str, delta: str) -> list[Formula]:
    """The equations of one output by one input, those without a sum or a condition as one."""
    some = [e for e in found.entries if e.target == name]
    if not some:
        one, other = found.pairs[name]
        box = found.function.box_of((*one.shape, *other.shape))
        at = [i for i, _ in box]
        above, below = ref(one.name, *at[: len(one.shape)]), ref(other.name, *at[len(one.shape) :])
        return [Formula(f"{quotient(above, below)} = 0", f"{latex_quotient(above, below)} = 0")]
    len(found.pairs[name][0].shape)
    letters = _letters(some, names_of(found.function))
    whole, rest = list[Expr](), list[Equation]()
    for e in some:
        e, deltas = _spread(e, letters, delta)
        e = e.with_body(product([*deltas, e.body]))
        if e.reduce == "none" and not e.reduced and e.where is None and not e.when:
            whole.append(e.body)
        else:
            rest.append(e)
    above, below = found.places(some[0], letters)
    formulas = [slope(above, below, _factored(total(whole)))] if whole else []
    facts = found.function.facts
    lines = zip(show_equations(rest, facts), latex_equations(rest, facts), strict=True)
    for text, latex in lines:
        sign, right = ("+=" if formulas else "="), text.partition(" = ")[2] or text.partition(" += ")[2]
        tex = latex.partition("=")[2]
        plus = r"\mathrel{+}=" if formulas else "="
        formulas.append(
            Formula(f"{quotient(above, below)} {sign} {right}", f"{latex_quotient(above, below)} {plus} {tex}")
        )
    return formulas


def _letters(some: Sequence[Equation], taken: set[str]) -> tuple[Index, ...]:
    """An index for each axis of the array: what stands there in some equation, where it stands nowhere else."""
    used = {i.name for e in some for i, _ in e.box}
    fresh = fresh_letters({*taken, *used})
    letters: list[Index] = []
    for axis in range(len(some[0].subscripts)):
        there = (e.subscripts[axis] for e in some)
        plain = [i for i in there if isinstance(i, Index) and i not in letters]
        letters.append(plain[0] if plain else index(next(fresh)))
    return tuple(letters)


def _spread(e: Equation, letters: Sequence[Index], delta: str) -> tuple[Equation, list[Expr]]:
    """An equation at subscripts that are these letters, and the deltas that say where it was."""
    names: dict[Expr, Index] = {}
    for s, letter in zip(e.subscripts, letters, strict=True):
        if isinstance(s, Index) and s not in names:
            names[s] = letter
    taken = {i.name for i in letters} | {r.name for r in e.reads}
    spare = fresh_letters({*taken, *(i.name for i, _ in e.box)})
    for i, _ in e.reduced:
        if i in letters:
            names[i] = index(next(spare))
    put: dict[Expr, Expr] = {**names}
    deltas, met = list[Expr](), set[Expr]()
    for s, letter in zip(e.subscripts, letters, strict=True):
        if isinstance(s, Index) and s not in met:
            met.add(s)
        else:
            pair = (names[s], letter) if isinstance(s, Index) else (letter, substitute(s, put))
            deltas.append(ref(delta, *pair))
    moved = replace(e.mapped(lambda node: substitute(node, put)), subscripts=tuple(letters))
    return replace(moved, box=tuple((names.get(i, i), extent) for i, extent in e.box)), deltas


def _factored(body: Expr) -> Expr:
    """A sum of products with its common factors in front."""
    normal = Normal()
    with suppress(TooLarge):
        return Writer(normal, (), set(), set(), {}).expr(normal.poly(body), {})
    return body
