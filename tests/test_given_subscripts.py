"""Subscripts and values that are computed from given integers: of all types, and at their ends."""

from __future__ import annotations

import numpy as np
import pytest

import symgrad as sg
from symgrad.pipeline import printed, verified
from symgrad.records import replace

# the subscript of x[n] by the integer k: the same in Python's integers
SUBSCRIPTS = {
    "k[i] % n": lambda k, n: k % n,
    "n - 1 - k[i] % n": lambda k, n: n - 1 - k % n,
    "(k[i] % n + i) % n": lambda k, n: (k % n + np.arange(len(k))) % n,
    "clip(k[i], 0, n - 1)": lambda k, n: np.clip(k, 0, n - 1),
    "clip(k[i], -1, n - 2) + 1": lambda k, n: np.clip(k, -1, n - 2) + 1,
    "maximum(0, minimum(k[i], n - 1))": lambda k, n: np.clip(k, 0, n - 1),
}
TYPES = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64")


def loaded(subscript, to):
    return sg.load(f"f(x[n], k[m]: int)[i] = x[{subscript}]**2", to=to, check=False)


def compare(subscript, types, value_and_gradient):
    """Asks for the value and the gradient in x, of x and k, at the ends of each type."""
    for dtype in types:
        ends = np.iinfo(dtype)
        k = np.array([ends.min, ends.max, 0, 3, ends.max // 2], dtype)
        for n in (1, 4, 300):  # 300 is no int8
            x, places = np.arange(1.0, n + 1), SUBSCRIPTS[subscript](k.astype(object), n).astype(int)
            out, grad = value_and_gradient(x, k)
            np.testing.assert_array_equal(out, x[places] ** 2)
            np.testing.assert_array_equal(grad, 2 * x * np.bincount(places, minlength=n))


@pytest.mark.parametrize("to", ["numpy", pytest.param("c", marks=pytest.mark.long)])
@pytest.mark.parametrize("subscript", SUBSCRIPTS)
def test_elements_and_gradients(subscript, to):
    code = loaded(subscript, to)

    def value_and_gradient(x, k):
        out, saved = code.forward(x, k)
        return out, code.backward(saved, np.ones(len(k)))[0]

    compare(subscript, TYPES, value_and_gradient)


@pytest.mark.parametrize("to", ["numpy", pytest.param("c", marks=pytest.mark.long)])
def test_a_condition_that_would_overflow(to):
    """k + 1 < n holds of no k that k + 1 overflows for: it is asked as k < n - 1."""
    code = sg.load("f(x[n], k[m]: int)[i] = where(k[i] >= 0 and k[i] + 1 < n, x[k[i]+1], 0)", to=to, check=False)
    k = np.array([np.iinfo(np.int64).max, np.iinfo(np.int64).min, -1, 0, 1, 2])
    out, saved = code.forward(np.arange(1.0, 4), k)
    grad, _ = code.backward(saved, np.ones(6))
    np.testing.assert_array_equal(out, [0, 0, 0, 2, 3, 0])
    np.testing.assert_array_equal(grad, [0, 1, 1])


# a value of the integer k, and the same in Python's integers
# where x is read at t, of x[n]: the same in Python
KEPT = {
    "0 <= t[i] and t[i] < n": lambda t, n: 0 <= t < n,
    "not (t[i] < 0 or t[i] >= n)": lambda t, n: 0 <= t < n,
    "0 <= t[i] and t[i] <= u[i] and u[i] < n": lambda t, n: 0 <= t < n,
    "0 < t[i] and t[i] <= n - 2": lambda t, n: 0 < t <= n - 2,
}
PARTLY = {
    "t[i] < n": lambda t, n: t < n,
    "t[i] != n": lambda t, n: t != n,
    "not t[i] > n - 2": lambda t, n: t <= n - 2,
    "t[i] >= 0": lambda t, n: t >= 0,
}
LANGUAGES = ["numpy", "c"]


def guarded(condition, to):
    function = sg.parse(f"f(x[n], t[m]: int, u[m]: int)[i] = where({condition}, x[t[i]]**2, 0) + u[i]*0")
    return sg.load(function, to=to, check=False)


def compare_guarded(holds, n, t, value_and_gradient):
    x, given = np.arange(1.0, n + 1), np.arange(1.0, len(t) + 1)
    read = [(k, int(v)) for k, v in enumerate(t) if holds(int(v), n)]
    out, grad = np.zeros(len(t)), np.zeros(n)
    for k, v in read:
        out[k] = x[v] ** 2
        grad[v] += 2 * x[v] * given[k]
    found = value_and_gradient(x, t, given)
    np.testing.assert_array_equal(found[0], out)
    np.testing.assert_array_equal(found[1], grad)


@pytest.mark.parametrize("to", LANGUAGES)
@pytest.mark.parametrize("condition", KEPT)
def test_a_subscript_that_its_condition_keeps_inside_may_be_anything_elsewhere(condition, to):
    """The end of the axis, too, and of an axis without elements nothing is read."""
    code, ends = guarded(condition, to), np.iinfo(np.int64)

    def value_and_gradient(x, t, given):
        out, saved = code.forward(x, t, np.minimum(t, ends.max - 1))
        return out, code.backward(saved, given)[0]

    for n in (0, 1, 4):
        t = np.array([ends.min, -1, 0, n - 2, n - 1, n, n + 1, ends.max])
        compare_guarded(KEPT[condition], n, t, value_and_gradient)


@pytest.mark.parametrize("to", LANGUAGES)
@pytest.mark.parametrize("condition", PARTLY)
def test_a_condition_on_sizes_leaves_out_what_is_not_read(condition, to):
    """As the index n for padding. What is read is still refused where it is outside."""
    code = guarded(condition, to)

    def value_and_gradient(x, t, given):
        out, saved = code.forward(x, t, t)
        return out, code.backward(saved, given)[0]

    inside = np.array([v for v in (-1, 0, 1, 2, 3) if not PARTLY[condition](v, 3) or 0 <= v < 3])
    compare_guarded(PARTLY[condition], 3, inside, value_and_gradient)
    for v in (-7, 7):
        if PARTLY[condition](v, 3):
            with pytest.raises(IndexError, match=r"out of range|must be in range\(n\)"):
                code.forward(np.ones(3), np.array([v]), np.array([v]))


def test_a_condition_is_shown_without_not():
    text = sg.generate(sg.parse("f(x[n], t[m]: int)[i] = where(t[i] > n - 2, 0, x[t[i]])"), to="numpy", check=False)
    assert "t must be in range(n) where t <= n - 2, here range(" in " ".join(text["f_numpy.py"].split())


def test_the_check_asks_for_what_a_condition_on_sizes_leaves_out():
    """A file that refuses the index n, which is not read, is no longer called correct."""
    function = sg.parse("f(x[n], t[m]: int)[i] = where(t[i] < n, x[t[i]], 0)")
    result = printed(function, "numpy")
    (path, text) = next(iter(result.files.items()))
    assert "places = np.where(t < n, t, 0)" in text
    wrong = replace(result, files={path: text.replace("places = np.where(t < n, t, 0)", "places = t")})
    assert sg.check(function).ok
    report = verified(function, wrong, wrong.load())
    assert not report.ok and "t must be in range(n) where t < n" in str(report)


VALUES = {
    "k[i] % 3": lambda k: k % 3,
    "(k[i]*3 + 1) // 7 % 5": lambda k: (k * 3 + 1) // 7 % 5,
    "k[i] - k[i]//2*2": lambda k: k % 2,
    "where(k[i] > 0, 1000003 % k[i] % 7, 1)": lambda k: 1000003 % k % 7 if k > 0 else 1,
}


def exact_beside(value, dtype, forward):
    """Whether what is computed of integers is exact though `dtype` has none as large; `forward` of x and k."""
    k = np.array([2**24 + 1, 2**30 + 7, 2049, 257, 5, 0, -3])
    expected = [VALUES[value](number) for number in k.tolist()]
    np.testing.assert_array_equal(forward(np.ones(len(k), dtype), k), expected)


def loaded_value(value, to):
    return sg.load(f"f(x[n], k[n]: int)[i] = x[i]*({value})", to=to, check=False)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("value", VALUES)
def test_remainders_are_those_of_integers(value, dtype):
    code = loaded_value(value, "numpy")
    exact_beside(value, dtype, lambda x, k: code.forward(x, k)[0])


@pytest.mark.parametrize("read", ["x[y[t]]*x[y[t+1]]", "x[y[t+1]]**2", "x[y[n-1-t]]"])
def test_what_is_asked_of_all_elements_is_asked_once(read):
    formula = f"f(x[k], y[n]: int): out = sum[t](x[y[t]]) + sum[t:n-1]({read})"
    text = sg.generate(sg.parse(formula), to="c", check=False)["f.c"]
    assert text.count("return 1;") == 2, "once in forward, once in backward"
