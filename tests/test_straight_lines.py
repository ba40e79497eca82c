"""Long formulas of scalars: what backward computes, shared values once, beside what forward computes."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import symgrad as sg
from symgrad.expr import size
from symgrad.pipeline import printed, verified
from symgrad.records import replace


def reprojection(
    r0: Any, r1: Any, r2: Any, c0: Any, c1: Any, c2: Any, f: Any, u0: Any, v0: Any, k1: Any, k2: Any,
    x: Any, y: Any, z: Any, weight: Any, u: Any, v: Any,
) -> Any:  # fmt: skip
    """A point, turned by a rotation vector about a camera, as that sees it with radial distortion."""
    angle = sg.sqrt(r0 * r0 + r1 * r1 + r2 * r2)
    c, s = sg.cos(angle), sg.sin(angle)
    over = 1 / angle
    w = [r0 * over, r1 * over, r2 * over]
    x, y, z = x - c0, y - c1, z - c2
    along = (w[0] * x + w[1] * y + w[2] * z) * (1 - c)
    across = [w[1] * z - w[2] * y, w[2] * x - w[0] * z, w[0] * y - w[1] * x]
    p = [a * c + b * s + n * along for a, b, n in zip((x, y, z), across, w, strict=True)]
    a, b = p[0] / p[2], p[1] / p[2]
    square = a * a + b * b
    scale = 1 + k1 * square + k2 * square * square
    return weight * (a * scale * f + u0 - u), weight * (b * scale * f + v0 - v), 1 - weight * weight


def arm(*angles: Any) -> tuple[Any, ...]:
    """The place and the frame at the end of links that turn about alternate axes."""
    place: list[Any] = [0, 0, 0]
    frame: list[list[Any]] = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    for k, q in enumerate(angles):
        c, s, i, j = sg.cos(q), sg.sin(q), k % 2, k % 2 + 1
        frame = [list(row) for row in zip(*frame, strict=True)]
        first, second = frame[i], frame[j]
        frame[i] = [a * c + b * s for a, b in zip(first, second, strict=True)]
        frame[j] = [b * c - a * s for a, b in zip(first, second, strict=True)]
        frame = [list(row) for row in zip(*frame, strict=True)]
        place = [p + 0.4 * row[2] for p, row in zip(place, frame, strict=True)]
    return (*place, *(a for row in frame for a in row))


def joints(q0: Any, q1: Any, q2: Any, q3: Any, q4: Any, q5: Any, q6: Any) -> Any:
    return arm(q0, q1, q2, q3, q4, q5, q6)


def steps(x: Any, y: Any, a: Any, b: Any, c: Any) -> Any:
    for _ in range(16):
        x, y = sg.sin(a * x + b * y), x * y + c
    return x, y


def valley(x0: Any, x1: Any, x2: Any, x3: Any, x4: Any, x5: Any, x6: Any, x7: Any) -> Any:
    x = (x0, x1, x2, x3, x4, x5, x6, x7) * 4
    return sum(100 * (b - a * a) ** 2 + (1 - a * b) ** 2 for a, b in zip(x, (*x[3:], *x[:3]), strict=True))


def forces(x0: Any, y0: Any, x1: Any, y1: Any, x2: Any, y2: Any, x3: Any, y3: Any) -> tuple[Any, ...]:
    """Of four atoms on each other; what differs by a sign alone is computed once."""
    places = [(x0, y0), (x1, y1), (x2, y2), (x3, y3)]
    found: list[list[Any]] = [[0, 0] for _ in places]
    for n, (x, y) in enumerate(places):
        for m, (u, v) in enumerate(places):
            if n != m:
                a, b = x - u, y - v
                s = 1 / (a * a + b * b)
                f = (2 * s**6 - s**3) * s
                found[n] = [found[n][0] + f * a, found[n][1] + f * b]
    return tuple(f for row in found for f in row)


RATIOS: dict[str, tuple[Callable[..., Any], float]] = {  # operations of backward for each of forward
    "reprojection": (reprojection, 3.0),
    "arm of seven joints": (joints, 3.0),
    "recurrence of 16 steps": (steps, 3.2),
    "valley": (valley, 2.0),
    "forces": (forces, 3.5),
}


@pytest.mark.parametrize(("formula", "ratio"), RATIOS.values(), ids=RATIOS)
def test_backward_is_a_small_multiple_of_forward(formula: Callable[..., Any], ratio: float) -> None:
    program = printed(sg.function(formula), "c").program
    forward, backward = (size(*(e.body for e in p.equations)) for p in (program.forward, program.backward))
    assert backward <= ratio * forward, (backward, forward)


@pytest.mark.parametrize("formula", [formula for formula, _ in RATIOS.values()], ids=RATIOS)
def test_long_formulas_are_right(formula: Callable[..., Any]) -> None:
    assert sg.check(sg.function(formula), to="c").ok


def test_a_value_has_one_form() -> None:
    (text,) = (
        t for name, t in sg.generate(sg.function(reprojection), to="numpy", check=False).items() if name.endswith(".py")
    )
    backward = text[text.index("def backward") :].split("\n\n\n")[0]
    assert [backward.count(f"np.{op}(") for op in ("sin", "cos", "sqrt", "hypot")] == [1, 1, 0, 2]
    assert "slope_of" not in text and "safe_" not in text


@pytest.mark.parametrize("formula", [reprojection, joints, steps])
def test_no_array_is_made_twice(formula: Callable[..., Any]) -> None:
    (text,) = sg.generate(sg.function(formula), to="numpy", check=False).values()
    (backward,) = (n for n in ast.parse(text).body if isinstance(n, ast.FunctionDef) and n.name == "backward")
    made = [ast.unparse(n) for n in ast.walk(backward) if isinstance(n, ast.BinOp)]
    assert len(made) == len({*made})


def swinging(x: Any) -> Any:
    for k in range(1, 60):
        x = sg.sin(x + k) * sg.cos(x) + x / k
    return x


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("formula", "needs"), [(joints, 2), (reprojection, 16), (swinging, 0)])
def test_long_arrays_are_computed_in_slices(
    formula: Callable[..., Any], needs: int, dtype: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    code: Any = sg.load(sg.function(formula), to="numpy", check=False)
    rng, count = np.random.default_rng(1), len(inspect.signature(formula).parameters)
    arguments = [rng.uniform(0.5, 1, (11, 6)).astype(dtype)[::2, ::3].T for _ in range(count)]  # 2 x 6 of any strides
    arguments[-1] = np.broadcast_to(arguments[-1][:, :1], (2, 6))

    def results() -> list[Any]:
        out, saved = code.forward(*arguments)
        outputs = out if isinstance(out, tuple) else (out,)
        seeds = tuple(0.3 * np.ones_like(o) for o in outputs)
        seeds = seeds if isinstance(out, tuple) else seeds[0]
        one = tuple(k == needs for k in range(count))
        return [*outputs, *code.backward(saved, seeds), *code.backward(saved, seeds, one)]

    whole = results()
    for length in (1, 5, 11, 12):
        monkeypatch.setattr(code, "_SLICE", length)
        for expected, found in zip(whole, results(), strict=True):
            assert (expected is None) == (found is None)
            if expected is not None:
                assert expected.dtype == found.dtype == dtype
                np.testing.assert_allclose(found, expected, rtol=4 * np.finfo(dtype).eps)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("start + _SLICE)", "start + _SLICE - 1)"),
        ("range(0, size", "range(_SLICE, size"),
        ("(result[place], part)", "(result[place], -part)"),
    ],
)
def test_the_check_executes_slices(right: str, wrong: str) -> None:
    function = sg.function(joints)
    code = printed(function, "numpy")
    broken = replace(code, files={name: text.replace(right, wrong) for name, text in code.files.items()})
    assert broken.files != code.files
    (first, *_) = verified(function, broken, broken.load()).failures
    assert first.stage.startswith("text in slices")


def test_contributions_to_an_output_that_others_read_are_added_in_one_line() -> None:
    text = sg.generate(sg.function(joints), to="c", check=False)["joints.c"]
    assert " += " not in text.split("void joints_backward(")[1].split("\n}\n")[0]


def test_what_differs_by_a_sign_is_computed_once() -> None:
    program = printed(sg.function(forces), "c").program
    pairs, numbers = 6, 19  # operations of each pair: differences, squares, their sum, powers, and what is added
    assert size(*(e.body for e in program.forward.equations)) <= pairs * numbers
