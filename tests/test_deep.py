"""Each value is looked at once: a chain of 64 levels that reads each level three times has 4**64 paths."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from time import process_time
from types import FrameType
from typing import Any
from weakref import ref as ref_to

import pytest
import sympy

import symgrad as sg
from symgrad import pipeline
from symgrad.declare.draft import Draft
from symgrad.differentiate import differentiate
from symgrad.expr import apply, operators, ref, refs
from symgrad.expr.names import Names
from symgrad.ops.naming import phrase, short
from symgrad.plan.arrays import affine

sys.path.insert(0, str(Path(__file__).parents[1]))
from benchmarks.speed.generating import joints

LEVELS = 64
LINES = "; ".join(f"v{k + 1} = v{k}*v{k} + v{k}/3" for k in range(LEVELS))


def chain(x: Any) -> Any:
    for _ in range(LEVELS):
        x = x * x + x / 3
    return x


FRONT_ENDS: dict[str, Callable[[], Any]] = {
    "Python": lambda: sg.function(chain),
    "text": lambda: sg.parse(f"chain(v0): {LINES}; out = v{LEVELS}"),
}
CALLS: dict[str, Callable[[Any], object]] = {
    "vjp": sg.vjp,
    "latex": lambda f: sg.vjp(f).latex(),
    "jvp": sg.jvp,
    "jacobian": sg.jacobian,
    **{
        f"generate {to}": lambda f, to=to: sg.generate(f, to=to, check=False)
        for to in ("numpy", "c", "torch", "jax", "torch_c", "triton", "pallas")
    },
    "generate scipy": lambda f: sg.generate(f, to="scipy", check=False),
    **{
        f"generate {name}": lambda f, name=name: sg.generate(f, to="c", functions=(name,), check=False)
        for name in ("jacobian", "hessian", "gauss_newton")
    },
    "check numpy": lambda f: sg.check(f).ok,
    "check c": lambda f: sg.check(f, to="c").ok,
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("declare", FRONT_ENDS.values(), ids=FRONT_ENDS)
@pytest.mark.in_turn
def test_a_chain_ends(declare: Callable[[], Any], call: Callable[[Any], object]) -> None:
    assert call(declare())


STEPS: dict[str, Callable[[Any], Any]] = {
    "x*x": lambda x: x * x,
    "x + x": lambda x: x + x,
    "x*x/(x + 1)": lambda x: x * x / (x + 1),
}


@pytest.mark.parametrize("to", ["numpy", "c"])
@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS)
def test_an_operation_that_is_an_operand_of_one_of_its_kind_twice_ends(step: Callable[[Any], Any], to: str) -> None:
    def levels(x: Any) -> Any:
        for _ in range(LEVELS):
            x = step(x)
        return x

    assert sg.generate(sg.function(levels), to=to, check=False)


def test_named_squares_of_squares_end() -> None:
    lines = "; ".join(f"v{k + 1} = v{k}*v{k}" for k in range(LEVELS))
    assert sg.generate(sg.parse(f"f(v0): {lines}; out = v{LEVELS}"), to="c", check=False)


def test_names_are_found_however_deep_a_formula_is() -> None:
    node = ref("x")
    for _ in range(20_000):
        node = apply("sin", node)
    assert phrase(node) == ""
    assert short(node) == "sin_x"


def test_the_garbage_collector_is_as_it_was() -> None:
    assert gc.isenabled()
    with pytest.raises(sg.UnsupportedError):
        sg.generate(sg.parse("f(A[n,n]) = det(A)"), to="c", check=False)
    assert gc.isenabled()


def test_what_was_printed_is_not_kept() -> None:
    printed = pipeline.printed(sg.parse("f(x) = x*sin(x)"), "numpy")
    plan = ref_to(printed.program)
    del printed
    gc.collect()
    assert plan() is None


def test_a_jacobian_too_deep_for_sympy_is_refused() -> None:
    def deep(x: Any, y: Any) -> Any:
        for _ in range(600):
            x = sg.sin(x) * y
        return x

    with pytest.raises(sg.SymgradError, match="deep: SymPy holds no formula nested as deeply"):
        sg.jacobian(sg.function(deep))


def one_value(steps: int) -> Any:
    """Each step reads what the one before computed, twice."""

    def deep(x: Any, y: Any) -> Any:
        for k in range(steps):
            x, y = (sg.sin(x) if k % 2 else x - y), x * y + 0.5
        return x * y

    return sg.function(deep)


def test_a_jacobian_of_functions_of_shared_values_ends() -> None:
    """SymPy asks of each argument whether it is 0, of all paths to it."""
    assert sg.jacobian(one_value(LEVELS)).shape == (1, 2)


@pytest.mark.parametrize("steps", [4, 7])  # the longer one is more than SymPy is asked about
def test_a_long_jacobian_is_right(steps: int) -> None:
    f, at = one_value(steps), (0.3, 0.7)
    rows = sympy.lambdify([sympy.Symbol(name, real=True) for name in "xy"], sg.jacobian(f), cse=True)(*at)
    artefact = sg.load(f, to="numpy", check=False)
    _, saved = artefact.forward(*at)
    assert [*rows[0]] == pytest.approx([*artefact.backward(saved)], rel=1e-12)


def names(steps: int) -> Any:
    """Each value has a name of its own."""
    lines = "; ".join(f"v{k + 1} = v{k}*v{k} + v{k}/3" for k in range(steps))
    return sg.parse(f"named(v0): {lines}; out = v{steps}")


def a_sum(steps: int) -> Any:
    """As many inputs as terms, each of which is read by two."""
    names = ", ".join(f"x{k}" for k in range(steps))
    terms = " + ".join(f"(x{k + 1} - x{k}*x{k})**2" for k in range(steps - 1))
    return sg.parse(f"added({names}) = {terms}")


def a_recurrence(steps: int) -> Any:
    """A function whose slope has a name of its own, of one whose argument calls it."""

    def deep(x: Any, w: Any) -> Any:
        for _ in range(steps):
            x = sg.tanh(w * x)
        return x

    return sg.function(deep)


LONG: dict[str, tuple[Callable[[int], Any], int]] = {  # with the steps of a short one
    **{f.__name__: (f, 30) for f in (one_value, names, a_sum)},
    "a_recurrence": (a_recurrence, 100),
}
GROWING = {
    name: call
    for name, call in CALLS.items()
    if name != "jacobian" and "check" not in name  # SymPy's; what the oracle costs is another question
}


MINUTES = [
    call
    for call in GROWING
    if call.removeprefix("generate ")
    in ("c", "jvp", "torch", "jax", "torch_c", "triton", "pallas", "scipy", "jacobian", "hessian", "gauss_newton")
]


def lines_of(work: Callable[[], object]) -> int:
    """How many lines of symgrad are executed."""
    count = 0

    def line(frame: FrameType, event: str, _: object) -> Any:
        nonlocal count
        count += 1
        return line

    def enter(frame: FrameType, event: str, _: object) -> Any:
        return line if "/symgrad/" in frame.f_code.co_filename else None

    before = sys.gettrace()
    sys.settrace(enter)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


@pytest.mark.long
@pytest.mark.parametrize(
    ("long", "steps", "call"),
    [
        pytest.param(*LONG[shape], call, id=f"{shape}-{name}", marks=[pytest.mark.longest] * slow)
        for shape in LONG
        for name, call in GROWING.items()
        for slow in [name in MINUTES and shape != "one_value"]
    ],
)
@pytest.mark.in_turn
def test_the_work_grows_as_the_formula(long: Callable[[int], Any], steps: int, call: Callable[[Any], object]) -> None:
    call(long(20))  # what is imported, and remembered
    few, many = (lines_of(lambda n=n: call(long(n))) for n in (steps, 4 * steps))
    assert many <= 4.6 * few, (few, many)


def test_gradients_of_a_long_line_look_once_at_what_they_share() -> None:
    call = CALLS["generate c"]
    call(joints(8))  # what is imported, and remembered
    few, many = (lines_of(lambda n=n: call(joints(n))) for n in (16, 64))
    assert many <= 5.7 * few, (few, many)  # 6.4 where each gradient is looked at by itself


@pytest.mark.parametrize("asked_of", [lambda nodes: map(operators, reversed(nodes)), lambda nodes: map(refs, nodes)])
def test_operators_and_elements_of_what_is_shared_are_looked_for_once(asked_of: Callable[..., Any]) -> None:
    def asked(steps: int) -> int:
        nodes = [ref("x")]
        for k in range(steps):
            nodes.append(apply("sin", nodes[-1]) if k % 2 else nodes[-1] * ref(f"y{k}"))
        return lines_of(lambda: [*asked_of(nodes)])

    assert asked(400) <= 4.6 * asked(100)


def test_slopes_by_numbers_are_not_made() -> None:
    """Of x**2, that by 2 has a logarithm and a condition."""

    def made(terms: int) -> int:
        names = [f"x{k}" for k in range(terms + 1)]
        squares = " + ".join(f"({a}*{b})**2" for a, b in pairwise(names))
        function = sg.parse(f"f({', '.join(names)}) = {squares}")
        before = ref("before the sweep").serial
        differentiate(function)
        return ref("behind the sweep").serial - before

    assert made(40) - made(20) <= 20 * 12


def test_an_extent_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    looked = list[object]()
    monkeypatch.setattr(affine, "multiples", lambda extent, _: (looked.append(extent) or extent, ()))
    sizes = affine.Sizes(sg.parse("f(x[n])[i] = x[i]"), Names(()))
    assert sizes.exact(ref("n")) is sizes.exact(ref("n")) is ref("n")
    assert looked == [ref("n")]


def test_an_input_is_declared_however_many_there_are() -> None:
    def seconds(count: int) -> float:
        draft, start = Draft("f"), process_time()
        for k in range(count):
            draft.input(f"x{k}", ())
        return process_time() - start

    few, many = (min(seconds(count) for _ in range(3)) for count in (1000, 8000))
    assert many <= 24 * few  # eight times as many; 64 times as long, if each looks at all before


OPERATIONS = 10**5


@pytest.fixture(scope="module")
def very_long() -> Any:
    """A function of so many operations, three for each step."""
    return one_value(OPERATIONS // 3)


@pytest.mark.long
@pytest.mark.timeout(1800)  # of printing, a minute or two; SciPy's is of second derivatives
@pytest.mark.parametrize(
    "call",
    [
        pytest.param(f, id=n, marks=[pytest.mark.longest] * (n in MINUTES or n.startswith("generate")))
        for n, f in GROWING.items()
    ],
)
def test_very_many_operations_end(very_long: Any, call: Callable[[Any], object]) -> None:
    assert call(very_long)
