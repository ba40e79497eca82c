"""The Jacobian as it is displayed, evaluated element by element, is the Jacobian; and what adds up is written `+=`."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pytest
from formulas import ROWS
from mathematics import as_function, by_equations, inputs_of, interpret, rng_of, shape_of

import symgrad as sg
from symgrad import library
from symgrad.derivatives import derive
from symgrad.differentiate import Jacobian, differentiate
from symgrad.errors import UnsupportedError
from symgrad.evaluate import evaluate
from symgrad.expr import Apply, Expr, Ref, indices, ref, with_args
from symgrad.ir import Function, bind, extent_of, show_equations
from symgrad.verify.reference import Declaration
from symgrad.verify.sampling import sample

At = Mapping[str, int]


class Displayed:
    """The elements of a displayed Jacobian at these inputs."""

    def __init__(self, function: Function, shown: Jacobian, inputs: Mapping[str, Any]) -> None:
        derivative = derive(function)
        self.shown = shown
        self.inputs = inputs
        self.options = {o.name: o.default for o in derivative.primal.options}
        self.sizes = bind(derivative.primal, inputs)
        self.shapes = {o: shape_of(derivative.primal, o, self.sizes) for o in derivative.primal.outputs}
        zeros = {seed: np.zeros(self.shapes[o]) for o, seed in derivative.seeds}
        self.arrays = interpret(derivative.function, {**inputs, **zeros})
        self.chained: dict[Expr, Any] = {}

    def extent(self, extent: Expr) -> int:
        return extent_of(extent, self.sizes, self.options)

    def points(self, box: Mapping[str, Expr], names: list[str]) -> Iterator[dict[str, int]]:
        for point in itertools.product(*(range(self.extent(box[name])) for name in names)):
            yield dict(zip(names, point, strict=True))

    def elements(self) -> dict[tuple[Any, ...], Any]:
        """{(output, subscripts, input, subscripts): the derivative}, of what is listed."""
        found: dict[tuple[Any, ...], Any] = {}
        for entry in self.shown.entries:
            box = {i.name: n for i, n in entry.box}
            free = [i.name for i in indices(*entry.output.subscripts, *entry.input.subscripts)]
            for at in self.points(box, free):
                above, below = self.place(entry.output, at), self.place(entry.input, at)
                if all(k >= 0 for k in below):
                    value = self.value(entry.value, at, box)
                    key = (entry.output.name, above, entry.input.name, below)
                    assert value == 0 or found.get(key, 0) == 0, f"{key} is listed twice"
                    found[key] = value or found.get(key, 0)
        return found

    def place(self, element: Ref, at: At) -> tuple[int, ...]:
        return tuple(int(evaluate(s, at, self.element)) for s in element.subscripts)

    def element(self, name: str, subscripts: tuple[int, ...]) -> Any:
        if name in self.arrays:
            inside = all(0 <= k < n for k, n in zip(subscripts, self.arrays[name].shape, strict=True))
            return self.arrays[name][subscripts] if inside else 0
        if name in self.sizes or name in self.options:
            return self.options[name] if name in self.options else self.extent(ref(name))
        return self.derivative_of_a_value(name, subscripts)

    def derivative_of_a_value(self, name: str, subscripts: tuple[int, ...]) -> Any:
        key = ref(name, *subscripts)
        if key not in self.chained:
            self.chained[key] = 0
            for target, entry in self.shown.chained:
                box = {i.name: n for i, n in entry.box} if target.name == name else {}
                for at in self.points(box, [i.name for i in indices(*target.subscripts)]) if box else [{}]:
                    if target.name == name and self.place(target, at) == subscripts:
                        self.chained[key] = self.value(entry.value, at, box)
        return self.chained[key]

    def value(self, root: Expr, at: At, box: Mapping[str, Expr]) -> Any:
        """`root` with its sums, deltas and choices; a factor of 0 asks for no other."""
        if isinstance(root, Ref):
            return self.element(root.name, tuple(int(self.value(s, at, box)) for s in root.subscripts))
        if not isinstance(root, Apply) or not root.args:
            return evaluate(root, at, self.element)
        first = root.args[0]
        if root.op.startswith("sum["):
            over = [part.split(":")[0] for part in root.op[4:-1].split(",")]
            return sum(self.value(first, {**at, **point}, box) for point in self.points(box, over))
        if root.op == "given":
            assert isinstance(first, Ref)
            return self.value(root.args[1 if self.inputs[first.name] is not None else 2], at, box)
        if root.op == "select":
            return self.value(root.args[1 if self.value(first, at, box) else 2], at, box)
        if root.op == "mul":
            one, other = sorted(root.args, key=_is_delta, reverse=True)
            factor = self.value(one, at, box)
            return factor and factor * self.value(other, at, box)
        values = [self.value(a, at, box) for a in root.args]
        if root.op == "delta":
            return int(values[0] == values[1])
        named = with_args(root, [ref(f"#{k}") for k in range(len(values))])
        return evaluate(named, {}, lambda name, _: values[int(name[1:])])


def _is_delta(e: Expr) -> bool:
    return isinstance(e, Apply) and e.op == "delta"


def check(function: Function, inputs: Mapping[str, Any]) -> None:
    try:
        shown = sg.jacobian(function)
    except UnsupportedError as error:
        assert "has no elements to be shown" in str(error)
        return
    if not isinstance(shown, Jacobian):  # of scalars: tests/test_cases.py
        return
    displayed = Displayed(function, shown, inputs)
    found = displayed.elements()
    plain = differentiate(function)
    flat = {o: displayed.arrays[o].shape for o in function.outputs}  # with one axis for a pack
    for output, at in ((o, at) for o in function.outputs for at in np.ndindex(flat[o])):
        units = {o: np.zeros(flat[o]) for o, _ in plain.seeds}
        units[output][at] = 1
        seeds = {seed: units[o].reshape(displayed.shapes[o]) for o, seed in plain.seeds}
        for name, expected in by_equations(plain, inputs, seeds).items():
            shape = displayed.arrays[name].shape
            for place, value in zip(np.ndindex(shape), expected, strict=True):
                shown = float(found.get((output, at, name, place), 0))
                assert abs(shown - float(value)) < 1e-9 * max(1, abs(shown)), (output, at, name, place, shown, value)


@pytest.mark.parametrize(("declaration", "sizes", "given"), ROWS)
@pytest.mark.long
def test_displayed_elements_are_the_derivative(declaration: Any, sizes: Any, given: Any) -> None:
    function = as_function(declaration)
    check(function, inputs_of(function, sizes, given, rng_of(str(declaration))))


@pytest.mark.parametrize("name", library.__all__[::8])
@pytest.mark.long
def test_displayed_elements_of_the_library(name: str) -> None:
    function = as_function(getattr(library, name))
    check(function, sample(Declaration(function)).cases[0].inputs)


@pytest.mark.parametrize("name", library.__all__)
def test_latex_adds_where_text_does(name: str) -> None:
    function = as_function(getattr(library, name))
    for equations, latex in [
        (function.statements, function.latex()),
        (differentiate(function).equations, differentiate(function).latex()),
    ]:
        text = show_equations(equations, function.facts)
        assert latex.count(r"\mathrel{+}=") == sum(" += " in line for line in text)


def test_no_quotient_of_0_is_displayed():
    """The gradient of x is over x, and so are the cotangents of other components, until they are 0."""
    function = sg.parse("f(x, y) = (x**2*y, sin(x*y)/x, exp(x) + y)")
    text = sg.generate(function)["f_numpy.py"]
    assert "[ 2 * x * y                     x**2       ]" in text
    assert "[ exp(x)                        1          ]" in text
    assert str(sg.jacobian(function)[0]) == "2*x*y"
