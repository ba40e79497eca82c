"""C that threads share: which loops, that the check sees where they may not, and that no result depends on how many."""

from __future__ import annotations

import re
import subprocess
from functools import cache

import numpy as np
import pytest
from mathematics import COMPILER

import symgrad as sg
from symgrad import library
from symgrad.backends.c_compile import find_compiler
from symgrad.derivatives import as_function
from symgrad.pipeline import printed
from symgrad.verify import check

needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no C compiler")

TURNS, VECTORS = "parallel for", "parallel for simd"
PARTS = "parallel for, simd"
ROWS = "parallel, for simd schedule(static) nowait"
LOOPS = {  # what stands before the loops of forward, and of backward
    "f(x[n])[i] = exp(x[i])": (VECTORS, VECTORS),
    "f(x, y) = exp(x)*y": (VECTORS, VECTORS),
    "f(x, y) = x**y": (TURNS, TURNS),
    "f(x[n,m])[i,j] = x[i,j] / sum[k](x[i,k])": (f"{TURNS}, simd", f"{TURNS}, simd"),
    "f(x[n]) = sum[i](x[i]**2)": (PARTS, VECTORS),
    "f(x[n]) = sum[i](x[i]**2), sum[i](x[i])": (PARTS, VECTORS),
    "f(x[n,m]) = sum[i,j](x[i,j]**2)": (PARTS, TURNS),
    "f(x[n,m])[j] = sum[i](x[i,j]**2)": (f"{VECTORS}, {ROWS}", TURNS),
    "f(x[n], t[m,d], at[n]: int)[i,j] = t[at[i], j]*x[i]": (TURNS, f"{TURNS}, simd, {VECTORS}, {ROWS}"),
    "f(x[n]) = max[i](x[i])": ("simd", f"{PARTS}, {VECTORS}"),
    "f(A[3,3])[i] = sum[j](A[i,j])": ("", ""),
}


def pragmas(text):
    """The pragmas of a text, without their conditions and sums."""
    said = re.findall(r"#pragma omp ([^\n]*)", text.replace("\\\n", " "))
    return ", ".join(re.sub(r" (if|reduction) ?\(.*", "", " ".join(s.split())) for s in said)


@pytest.mark.parametrize("formula", LOOPS)
def test_loops(formula):
    text = sg.generate(sg.parse(formula), to="c", openmp=True, check=False)["f.c"]
    batch = "_batch" * ("f_forward_batch" in text)
    forward = text.split(f"f_forward{batch}(")[1].split("\n}\n")[0]
    backward = text.split(f"f_backward{batch}(")[1].split("\n}\n")[0]
    assert (pragmas(forward), pragmas(backward)) == LOOPS[formula]


def test_a_workspace_is_that_of_each_turn():
    files = sg.generate(library.causal_attention, to="c", openmp=True, check=False)
    serial = sg.generate(library.causal_attention, to="c", check=False)
    assert "CAUSAL_ATTENTION_FORWARD_WORK(m) ((m))" in serial["causal_attention.h"]
    assert "CAUSAL_ATTENTION_FORWARD_WORK(batch, m) ((batch) * (m))" in files["causal_attention.h"]
    forward = files["causal_attention.c"].split("causal_attention_forward(")[1].split("\n}\n")[0]
    assert pragmas(forward).startswith(TURNS)


def test_without_the_option_the_text_has_no_threads():
    files = sg.generate(library.layer_norm, to="c", check=False)
    assert files == sg.generate(library.layer_norm, to="c", openmp=False, check=False)
    assert "parallel" not in files["layer_norm.c"]


SOME = (
    "gelu layer_norm linear mse_loss cross_entropy attention softmax cumsum embedding max_pool1d two_link_arm".split()
)


@needs_compiler
@pytest.mark.parametrize("name", SOME)
@pytest.mark.in_turn
def test_the_check_finds_nothing(name):
    report = sg.check(getattr(library, name), to="c", openmp=True)
    assert report.ok, str(report)


@needs_compiler
@pytest.mark.parametrize("flags", ["-O2", "-O2 -fopenmp", "-O3 -march=native -fopenmp"])
@pytest.mark.parametrize("name", ["layer_norm", "linear", "cross_entropy", "two_link_arm"])
def test_it_compiles_without_a_warning(name, flags, tmp_path):
    for file, text in sg.generate(getattr(library, name), to="c", openmp=True, check=False).items():
        (tmp_path / file).write_text(text)
    strict = "-std=c99 -pedantic -Wall -Wextra -Wconversion -Wshadow -Werror".split()
    line = [*find_compiler(name), *strict, *flags.split(), "-c", f"{name}.c", "-o", "out.o"]
    subprocess.run(line, cwd=tmp_path, check=True)


# what the check sees, though the results are right in most runs

RACES = {
    "turns that add to the same": (
        "f(x[n,m])[j] = sum[i](x[i,j]**2)", r"#pragma omp parallel if \(n \* m", "#pragma omp parallel for if (n * m",
    ),
    "turns that read what another writes": (
        "f(x[n]): s[0] = x[0]; s[t+1] = s[t]*x[t+1]; out[t] = s[t]",
        r"( *for \(size_t t = 0; t < size_t_2)", r"    #pragma omp parallel for if (n >= 1)\n\1",
    ),
    "a number of all threads": (
        "f(x[n]) = sum[i](x[i]**2)", r"out_?\w*_part \+=|total_part \+=", "total +=",
    ),
    "a workspace of all threads": ("causal_attention", r"exp_seen\[b \* m \+ ", "exp_seen["),
    "all threads write": (
        "f(x[n,m])[j] = sum[i](x[i,j]**2)", r" *#pragma omp for simd schedule\(static\) nowait\n", "",
    ),
    "shares that differ from turn to turn": (
        "f(x[n,m])[j] = sum[i](x[i,j]**2)", r"(nowait\n *for \(size_t j = 0; j <) m;", r"\1 m - (i < m ? i : 0);",
    ),
    "another directive": (
        "f(x[n])[i] = exp(x[i])", r"parallel for simd if \(parallel:", "parallel for simd collapse(1) if (parallel:",
    ),
}  # fmt: skip


@needs_compiler
@pytest.mark.parametrize("race", RACES)
def test_the_check_sees_a_race(race):
    formula, old, new = RACES[race]
    function = as_function(sg.parse(formula) if "(" in formula else getattr(library, formula))
    result = printed(function, "c", {"openmp": True})
    file = f"{function.name}.c"
    changed = {**result.files, file: re.sub(old, new, result.files[file])}
    assert changed != result.files
    report = check(function, changed, "c", result.load(), heads=result.backend.heads(result.program))
    assert not report.ok
    assert any("thread" in f.said or "omp" in f.said for f in report.failures), str(report)


# the same bits, however many threads there are

RNG = np.random.default_rng(5)
CALLS = {
    "gelu": [(40_000,)],
    "layer_norm": [(301, 67), (67,), (67,)],
    "linear": [(130, 64), (70, 64), (70,)],
    "mse_loss": [(307, 41), (307, 41)],
    "attention": [(6, 40, 16), (6, 48, 16), (6, 48, 24)],
    "two_link_arm": [(20_000,), (20_000,)],
    "rms_norm": [(301, 67), (67,)],
}


@cache
def loaded(name, openmp):
    """Without fused multiply-adds: a compiler has them in vectors, and others in the turns that are left over."""
    return printed(getattr(library, name), "c", {"openmp": openmp}).load()


@needs_compiler
@pytest.mark.parametrize("name", CALLS)
def test_bits_do_not_depend_on_the_number_of_threads(name):
    inputs = [RNG.standard_normal(shape) for shape in CALLS[name]]
    code = loaded(name, True)
    found = []
    for threads in (1, 2, 3, 5):
        code._backward._library.functions.omp_set_num_threads(threads)
        found.append(results(code, inputs))
    code._backward._library.functions.omp_set_num_threads(2)
    for others in found[1:]:
        for a, b in zip(found[0], others, strict=True):
            np.testing.assert_array_equal(a, b)
    for a, b in zip(found[0], results(loaded(name, False), inputs), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)


def results(code, inputs):
    out, saved = code.forward(*inputs)
    outputs = out if isinstance(out, tuple) else (out,)
    seeds = tuple(np.cos(np.arange(np.size(o))).reshape(np.shape(o)) for o in outputs)
    return [*outputs, *(g for g in code.backward(saved, seeds if len(outputs) > 1 else seeds[0]) if g is not None)]


@needs_compiler
def test_it_is_loaded_and_checked_with_threads():
    code = sg.load(library.softmax, to="c", openmp=True)
    assert code.threads
    np.testing.assert_allclose(code.forward(np.zeros((2000, 20)))[0], 0.05)


def test_the_command_says_it():
    text = sg.generate(library.gelu, to="c", openmp=True, check=False)["gelu.c"]
    assert "symgrad generate symgrad.library.activations:gelu --to c --openmp\n" in text
