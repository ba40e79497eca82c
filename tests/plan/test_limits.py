"""Conditions on places are limits of loops: no innermost loop tests them, and the loops visit the same points."""

from __future__ import annotations

import numpy as np
import pytest

import symgrad as sg
from symgrad import library
from symgrad.backends.c_expressions import language
from symgrad.derivatives import derive
from symgrad.expr import Apply, indices, postorder, refs, show
from symgrad.plan import plan
from symgrad.plan.loops import If, Local, Loop, Note, expressions, flatten, nests, walk

LIMITED = """conv1d conv2d conv3d depthwise_conv2d avg_pool1d avg_pool2d avg_pool3d max_pool1d max_pool2d max_pool3d
    local_response_norm tril triu cumsum cumprod logcumsumexp n_link_arm ctc_loss causal_attention
    exponential_moving_average pad_replicate causal_mask coulomb_energy""".split()


@pytest.mark.parametrize("name", LIMITED)
def test_no_innermost_loop_tests_a_place(name):
    flat = flatten(plan(derive(getattr(library, name)), "c", "loops"))
    for nest in nests(flat, language):
        for loop in (n for n in walk(nest.body) if isinstance(n, Loop)):
            inside = list(walk(loop.body))
            if any(isinstance(n, Loop) for n in inside):
                continue
            tested = [n.condition for n in inside if isinstance(n, If)]
            written = (part for n in inside for e in expressions(n) for part in postorder(e))
            tested += [n.args[0] for n in written if isinstance(n, Apply) and n.op == "select"]
            assert not [c for c in tested if indices(c) and not any(r.subscripts for r in refs(c))]


def test_a_step_of_unknown_sign_is_no_test_where_another_index_has_limits():
    """In s*i + d*r - p < h, d may be negative: i, which goes forward, has the limits, in the loop over r."""
    both = nests(flatten(plan(derive(library.conv2d), "c", "loops")), language)
    found = [{show(n.condition) for n in walk(nest.body) if isinstance(n, If)} for nest in both]
    assert found == [{"first_j < end_j"}, {"first_j < end_j", "first_i < end_i and first_j < end_j"}]


def test_long_subscripts_have_names():
    forward, _ = nests(flatten(plan(derive(library.depthwise_conv2d), "c", "loops")), language)
    names = {n.name: show(n.value) for n in walk(forward.body) if isinstance(n, Local) and n.count}
    assert names["row"] == "stride * i + r - padding"
    (note,) = (n for n in walk(forward.body) if isinstance(n, Note))
    assert "x[b, d, row, column]" in note.lines[0]
    assert note.lines[0].endswith("where 0 <= row < h, 0 <= column < w")


GUARDED = {  # what is asked before the loops over the elements, in forward and backward
    "f(r[n]): s = sum[k](r[k]**2); out[k] = where(s > 0, r[k]/sqrt(s), 0)": ["s_value > 0", "s > 0"],
    "f(x[n,m], s[n])[i,j] = where(s[i] > 0, x[i,j]**2, 0)": ["s[i] > 0", "s[i] > 0"],
    "f(x[n,m], d: int)[i,j] = where(d == 0, 0, x[i,j]**2)": ["d == 0", "d == 0"],
}


@pytest.mark.parametrize("text", GUARDED)
def test_what_does_not_change_in_a_loop_is_asked_outside(text):
    both = nests(flatten(plan(derive(sg.parse(text)), "c", "loops")), language)
    for nest, condition in zip(both, GUARDED[text], strict=True):
        for loop in (n for n in walk(nest.body) if isinstance(n, Loop)):
            written = (part for n in walk(loop.body) for e in expressions(n) for part in postorder(e))
            assert not [n for n in written if isinstance(n, Apply) and n.op == "select"]
        assert {show(n.condition) for n in walk(nest.body) if isinstance(n, If)} == {condition}


VISITED = {
    "window": "f(x[n], w[k]; s=1, p=0, d=1)[i:(n+2*p-d*(k-1)-1)//s+1] ="
    " sum[r](where(s*i+d*r-p >= 0 & s*i+d*r-p < n, x[s*i+d*r-p], 0)*w[r])",
    "triangle": "f(x[n,n])[i:n] = sum[j](where(j <= i, x[i,j], 0))",
    "band": "f(x[n,m]; b=1)[i:n] = sum[j:m](where(j - i <= b & i - j <= b, x[i,j], 0))",
    "product": "f(x[n,m])[i:n] = prod[j:m](where(j >= i, x[i,j], 1))",
    "other branch": "f(x[n,m])[i:n] = sum[j:m](where(j < i, 0, x[i,j]*x[i,j]))",
    "rows": "f(x[m], t[n]: int)[i:n-1] = sum[k:m](where(k >= t[i] & k < t[i+1], x[k], 0))",
    "not equal": "f(x[n,m])[i:n] = sum[j:m](where(j != i, x[i,j], 0))",
    "equal": "f(x[n,m])[i:n] = sum[j:m](where(j == i, x[i,j], 0))",
    "half": "f(x[n,m])[i:n] = sum[j:m](where(2*j <= i, x[i,j]**2, 0))",
    "even": "f(x[n,m])[i:n] = sum[j:m](where(j % 2 == i % 2, x[i,j], 0))",
    "triangle that is kept": "f(x[n,m])[i,j] = where(j <= i, x[i,j]**2, 0)",
    "three stretches": "f(x[n]; p=1)[i:n+2*p] = where(i < p, x[0]*0, where(i >= n + p, i - n, x[i-p]**2))",
    "clamped": "f(x[n,m]; p=1)[i,j:m] = x[i,minimum(maximum(j - p, 0), m - 1)]**2",
    "one place": "f(x[n,m])[i,j] = where(j == i, x[i,j], 2)*x[i,j]",
    "first turn": "f(x[n,m]): s[i,j] = where(i > 0, s[i-1,j], 1)*x[i,j]; out[i] = sum[j](s[i,j])",
    "both ends": "f(x[n])[i] = where(i > 0, x[i-1], 0)*x[i] + where(i < n - 1, x[i+1]**2, 0)",
    "zeros that nobody reads": "f(x[n,n], w[n]): t[i,j] = where(j < i, x[i,j]**2, 0); out[i] = sum[j](t[i,j]*w[j])",
    "zeros in a chain": "f(x[n,n], w[n]): t[i,j] = where(j < i, exp(x[i,j]), 0); u[i,j] = t[i,j]*w[i];"
    " s[i] = sum[j](u[i,j]*t[i,j]); out[i] = s[i]*sum[j](u[i,j]*w[j])",
    "zeros that somebody reads": "f(x[n,n], w[n]): t[i,j] = where(j < i, exp(x[i,j]), 0);"
    " out[i] = sum[j](t[i,j]*w[j]) + sum[j](cos(t[i,j]))",
    "guard of a row": "f(x[n,m]): s[i] = sum[j](x[i,j]); out[i] = sum[j](where(s[i] > 0, x[i,j]**2, 0))",
    "a bound that is not always there": "f(x[m], t[n]: int)[i] = sum[k:m](where(i + 1 < n & k < t[i+1], x[k]**2, 0))",
    "a size that may be 0 divides": "f(x[n], z[k], y[m])[j:n] ="
    " sum[i:k](where(i*n < m, cos(z[i]*x[j]), 0)) + sum[l](y[l])",
    "its own size divides": "f(x[n])[i] = where(i*n < 5, x[i]**2, 0)",
    "a rest that is asked for": "f(x[n,m])[i,j] = where(i % (m + 1) == 0, x[i,j]**2, 0)",
    "corner": "f(x[n,m])[i:n] = -sum[j:m](where(i + j < n, x[i,j], 0)*x[i,j]*x[i,j])",
}


@pytest.mark.parametrize("name", VISITED)
def test_the_loops_visit_the_points_of_the_condition(name):
    """C, which has limits, beside NumPy, which has masks and slices; sizes of 0 and steps either way among them."""
    rng = np.random.default_rng(0)
    function = sg.parse(VISITED[name])
    codes = [sg.load(function, to=to, check=False) for to in ("c", "numpy")]
    for _ in range(40):
        sizes = dict(zip("nmk", map(int, rng.integers(0, 7, 3)), strict=True))
        options = {o.name: int(rng.integers(0 if o.name in "pb" else 1, 4)) for o in function.options}
        inputs = []
        for tensor in (function.table[n] for n in function.inputs):
            shape = tuple(sizes[axis.name] for axis in tensor.shape)
            whole = tensor.dtype == "int"
            inputs.append(np.sort(rng.integers(-2, 9, shape)) if whole else rng.normal(size=shape))
        found = []
        for code in codes:
            out, saved = code.forward(*inputs, **options)
            found.append([out, *(g for g in code.backward(saved, np.cos(out)) if g is not None)])
        for mine, theirs in zip(*found, strict=True):
            np.testing.assert_allclose(mine, theirs, atol=1e-12)


def test_a_sum_of_which_nothing_is_left_is_the_number_it_begins_with():
    below = "where(j < i, w[i,j], 0) + sum[r](where(j < i, a[i,r]*exp(b[j,r]), 0))"
    text = sg.generate(sg.parse(f"f(a[m,n], b[m,n], w[m,m])[i:m,j:m] = {below}"), to="c", check=False)["f.c"]
    assert "for (size_t j = i; j < m; ++j) {\n            out[i * m + j] = 0.0;\n" in text
