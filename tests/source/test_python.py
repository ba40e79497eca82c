"""Python trees: however their lines are broken, they are parsed to the same tree as on one line."""

from __future__ import annotations

import ast

from hypothesis import given, settings
from hypothesis import strategies as st

from symgrad.backends.python_print import pieces
from symgrad.source.brackets import assigned, flat, headed, returned
from symgrad.source.python import Attribute, Name, Number, Operation, Several, call, method

LEAVES = st.sampled_from(["x", "grad_output", "a_name_of_quite_some_length", "y2"]).map(Name) | st.just(Number("0.5"))


def _larger(inner):
    several = st.lists(inner, min_size=1, max_size=3)
    binary = st.sampled_from(["add", "sub", "mul", "div", "pow", "matmul", "and", "gt"])
    return (
        st.builds(lambda op, a, b: Operation(op, (a, b)), binary, inner, inner)
        | st.builds(lambda a: Operation("neg", (a,)), inner)
        | st.builds(lambda parts: call("np.some_function", *parts), several)
        | st.builds(lambda a, b: method(a, "sum", axis=b), inner, inner)
        | st.builds(lambda parts: Several(tuple(parts)), several)
        | st.builds(lambda a: Attribute(a, "T"), inner)
    )


TREES = st.recursive(LEAVES, _larger, max_leaves=25)


def parsed(lines):
    return ast.dump(ast.parse("def f():\n" + "".join(f"    {line}\n" for line in lines)))


@settings(max_examples=300, deadline=None)
@given(TREES, st.sampled_from([4, 8, 24]))
def test_lines_are_broken_where_it_means_nothing(tree, indent):
    value = pieces(tree)
    kept = Name("out")
    assert parsed(returned(value, indent)) == parsed([f"return {flat(value)}"])
    assert parsed(assigned(pieces(kept), value, indent)) == parsed([f"out = {flat(value)}"])
    assert parsed([*headed("if", value, indent), "    pass"]) == parsed([f"if {flat(value)}:", "    pass"])


def test_several_targets_stand_one_a_line_though_the_last_is_in_brackets():
    names = [Name(f"a_name_of_some_length_{k}") for k in range(5)]
    target = Several((*names, Several((Name("has_bias"),))), "")
    lines = assigned(pieces(target), pieces(Name("saved")), 4)
    assert lines == ["(", *(f"    {n.name}," for n in names), "    (has_bias,),", ") = saved"]
