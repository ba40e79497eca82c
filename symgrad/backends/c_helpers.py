"""Local functions of a C file: integers that are rounded down, sizes, sorting, and operators that C lacks."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from string import Template

from ..expr import ARGUMENT, Expr, ref, substitute, transform
from ..ir import Dtype
from ..numerics.removable import Filled
from ..numerics.taylor import ORIGIN, SERIES, SQUARE, away
from ..ops import OPS, ROWS, Op, Polynomial
from ..plan import Program
from ..plan.functions import functions, named_calls
from ..records import replace
from ..source.tree import (
    BOOL,
    INT,
    REAL,
    SIZE,
    Array,
    Cast,
    Constant,
    Element,
    Expression,
    Function,
    Local,
    Loop,
    Name,
    Number,
    Operation,
    Parameter,
    Return,
    Statement,
    Store,
    Type,
    Verbatim,
    names_in,
)
from . import c_contract, c_lapack, c_sparse, c_special, c_vector, series
from .c_expressions import Expressions, helper_in, language, vectors_in
from .c_names import File
from .helpers import formulas, steps
from .options import Options

PI = Number("3.14159265358979323846", True)

ORDER = """\
/* order: where the elements of x stand when sorted; a stable order, NaN last */
static void $stable_order(size_t n, const $real *restrict x, $integer *restrict order,
                         $integer *restrict scratch)
{
    for (size_t i = 0; i < n; ++i) {
        order[i] = ($integer)i;
    }
    for (size_t width = 1; width < n; width *= 2) {
        for (size_t start = 0; start < n; start += 2 * width) {
            const size_t middle = start + width < n ? start + width : n;
            const size_t end = middle + width < n ? middle + width : n;
            size_t left = start;
            size_t right = middle;
            for (size_t k = start; k < end; ++k) {
                int later = left == middle;
                if (left < middle && right < end) {
                    const $real a = x[order[left]];
                    const $real b = x[order[right]];
                    later = b < a || (a != a && b == b);
                }
                scratch[k] = later ? order[right++] : order[left++];
            }
        }
        for (size_t i = 0; i < n; ++i) {
            order[i] = scratch[i];
        }
    }
}"""


def local_functions(
    used: Iterable[str], file: File, programs: Sequence[Program], options: Options
) -> tuple[tuple[Constant, ...], tuple[Function | Verbatim, ...]]:
    """The constants and functions of the file that its functions speak of by the names `used`, each after those that
    it calls itself."""
    words = dict.fromkeys(file.words(used))
    found = dict.fromkeys(name for program in programs for name in formulas(program))
    rows = [*found, *(row.name for row in ROWS if helper_in(row) is not None)]
    plain = [word.removeprefix(c_vector.PREFIX) for word in words]
    of = {**{OPS[op].spell.get("c", op): op for op in rows}, **functions(plain, "c")}
    of |= {c_vector.PREFIX + word: op for word, op in of.items() if c_vector.PREFIX + word not in c_vector.TEXTS}
    operators = [*_operators((w for w in words if w in of), of, file, options.single, set())]
    words |= dict.fromkeys(w for f in operators for w in file.words(names_in(*f.body)))
    constants = (Constant(file.local("PI"), PI, "PI"),) if "PI" in words else ()
    integers = [make(file.local(word)) for word, make in _INTEGERS.items() if word in words]
    by_hand = [_verbatim(word, file, options) for word in _needed(words, _BY_HAND)]
    special = [f for word in _needed(words, c_special.TEXTS) for f in _special(word, file, options.single)]
    return constants, (*integers, *by_hand, *special, *operators)


def _needed(words: Iterable[str], texts: Mapping[str, str]) -> list[str]:
    """The functions that are called, and those that they call, each after those that it calls itself, as in `texts`."""
    found = set(words)
    for word in reversed([*texts]):
        found |= {*_calls(word, texts)} if word in found else set()
    return [word for word in texts if word in found]


def _calls(word: str, texts: Mapping[str, str]) -> list[str]:
    """The functions of these that a text calls, and itself first."""
    return list(dict.fromkeys([word, *(name for name in _CALLED.findall(texts[word]) if name in texts)]))


def _verbatim(word: str, file: File, options: Options) -> Verbatim:
    """A function that is written by hand, with the words of its types of numbers."""
    functions = {name: file.local(name) for name in _calls(word, _BY_HAND)}
    single = options.single
    words = {**_WORDS[single], **c_vector.words(single), "integer": options.integer, **functions}
    lines = Template(_BY_HAND[word]).substitute(words).split("\n")
    includes = ["lapacke.h", "stdlib.h", "string.h"] if word.startswith(c_lapack.PREFIX) else []
    includes += ["math.h"] if word in c_lapack.OF_MATH else []
    includes += c_contract.INCLUDES.get(word, ())
    includes += c_vector.INCLUDES if word in c_vector.TEXTS else []
    return Verbatim(functions[word], tuple(lines), word, tuple(includes))


def _special(word: str, file: File, single: bool) -> Iterator[Verbatim]:
    """A special function in double precision, and in a file of floats the one that rounds what it gives."""
    of_double = "double_" * single
    names = {name: file.local(of_double + name) for name in _calls(word, c_special.TEXTS)}
    lines = Template(c_special.TEXTS[word]).substitute(names, pi=PI.text).split("\n")
    yield Verbatim(names[word], tuple(lines), word, ("math.h",))
    if single and word in OPS:
        text = c_special.rounded(file.local(word), names[word], OPS[word].arity)
        yield Verbatim(file.local(word), tuple(text.split("\n")))


# integers


def _floor_div(name: str) -> Function:
    return _of_integers(name, INT, Operation("sub", (
        Operation("div", (_A, _B)),
        Operation("and", (Operation("ne", (Operation("mod", (_A, _B)), _0)), _differ(_A, _B))),
    )))  # fmt: skip


def _floor_mod(name: str) -> Function:
    rest = Name("rest")
    wrong = Operation("and", (Operation("ne", (rest, _0)), _differ(rest, _B)))
    return _of_integers(
        name, INT, Operation("select", (wrong, Operation("add", (rest, _B)), rest)),
        Local("rest", Type(INT), Operation("mod", (_A, _B))),
    )  # fmt: skip


def _extent(name: str) -> Function:
    n = Name("n")
    found = Operation("select", (Operation("gt", (n, _0)), Cast(Type(SIZE), n), _0))
    return Function("local", name, (Parameter("n", "", Type(INT)),), (Return(found),), Type(SIZE))


def _absolute(name: str) -> Function:
    found = Operation("select", (Operation("lt", (_A, _0)), Operation("neg", (_A,)), _A))
    return Function("local", name, (Parameter("a", "", Type(INT)),), (Return(found),), Type(INT))


def _chosen(comparison: str) -> Callable[[str], Function]:
    """One of two sizes."""

    def function(name: str) -> Function:
        parameters = tuple(Parameter(p.name, "", Type(SIZE)) for p in (_A, _B))
        found = Operation("select", (Operation(comparison, (_A, _B)), _A, _B))
        return Function("local", name, parameters, (Return(found),), Type(SIZE))

    return function


def _of_integers(name: str, result: str, value: Expression, *before: Statement) -> Function:
    parameters = tuple(Parameter(p.name, "", Type(INT)) for p in (_A, _B))
    return Function("local", name, parameters, (*before, Return(value)), Type(result))


def _differ(a: Expression, b: Expression) -> Expression:
    """Whether one is negative and the other is not."""
    return Operation("ne", (Operation("lt", (a, _0)), Operation("lt", (b, _0))))


_A, _B, _0 = Name("a"), Name("b"), Number("0")
_INTEGERS: Mapping[str, Callable[[str], Function]] = {
    "floor_div": _floor_div,
    "floor_mod": _floor_mod,
    "absolute": _absolute,
    "extent": _extent,
    "larger": _chosen("gt"),
    "smaller": _chosen("lt"),
}
# each after those that it calls
_BY_HAND = {"stable_order": ORDER, **c_contract.TEXTS, **c_sparse.TEXTS, **c_lapack.TEXTS, **c_vector.TEXTS}
_CALLED = re.compile(r"\$(\w+)\(")
_WORDS: Mapping[bool, Mapping[str, str]] = {  # of single or double precision
    False: {"real": "double", "kind": "d", "log": "log", "fabs": "fabs", "zero": "0.0", "one": "1.0", "tiny": "1e-15"},
    True: {
        "real": "float",
        "kind": "s",
        "log": "logf",
        "fabs": "fabsf",
        "zero": "0.0f",
        "one": "1.0f",
        "tiny": "1e-6f",
    },
}


# operators


def _operators(
    words: Iterable[str], of: Mapping[str, str], file: File, single: bool, known: set[str]
) -> Iterator[Function]:
    """The functions that stand for operators, in the order of their words."""
    for word in sorted(set(words) & of.keys()):
        if word in known:
            continue
        known.add(word)
        op = of[word]
        vector = (vectors_in(op) or "",) * word.startswith(c_vector.PREFIX)
        made = _formula(op, file, vector) if isinstance(op, Filled) else _helper(OPS[op], file, single, vector)
        made = replace(made, name=file.local(word))
        yield from _operators(file.words(names_in(*made.body)), of, file, single, known)
        yield made


def _helper(row: Op, file: File, single: bool, vector: Sequence[str]) -> Function:
    """The function that the row of an operator writes line by line."""
    helper, lines, result = steps(row)
    build = _numbers([*helper.arguments, *(name for name, _ in lines)], file, vector)
    body: list[Statement] = []
    several = sum(isinstance(value, Polynomial) for _, value in lines) > 1
    for name, value in lines:
        if isinstance(value, Polynomial):
            body += _horner(name, f"c_{name}" if several else "c", value, build, single)
        else:
            body.append(Local(name, Type(REAL), build(transform(value, language))))
    body.append(Return(build(transform(result, language))))
    parameters = tuple(Parameter(name, "", Type(REAL)) for name in helper.arguments)
    word = str(row.word("c"))
    return Function("local", word, parameters, tuple(body), Type(REAL), (helper.about,), stands_for=word)


def _horner(name: str, table: str, value: Polynomial, build: Expressions, single: bool) -> list[Statement]:
    """A polynomial by Horner's rule, of as many coefficients as the type of real numbers can tell apart."""
    result, c, k = Name(name), Name(table), Name("k")
    coefficients = tuple(Number(repr(x), True) for x in (value.single if single else value.coefficients))
    step = Operation("add", (Operation("mul", (result, build(value.variable))), Element(c, (k,))))
    return [
        Array(table, Type(REAL, constant=True), None, coefficients),
        Local(name, Type(REAL), Number("0.0", True), True),
        Loop("k", Number("0"), Number(str(len(coefficients))), (Store(result, step),)),
    ]


def _formula(op: Filled, file: File, vector: Sequence[str]) -> Function:
    """A formula with a removable singularity, and near there its series."""
    place, found = op.place, series.series_of(op)
    body = away(op.formula, place)
    own = series.SMALL if place == ORIGIN else series.DISTANCE
    clamped = series.clamped(series.SMALL, body)
    far = series.SMALL if clamped is series.SMALL else series.FAR
    calls, rest = named_calls(transform(body, language))
    build = _numbers(["x", "u", "far", "square", "series", *(n.name for n in calls)], file, vector)

    def value(node: Expr, argument: Expr = series.SMALL) -> Expression:
        names: Mapping[Expr, Expr] = {ARGUMENT: argument, SQUARE: ref("square"), SERIES: ref("series")}
        return build(transform(substitute(node, names), language))

    statements: list[Statement] = []
    if own is series.DISTANCE:
        statements.append(Local("u", Type(REAL), value(place.distance)))
    near = build.as_kind(transform(series.condition(own, found.near), language), BOOL)
    statements.append(Local("near", Type(BOOL), near))
    if found.even:
        statements.append(Local("square", Type(REAL), Operation("mul", (Name(own.name), Name(own.name)))))
    for k, step in enumerate(found.steps):
        sum_ = value(step, own)
        statements.append(Store(Name("series"), sum_) if k else Local("series", Type(REAL), sum_, True))
    if far is series.FAR:
        statements.append(Local("far", Type(REAL), value(clamped)))
    statements += [Local(name.name, Type(REAL), value(call, far)) for name, call in calls.items()]
    statements.append(Return(Operation("select", (Name("near"), Name("series"), value(rest, far)))))
    word = OPS[op].spell.get("c", op)
    return Function(
        "local", word, (Parameter("x", "", Type(REAL)),), tuple(statements), Type(REAL),
        (series.about(op),), stands_for=word,
    )  # fmt: skip


def _numbers(names: Iterable[str], file: File, vector: Sequence[str]) -> Expressions:
    """Builds expressions of real numbers that have these names."""
    kinds = dict.fromkeys(names, Dtype.REAL)
    return Expressions(kinds, dict.fromkeys(kinds, ()), local=file.local, vector=vector)
