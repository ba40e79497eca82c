"""Each value is looked at once: a chain of 64 levels that reads each level three times has 4**64 paths."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import pytest

import symgrad as sg

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
    **{f"generate {to}": lambda f, to=to: sg.generate(f, to=to) for to in ("numpy", "c", "torch", "jax", "torch_c")},
    "generate scipy": lambda f: sg.generate(f, to="scipy"),
    "check numpy": lambda f: sg.check(f).ok,
    "check c": lambda f: sg.check(f, to="c").ok,
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("declare", FRONT_ENDS.values(), ids=FRONT_ENDS)
def test_a_chain_ends(declare: Callable[[], Any], call: Callable[[Any], object]) -> None:
    assert call(declare())


def test_a_power_of_many_equal_factors_ends() -> None:
    lines = "; ".join(f"v{k + 1} = v{k}*v{k}" for k in range(14))
    assert sg.generate(sg.parse(f"f(v0): {lines}; out = v14"), to="c")


def test_the_garbage_collector_is_as_it_was() -> None:
    assert gc.isenabled()
    with pytest.raises(sg.UnsupportedError):
        sg.generate(sg.parse("f(A[n,n]) = det(A)"), to="c")
    assert gc.isenabled()


def test_a_jacobian_too_deep_for_sympy_is_refused() -> None:
    def deep(x: Any, y: Any) -> Any:
        for _ in range(600):
            x = sg.sin(x) * y
        return x

    with pytest.raises(sg.SymgradError, match="deep: SymPy holds no formula nested as deeply"):
        sg.jacobian(sg.function(deep))
