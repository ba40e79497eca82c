"""Kernels of Pallas, interpreted: against the oracle, around the sizes of blocks, and with mistakes in them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import symgrad as sg
from symgrad import library
from symgrad.backends.python_names import module_from
from symgrad.errors import UnsupportedError
from symgrad.pipeline import printed, verified
from symgrad.verify.cases import Case
from symgrad.verify.pallas_calls import pallas_faults

TEXTS = {
    "rows": "rows(x[n,d]): out[i,j] = exp(x[i,j]) / sum[k](exp(x[i,k]))",
    "columns": "columns(x[n,d]): out[j] = sum[i](exp(x[i,j]) / sum[k](exp(x[i,k])))",
    "picked": "picked(x[n,d], t[n]: int): out[i] = x[i,t[i]]**2",
    "total": "total(x[n]): out = sum[i](exp(x[i]))",
    "scaled": "scaled(x[n,d], w[d]): out[i,j] = tanh(x[i,j])*w[j]",
    "shorter": "shorter(x[n], y[m])[i:n] = where(i < m, y[i]**2, x[i])",
    "fourth": "fourth(x[n], y) = where(n > 3, x[3]*y, y)",
    "joined": "joined(x[n,d], y[n,e]): out[i,j] = x[i,j]; out[i,j+d] = y[i,j]",
    "pairs": "pairs(x[n,d,2], c[d]): out[i,j,0] = x[i,j,0]*c[j]; out[i,j,1] = x[i,j,1]*c[j]",
    "copied": "copied(x[n,d]): out[i,j] = x[i,j]; first[i] = x[i,0]",
}


def declared(name):
    return sg.parse(TEXTS[name]) if name in TEXTS else getattr(library, name)


pytestmark = pytest.mark.usefixtures("jax")


@pytest.mark.parametrize("name", ["layer_norm"])
def test_kernels_agree_and_lower(name):
    """Everything that a check asks: jax.vmap, half precision, lowering for TPUs and GPUs."""
    report = sg.check(declared(name), to="pallas")
    assert report.ok, report


@pytest.mark.parametrize(
    "name", ["columns", "picked", "scaled", "copied", "cross_entropy", "shorter", "fourth", "joined", "pairs"]
)
def test_kernels_agree(name, monkeypatch):
    monkeypatch.setattr("symgrad.verify.transforms.FAULTS", {})
    report = sg.check(declared(name), to="pallas")
    assert report.ok, report


SHAPES = {
    "gelu": lambda n: [(n,)],
    "rows": lambda n: [(3, n)],
    "rms_norm": lambda n: [(3, n), (n,)],
}


@pytest.mark.parametrize("name", SHAPES)
def test_sizes_around_a_block(name, rng):
    """Four elements are a block of a long row; rows are long in every other call."""
    f, given = declared(name), {"groups": 1} if name == "group_norm" else {}
    both = [sg.load(f, to=to, check=False) for to in ("pallas", "numpy")]
    for size in (0, 1, 4, 5):
        if not size and name != "gelu":
            continue  # a mean of nothing
        inputs = [rng.standard_normal(shape) for shape in SHAPES[name](size)]
        inputs += [None] * (len(sg.vjp(f).primal.inputs) - len(inputs))
        results = []
        for one in (*both, both[0]):
            out, saved = one.forward(*inputs, **given)
            results.append((out, *one.backward(saved, np.ones_like(out))))
        for result in (results[0], results[2]):
            for a, b in zip(result, results[1], strict=True):
                if b is not None:
                    np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-13, err_msg=f"{name} {size}")


REFUSED = {
    "f(x[n,k], w[k,m])[i,j] = sum[l](x[i,l]*w[l,j])": "reads each element of its arrays many times.* --to jax",
    "f(x[n]): s[0] = 0; s[i+1] = s[i] + x[i]**2; out[i] = s[i]": "are a recurrence, and pallas has no loop over time",
    "f(x[n], y[m]): out[2*i] = x[i]; out[3*j+1] = y[j]": "pallas has no kernel of rows of several kinds",
    "f(x[n], y[m]): out[i*m + j] = x[i]*y[j]": "is reduced over one axis of a row and not over another, .* --to jax",
    "f(x) = erfc(x)": "pallas has no function rint, .* --to jax",
    "f(x[n]) = prod[i](x[i])": "pallas has no prod",
}


@pytest.mark.parametrize("formula", REFUSED)
def test_what_kernels_do_not_hold_is_refused_by_name(formula):
    with pytest.raises(UnsupportedError, match=REFUSED[formula]):
        sg.generate(sg.parse(formula), to="pallas", check=False)


SECONDS = 300.0  # all points are looked at: a kernel that is interpreted takes the time of most by itself
MISTAKES = (  # in what, what stands there, and what stands there now
    ("rows", "jnp.where(mask, exp_x, 0)", "exp_x"),
    ("rows", "j = _lanes(block, turn)", "j = _lanes(block, 0)"),
    ("rows", "0, pl.cdiv(d, block[1]), walk", "1, pl.cdiv(d, block[1]), walk"),
    ("rows", "sum_exp_x * jnp.exp(max_x_before - max_x)", "sum_exp_x"),
    ("rows", "i if rows else 0", "0"),
    ("columns", "jnp.where(mask_rows, out, 0)", "out"),
    ("columns", "getattr(jnp, how)(x, axis=0)", "x[0]"),
    ("columns", "lambda i, k: (i, 0, ", "lambda i, k: (0, 0, "),
    ("total", "mask = i < n", "mask = i <= n"),
    ("picked", "[jnp.arange(n), t]", "[jnp.arange(n), 0 * t]"),
)


@pytest.mark.parametrize(("name", "before", "after"), MISTAKES)
def test_a_kernel_with_a_mistake_is_refused(name, before, after, monkeypatch):
    monkeypatch.setattr("symgrad.verify.transforms.FAULTS", {})
    f = declared(name)
    result = printed(f, "pallas")
    ((path, text),) = result.files.items()
    assert before in text
    wrong = replace(result, files={path: text.replace(before, after)})
    assert verified(f, wrong, wrong.load(), seconds=SECONDS, enough=1).failures


UNSEEN = (  # the same where interpreted kernels are right: what lowering tells, and half precision
    ("max(32 * _BLOCK // width // 8 * 8, 8)", "3", "lowered for a TPU"),
    ("jnp.exp(x - max_x)", "jnp.sinh(x - max_x) + jnp.cosh(x - max_x)", "lowered for a TPU"),
    ("pl.next_power_of_2(lanes)", "max(lanes, 1)", "lowered for a GPU"),
    ("dtype = x.dtype", "dtype = _wide(x.dtype)", "in float16, is of float32"),
)


@pytest.mark.parametrize(("before", "after", "said"), UNSEEN)
def test_what_only_devices_refuse_is_seen(before, after, said):
    f = declared("rows")
    result = printed(f, "pallas")
    ((path, text),) = result.files.items()
    assert before in text
    wrong = replace(result, files={path: text.replace(before, after)})
    found = wrong.load()
    case = Case({"x": np.linspace(-1, 1, 1500).reshape(5, 300)}, {}, {})
    assert said in str([*pallas_faults(f, found, case, None, 0)])


def test_the_gradient_of_a_gradient_is_refused_and_a_map_is_not(jax):
    ((path, text),) = sg.generate(declared("rows"), to="pallas", check=False).items()
    rows = module_from(f"twice_{path}", text).rows
    x = jax.numpy.linspace(-1, 1, 12).reshape(3, 4)
    weighted = jax.grad(lambda x: (rows(x) * x).sum())
    np.testing.assert_allclose(jax.vmap(weighted)(x[None] * 2.0)[0], jax.jit(weighted)(2 * x), rtol=1e-12)
    with pytest.raises(NotImplementedError, match=r"rows: there is no kernel for the gradient of a grad.* --to jax"):
        jax.grad(lambda x: weighted(x).sum())(x)


def test_a_row_that_a_program_does_not_hold_is_refused(jax):
    ((path, text),) = sg.generate(declared("rows"), to="pallas", check=False).items()
    module = module_from(f"long_{path}", text)
    module._platform = lambda: "tpu"
    with pytest.raises(ValueError, match=r"rows: a row has 70000 elements, and a program holds 65536; .* --to jax"):
        jax.eval_shape(module.rows, jax.ShapeDtypeStruct((2, 70000), "float32"))
