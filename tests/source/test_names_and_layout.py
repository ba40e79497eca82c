"""Names are given once, and lines are cut at their weakest operator."""

import pytest

from symgrad.source.layout import COMMA, EQUALS, Cut, aligned, laid_out
from symgrad.source.names import Scope
from symgrad.source.tree import INT, Call, If, Local, Name, Number, Operation, Store, Type, names_in, walk

PLUS, TIMES = Cut(3), Cut(4)


@pytest.mark.parametrize(
    ("wishes", "names"),
    [
        (["near"], ["near_2"]),  # the user's stays
        (["b", "b"], ["b", "b_2"]),
        (["PI"], ["PI_2"]),  # what is outside of the function counts, too
        (["x", "x", "x"], ["x", "x_2", "x_3"]),
    ],
)
def test_what_is_new_yields(wishes, names):
    inside = Scope(["near"], outer=Scope(["PI"]))
    assert [inside.new(wish) for wish in wishes] == names


def test_the_first_wish_that_is_free_is_given():
    assert Scope(["b"]).new("b", "point") == "point"
    assert Scope(["b", "point"]).new("b", "point") == "b_2"


@pytest.mark.parametrize(
    ("pieces", "lines"),
    [
        (["short", PLUS, "+ one;"], ["short + one;"]),
        (["total = a", PLUS, "+ b", TIMES, "* c;"], ["total = a", "    + b * c;"]),
        (["total = (a", PLUS, "+ b)", TIMES, "* c;"], ["total = (a + b)", "    * c;"]),  # not inside of brackets
        (["total_of_all =", EQUALS, "f(a,", COMMA, "b);"], ["total_of_all =", "    f(a, b);"]),
    ],
)
def test_a_line_is_cut_at_its_weakest_operator(pieces, lines):
    assert laid_out(pieces, 0, 16) == lines


def test_arguments_stand_under_each_other():
    assert aligned("f(", ["a" * 50, "b" * 50], ");", 4) == ["    f(" + "a" * 50 + ",", "      " + "b" * 50 + ");"]


def test_a_tree_tells_the_names_it_speaks_of():
    n = Name("n")
    loop = If(Operation("lt", (n, Number("3"))), (Store(Name("y"), Call("sin", (n,))), Local("k", Type(INT), n)))
    assert [*names_in(loop)] == ["n", "y", "sin"]
    assert sum(node is n for node in walk(loop)) == 1
