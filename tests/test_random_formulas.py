"""Formulas drawn at random, printed in both languages and checked by the oracle.

A few in every run, the same each time; as many as wanted with HUNT=1000 in the environment, others each time, and what
fails is shrunk. A failure becomes a row of tests/formulas.py.
"""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

import symgrad as sg
from symgrad.errors import DeclarationError, ShapeError, UnsupportedError

HUNT = int(os.environ.get("HUNT", "0"))
DRAWN = settings(
    max_examples=HUNT or 40,
    derandomize=not HUNT,
    phases=tuple(Phase) if HUNT else (Phase.generate,),
    deadline=None,
    suppress_health_check=list(HealthCheck),
)

UNARY = ("sin({})", "tanh({})", "{}**2", "sigmoid({})", "abs({})", "-{}", "sqrt(1 + {}**2)", "exp(-{}**2)")
BINARY = ("{} + {}", "{} - {}", "({})*({})", "({})/(1 + ({})**2)", "maximum({}, {})", "atan2({}, 2 + ({})**2)")
REDUCTIONS = ("sum", "sum", "mean", "max", "min", "prod", "logsumexp")
INPUTS = {"x": ("n", "m"), "y": ("m",), "z": ("n",), "w": ()}
INDICES = {"i": "n", "j": "m", "k": "n", "l": "m"}


@st.composite
def formulas(draw):
    """The text of a function with one to three statements; each target runs over some of the indices i and j."""
    tensors = dict(INPUTS)
    statements = []
    for number in range(draw(st.integers(1, 3))):
        shown = draw(st.sampled_from(((), ("i",), ("j",), ("i", "j"), ("j", "i"))))
        name = f"h{number}"
        kind = draw(st.sampled_from(("plain", "plain", "plain", "literal", "shifted", "loop")))
        if kind == "loop" and shown[:1] == ("i",):
            rest = "".join(f",{index}:{INDICES[index]}" for index in shown[1:])
            at = "".join(f",{index}" for index in shown[1:])
            body = draw(expressions(tensors, shown, 2))
            factor = draw(st.sampled_from(("", "0.5*", "w*")))
            statements += [f"{name}[0{rest}] = 1", f"{name}[i+1{at}] = {factor}{name}[i{at}] + {body}"]
            tensors[name] = ("n+1", *(INDICES[index] for index in shown[1:]))
            continue
        body = draw(expressions(tensors, shown, 3))
        if kind == "literal" and shown:
            rest = "".join(f",{index}:{INDICES[index]}" for index in shown[1:])
            other = draw(expressions(tensors, shown[1:], 2))
            inner = draw(expressions(tensors, shown[1:], 2))
            statements += [f"{name}[0{rest}] = {inner}", f"{name}[1{rest}] = {other}"]
            tensors[name] = ("2", *(INDICES[index] for index in shown[1:]))
            continue
        left = f"{name}[{','.join(f'{index}:{INDICES[index]}' for index in shown)}]" if shown else name
        statements.append(f"{left} = {body}")
        tensors[name] = tuple(INDICES[index] for index in shown)
        if kind == "shifted" and shown:
            more = draw(expressions(tensors | {name: ("no", *shown)}, shown, 2))
            extents = [f"{index}:{INDICES[index]}" for index in shown]
            places = ",".join([f"{INDICES[shown[0]]} + {shown[0]}", *(e for e in extents[1:])])
            statements.append(f"{name}[{places}] = {more}")
            tensors[name] = (f"2*{INDICES[shown[0]]}", *(INDICES[index] for index in shown[1:]))
    return f"f(x[n,m], y[m], z[n], w) -> {name}: {'; '.join(statements)}"


@st.composite
def expressions(draw, tensors, free, depth):
    """The text of a body over the indices `free`."""
    if depth == 0 or draw(st.integers(0, 4)) == 0:
        return draw(elements(tensors, free))
    kind = draw(st.sampled_from(("unary", "binary", "binary", "where", "reduce", "guard")))
    if kind == "unary":
        return draw(st.sampled_from(UNARY)).format(f"({draw(expressions(tensors, free, depth - 1))})")
    if kind == "where":
        a, b, c = (draw(expressions(tensors, free, depth - 1)) for _ in range(3))
        return f"where({a} > {draw(st.sampled_from(('0.5', '-1', b)))}, {b}, {c})"
    if kind == "reduce":
        bound = draw(st.sampled_from([index for index in INDICES if index not in free]))
        body = draw(expressions(tensors, (*free, bound), depth - 1))
        return f"{draw(st.sampled_from(REDUCTIONS))}[{bound}:{INDICES[bound]}]({body})"
    if kind == "guard" and free:
        index = draw(st.sampled_from(free))
        element = draw(elements(tensors, (index,)))
        back = element.replace(f"[{index}", f"[{index}-1")
        return f"where({index} > 0, {back}, {draw(expressions(tensors, free, depth - 1))})"
    a, b = (draw(expressions(tensors, free, depth - 1)) for _ in range(2))
    return draw(st.sampled_from(BINARY)).format(a, b)


@st.composite
def elements(draw, tensors, free):
    """An element of a tensor whose axes the indices can run along, or a number."""
    fitting = []
    for name, axes in tensors.items():
        choices = [[index for index in free if INDICES[index] == axis] for axis in axes]
        choices = [c or (["0", "1"] if axis == "2" else []) for c, axis in zip(choices, axes, strict=True)]
        if all(choices):
            fitting.append((name, choices))
    if not fitting or draw(st.integers(0, 9)) == 0:
        return draw(st.sampled_from(("0.5", "2", "w")))
    name, choices = draw(st.sampled_from(fitting))
    subscripts = [draw(st.sampled_from(c)) for c in choices]
    return f"{name}[{','.join(subscripts)}]" if subscripts else name


@pytest.mark.parametrize("to", ["numpy", "c"])
@DRAWN
@given(text=formulas())
def test_agrees_with_the_oracle(to, text):
    try:
        function = sg.parse(text)
        sg.generate(function, to=to)
    except (DeclarationError, ShapeError, UnsupportedError):  # refused; text that does not compile is no refusal
        assume(False)
        return
    report = sg.check(function, to=to, seconds=30)
    assert report.ok, f"{text}\n{report}"
