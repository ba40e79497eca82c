"""Trees as C: parentheses by what binds, and the type of real numbers as a choice of the printer alone."""

import pytest

from symgrad.backends.c_print import Printer
from symgrad.source.tree import (
    INT,
    REAL,
    SIZE,
    Call,
    Cast,
    Element,
    If,
    Local,
    Loop,
    Macro,
    Name,
    Number,
    Operation,
    Parameter,
    Return,
    Store,
    Type,
)

A, B, C, X = (Name(name) for name in "abcx")
ZERO, TWO = Number("0"), Number("2.0", True)


def op(name, *operands):
    return Operation(name, operands)


@pytest.mark.parametrize(
    ("tree", "text"),
    [
        (op("sub", A, op("sub", B, C)), "a - (b - c)"),
        (op("sub", op("sub", A, B), C), "a - b - c"),
        (op("mul", A, op("div", B, C)), "a * (b / c)"),
        (op("or", op("and", A, B), C), "(a && b) || c"),  # as gcc wants it
        (op("and", op("or", A, B), C), "(a || b) && c"),
        (op("or", op("or", A, B), C), "a || b || c"),
        (op("ne", op("lt", A, ZERO), op("lt", B, ZERO)), "(a < 0) != (b < 0)"),
        (op("neg", op("neg", A)), "-(-a)"),
        (op("neg", op("mul", Number("-2.0", True), A)), "-(-2.0 * a)"),
        (op("neg", op("add", A, B)), "-(a + b)"),
        (op("select", op("lt", A, B), A, op("select", C, B, A)), "a < b ? a : c ? b : a"),
        (op("mul", op("select", C, A, B), A), "(c ? a : b) * a"),
        (Cast(Type(SIZE), op("add", A, B)), "(size_t)(a + b)"),
        (op("mul", op("at", X), Element(A, (op("add", B, C),))), "*x * a[b + c]"),
        (op("not", op("eq", A, B)), "!(a == b)"),
    ],
)
def test_what_binds(tree, text):
    assert Printer().text(tree) == text


@pytest.mark.parametrize(("single", "text"), [(False, "2.0 * exp(x) + (double)n"), (True, "2.0f * expf(x) + (float)n")])
def test_the_type_of_real_numbers(single, text):
    tree = op("add", op("mul", TWO, Call("exp", (X,))), Cast(Type(REAL), Name("n")))
    assert Printer(single).text(tree) == text


def test_a_chain_of_operations_is_no_recursion():
    tree = X
    for _ in range(20_000):
        tree = op("add", tree, X)
    assert Printer().text(tree).count("+") == 20_000


def test_statements():
    body = (
        Local("rest", Type(INT), op("mod", A, B)),
        Loop("i", ZERO, Name("n"), (Store(Element(X, (Name("i"),)), TWO, "*="),), reverse=True),
        If(op("ne", A, ZERO), (Return(A),), (If(B, (Return(B),), (Return(C),)),)),
    )
    assert Printer().lines(body, 0) == [
        "const ptrdiff_t rest = a % b;",
        "for (size_t i = n; i-- > 0;) {",
        "    x[i] *= 2.0;",
        "}",
        "if (a != 0) {",
        "    return a;",
        "} else if (b) {",
        "    return b;",
        "} else {",
        "    return c;",
        "}",
    ]


def test_a_macro_has_its_arguments_in_parentheses():
    n = Parameter("n", "size", Type(SIZE), "n")
    macro = Macro("F_WORK", (n,), op("mul", Name("n"), op("add", Name("n"), Number("1"))), "work")
    assert Printer().macro(macro) == ["#define F_WORK(n) ((n) * ((n) + 1))"]
