"""The C function that multiplies matrices, at the edges of its panels, for each kind of vectors it has."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from mathematics import COMPILER

import symgrad as sg
from symgrad.pipeline import printed, verified

pytestmark = pytest.mark.skipif(COMPILER is None, reason="no C compiler")

PRODUCTS = {  # of x and w, as einsum has it
    "f(x[n,k], w[k,m])[i,j] = sum[l](x[i,l]*w[l,j])": "il,lj->ij",
    "f(x[n,k], w[m,k])[i,j] = sum[l](x[i,l]*w[j,l])": "il,jl->ij",
    "f(x[k,n], w[k,m])[i,j] = sum[l](x[l,i]*w[l,j])": "li,lj->ij",
    "f(x[n,k], w[k,m])[j,i] = sum[l](x[i,l]*w[l,j])": "il,lj->ji",
    "f(x[p,n,k], w[p,k,m])[i,j] = sum[q,l](x[q,i,l]*w[q,l,j])": "qil,qlj->ij",
}
SIZES = (  # rows, columns, terms
    *((0, 3, 2), (3, 0, 2), (3, 2, 0), (1, 1, 1), (3, 17, 5), (4, 16, 384), (7, 33, 385)),
    *((8, 8, 8), (9, 15, 2), (17, 4, 800), (2, 5, 400), (300, 20, 257)),
)
MEAN = "f(x[n,k], w[k,m])[i,j] = mean[l](x[i,l]*w[l,j])"
VECTORS = {"of 16 bytes": "", "of 32 bytes": "-mavx2 -mfma", "of 64 bytes": "-mavx512f -mfma", "none": ""}


def _has(flags):
    path = Path("/proc/cpuinfo")
    known = path.read_text().split() if path.exists() else []
    return all(flag.removeprefix("-m") in known for flag in flags.split())


KINDS = [kind for kind in VECTORS if _has(VECTORS[kind])]  # that can be run here


@cache
def loaded(text, kind, dtype):
    result = printed(sg.parse(text), "c", {"dtype": dtype})
    files = {name: t.replace("__GNUC__", "OTHERS") if kind == "none" else t for name, t in result.files.items()}
    return replace(result, files=files).load()


@pytest.mark.parametrize("dtype", ["double", "float"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("text", PRODUCTS, ids=PRODUCTS.values())
def test_products(text, kind, dtype, monkeypatch):
    monkeypatch.setenv("CC", f"{COMPILER} {VECTORS[kind]}")
    code, rng = loaded(text, kind, dtype), np.random.default_rng(1)
    real = np.dtype(np.float32 if dtype == "float" else np.float64)
    of_x, of_w = PRODUCTS[text].split("->")[0].split(",")
    for rows, columns, terms in SIZES:
        extents = {"i": rows, "j": columns, "l": terms, "q": 3}
        x, w = (rng.standard_normal([extents[i] for i in of]).astype(real) for of in (of_x, of_w))
        out, saved = code.forward(x, w)
        v = rng.standard_normal(out.shape).astype(real)
        of_v = PRODUCTS[text].split("->")[1]
        wanted = (
            np.einsum(PRODUCTS[text], x, w),
            np.einsum(f"{of_v},{of_w}->{of_x}", v, w),
            np.einsum(f"{of_v},{of_x}->{of_w}", v, x),
        )
        for found, right in zip((out, *code.backward(saved, v)), wanted, strict=True):
            np.testing.assert_allclose(found, right, rtol=0, atol=40 * np.sqrt(3 * terms + 1) * np.finfo(real).eps)


@pytest.mark.parametrize("rows", [2, 5])
def test_a_mean_of_nothing_is_no_number(rows):
    out, _ = sg.load(sg.parse(MEAN), to="c", check=False).forward(np.zeros((rows, 0)), np.zeros((0, 6)))
    assert np.isnan(out).all()


MISTAKES = {
    "a panel too few": ("q0 += DEPTH", "q0 += DEPTH + 1"),
    "the first terms of each panel": ("+ q0 * left_term", ""),
    "a block of rows": ("first += BLOCK", "first += BLOCK + 1"),
    "the last row": ("i0 + r < rows ? i0 + r : rows - 1", "0"),
    "what lies beyond the columns": ("j < width ?", "1 ?"),
    "the other stride": ("to[j * element_column]", "to[j]"),
}


OF_GROUPS = {
    "the first group again": ("group * right_group", "first_group * right_group"),
    "the last of each group": ("term + 1 < terms", "term + 2 < terms"),
    "what lies beyond": ("j < width ?", "1 ?"),
}


@pytest.mark.parametrize(
    "text, mistake",
    [
        *((next(iter(PRODUCTS)), mistake) for mistake in MISTAKES.values()),
        *((list(PRODUCTS)[-1], mistake) for mistake in OF_GROUPS.values()),
    ],
    ids=[*MISTAKES, *OF_GROUPS],
)
@pytest.mark.in_turn
def test_a_mistake_in_it_is_found(text, mistake):
    function = sg.parse(text)
    result = printed(function, "c")
    files = {name: text.replace(*mistake) for name, text in result.files.items()}
    assert files != result.files
    wrong = replace(result, files=files)
    report = verified(function, wrong, wrong.load())
    assert {failure.stage for failure in report.failures} & {"products", "float64"}, report
