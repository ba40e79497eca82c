"""The rows of the operators: complete, true, and the one place that says what an operator is."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
from time import process_time

import pytest
import sympy
from mathematics import in_domain
from mpmath import mp

import symgrad
from symgrad.backends.jax_statements import JaxExpressions
from symgrad.differentiate.neighbours import conditions_of
from symgrad.errors import UnsupportedError
from symgrad.evaluate import evaluate
from symgrad.expr import Operator, ref
from symgrad.ops import COMPARISONS, OPS, ROWS, named
from symgrad.ops.row import function
from symgrad.source.python import Word

PACKAGE = Path(symgrad.__file__).parent
NAMES = set(OPS)
ALGEBRA = {"add", "sub", "neg", "mul", "div", "pow", "sqrt"}  # rules of sums and products speak of them by name

# Lists of operators that stand outside of the rows: what they say is no property of the operator.
LISTED = {
    "expr/nodes.py": "the constructors stand below the rows: their identities, and the commutative operators",
    "expr/text.py": "the notation of formula text",
    "ir/latex.py": "the notation of LaTeX",

    "declare/python/arithmetic.py": "the signs of Python",
    "declare/python/functions.py": "names that the module has for something else",
    "declare/text/operators.py": "the symbols of formula text",
    "declare/text/tokenizer.py": "the words of formula text",
    "backends/c_expressions.py": "what C computes of two integer types",
    "backends/c_special.py": "the texts of what C lacks",
    "backends/c_print.py": "the notation of C",
    "backends/python_expressions.py": "the words of NumPy",
    "backends/python_print.py": "the notation of Python",
    "backends/torch_expressions.py": "the words of torch",
    "domain/atoms.py": "what an affine atom is split by",
    "expr/sizes.py": "what keeps integers at 0 or above",
    "precision/denominator.py": "what SymPy is told of squares",
    "simplify/exponentials.py": "a rule of logarithms",
    "simplify/tails.py": "rules of the tails of a distribution",
    "verify/approximations.py": "what is granted to functions of printed files",
    "verify/draws.py": "what an implementation is known to compute badly",
    "verify/reach.py": "how the oracle computes with integers",
    "verify/rounding/format.py": "the oracle's own bounds",
    "verify/rounding/functions.py": "the oracle's own bounds",
}


def lists(path: Path) -> Iterator[tuple[int, list[str]]]:
    """(line, names) of each collection of three or more operators by name, but those of algebra and of comparisons."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        found: list[ast.expr | None]
        if isinstance(node, (ast.Set, ast.Tuple, ast.List)):
            found = list(node.elts)
        elif isinstance(node, ast.Dict):
            found = list(node.keys)
        elif isinstance(node, ast.MatchOr):
            found = [p.value for p in node.patterns if isinstance(p, ast.MatchValue)]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "split":
            text = node.func.value
            words = text.value.split() if isinstance(text, ast.Constant) and isinstance(text.value, str) else []
            found = [ast.Constant(w) for w in words]
        else:
            continue
        names = [e.value for e in found if isinstance(e, ast.Constant) and isinstance(e.value, str)]
        operators = [n for n in names if n in NAMES]
        if len(operators) >= max(3, len(found) / 2) and not (set(operators) <= ALGEBRA or set(operators) < COMPARISONS):
            yield node.lineno, operators


FILES = [p for p in sorted(PACKAGE.rglob("*.py")) if p.relative_to(PACKAGE).parts[0] not in ("ops", "library")]


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.relative_to(PACKAGE).as_posix())
def test_what_an_operator_is_stands_in_its_row(path):
    """A list of operators elsewhere is a property that a row does not tell."""
    if path.relative_to(PACKAGE).as_posix() in LISTED:
        return
    assert not list(lists(path)), "make it a column of symgrad.ops.Op, or a property computed from one"


def test_the_exceptions_are_needed():
    assert [name for name in LISTED if not list(lists(PACKAGE / name))] == []


REALS = (-700.0, -40.0, -3.25, -1.0, -0.5, -1e-8, 0.0, 1e-8, 0.5, 1.0, 3.25, 40.0, 700.0)
UNARY = [r for r in ROWS if r.arity == 1 and r.result == "real" and r.name != "polygamma"]


def values(row: symgrad.ops.Op) -> list[tuple[float, object]]:
    """Arguments, and the values at them, where the operator has a finite one."""
    with mp.workprec(200):
        found = [(x, row.value(mp.mpf(x))) for x in REALS]
    return [(x, y) for x, y in found if mp.isfinite(y)]


@pytest.mark.parametrize("row", [r for r in UNARY if r.monotone], ids=lambda r: r.name)
def test_monotone(row):
    found = [row.monotone * y for _, y in values(row)]
    assert found == sorted(found)


@pytest.mark.parametrize("name", [r.name for r in ROWS if r.grows or r.name in ("tanh", "log_cosh", "logaddexp")])
def test_a_number_far_out_of_range_takes_no_time(name):
    row = OPS[name]
    with mp.workprec(2700):
        far = mp.mpf(3) ** 1500
        start = process_time()
        for x in (far, -far):
            row.value(*(x, 1 - x)[: row.arity])
    assert process_time() - start < 0.5  # by powers of e it is seconds


@pytest.mark.parametrize("row", [r for r in UNARY if r.nonnegative], ids=lambda r: r.name)
def test_never_negative(row):
    assert all(y >= 0 for _, y in values(row))


@pytest.mark.parametrize("row", [r for r in ROWS if r.bounded], ids=lambda r: r.name)
def test_never_large(row):
    far = [10.0**e for e in (-300, -8, 0, 8, 300)]
    found = []
    for arguments in product([-x for x in far] + [0.0] + far, repeat=row.arity):
        value = row.value(*map(mp.mpf, arguments))
        found += [abs(value)] if not mp.isnan(value) else []
    assert found and max(found) <= 1000


@pytest.mark.parametrize("row", [r for r in ROWS if r.derivative and not r.associative], ids=lambda r: r.name)
def test_each_argument_has_a_partial_derivative(row):
    arguments = [ref(name) for name in "xyzuvw"[: row.arity]]
    assert len(row.derivative(*arguments, ref("result"))) == row.arity


FEW = tuple(map(mp.mpf, (-3.25, -1.0, -0.5, 0.0, 0.5, 1.0, 3.25)))


@pytest.mark.parametrize("row", [r for r in ROWS if r.inside], ids=lambda r: r.name)
def test_what_an_argument_is_replaced_by_is_inside_of_the_domain(row):
    for at in product(FEW, repeat=row.arity):
        replaced = [x if i is None else mp.mpf(i) for x, i in zip(at, row.inside, strict=True)]
        assert mp.isfinite(row.value(*replaced)), replaced


SAID = [r for r in ROWS if r.arity and r.result == "real" and conditions_of(r.domain) is not None]


@pytest.mark.parametrize("row", SAID, ids=lambda r: r.name)
def test_inside_of_its_domain_it_has_a_value(row):
    for at in product(FEW, repeat=row.arity):
        if in_domain(row, at):
            assert mp.isfinite(row.value(*at)), at


@pytest.mark.parametrize("row", UNARY, ids=lambda r: r.name)
def test_the_value_is_that_of_the_twin(row):
    """At 0, too, where a twin such as sinh(x)/x has a limit."""
    x = sympy.Symbol("x", real=True)
    twin = row.twin(x)
    for at, value in values(row):
        if abs(at) > 40:
            continue
        told = twin.subs(x, sympy.Rational(at))
        told = sympy.limit(twin, x, at) if told is sympy.nan else told
        exact = mp.re(mp.mpmathify(sympy.N(told, 40)))  # the logarithm of a negative gamma has another branch there
        assert not mp.isfinite(exact) or abs(exact - value) <= mp.mpf(10) ** -12 * max(1, abs(value)), at


@pytest.mark.parametrize("row", [r for r in UNARY if r.expand is not None], ids=lambda r: r.name)
def test_the_value_is_that_of_what_it_expands_to(row):
    with mp.workprec(200):
        for at, value in values(row):
            found = evaluate(row.expand(ref("x")), {}, lambda name, _, at=at: mp.mpf(at))
            if mp.isfinite(found):
                assert abs(found - value) <= mp.mpf(10) ** -40 * max(1, abs(value)), at


@pytest.mark.parametrize("row", [r for r in ROWS if r.integral], ids=lambda r: r.name)
def test_of_integers_an_integer(row):
    numbers = [mp.mpf(n) for n in (3, -7, 2)][: row.arity]
    assert row.value(*numbers) == int(row.value(*numbers))


@pytest.mark.parametrize("row", [r for r in ROWS if r.commutative], ids=lambda r: r.name)
def test_commutative(row):
    assert row.value(mp.mpf(3), mp.mpf(-7)) == row.value(mp.mpf(-7), mp.mpf(3))


@pytest.mark.parametrize("row", [r for r in ROWS if r.associative and r.result == "real"], ids=lambda r: r.name)
def test_associative(row):
    a, b, c = map(mp.mpf, (3, -7, 2))
    assert mp.almosteq(row.value(row.value(a, b), c), row.value(a, row.value(b, c)))


@pytest.mark.parametrize("formula", ["sin(x)/x", "log(exp(x) + exp(2*x) + exp(3*x))", "log(x)/(x - 1)"])
def test_simplifying_adds_no_operator(formula):
    """What an operator is that stands in no table travels with the formula in which it stands."""
    before = dict(OPS)
    for to in ("numpy", "c"):
        assert symgrad.generate(symgrad.parse(f"f(x) = {formula}"), to, check=False)
    assert dict(OPS) == before


@pytest.mark.parametrize(
    ("spell", "said"),
    [
        ({}, "jax has no function cosech. Print another language, or say in the row of cosech in symgrad/ops"),
        ({"jax": "jnp.reciprocal(-{})"}, "the row of cosech in symgrad/ops spells it 'jnp.reciprocal(-{})' for jax"),
        ({"jax": "jnp.power({}, y=-1)"}, "a template has calls, numbers and places alone"),
        ({"jax": "jnp.power({"}, "a template has calls"),
    ],
    ids=["nothing", "a sign", "a keyword", "no text of Python"],
)
def test_a_row_that_a_language_cannot_print_is_refused_by_name(spell, said):
    row = function("cosech", None, value=mp.csch, spell=spell)
    with pytest.raises(UnsupportedError) as error:
        JaxExpressions(Word("x.dtype")).word(Operator("cosech", row))
    assert said in str(error.value)


def test_two_operators_of_one_name_are_refused():
    with pytest.raises(AssertionError, match="two operators are called ln: see docs"):
        named([OPS["log"], replace(OPS["log2"], names=("ln",))])
    with pytest.raises(AssertionError, match="two operators are called log"):
        named([OPS["log"], replace(OPS["log"], names=())])
