"""What a framework does with a printed function is part of the check: each mistake here leaves every value as it is.

A row is (function, what stands in the file, what the mutant has instead, a part of what the check says).
"""

from __future__ import annotations

import re

import pytest

import symgrad as sg
from symgrad import library
from symgrad.pipeline import printed, verified
from symgrad.records import replace

TEXTS = {
    "two": "two(x[n], y[n]) -> s, p: s = sum[i](x[i]*y[i]); p[i] = x[i]*y[i]",
    "plain": """plain(logits[n,c], target[n]: int):
        scores[i] = log(sum[j](exp(logits[i,j]))); out = mean[i](scores[i] - logits[i,target[i]])""",
}
TORCH = (
    ("gelu", r"\(x,\) = ctx.saved_tensors", "(x,) = (t.detach() for t in ctx.saved_tensors)", "by its own gradient"),
    ("softmax", r"return grad_x\n", "return grad_x.detach()\n", "torch sees no graph of it"),
    ("layer_norm", r" +if torch.is_grad_enabled\(\):\n.*\n.*\n", "", "by its own gradient"),
    ("softmax", "generate_vmap_rule = True", "generate_vmap_rule = False", "torch.vmap"),
    ("plain", r" +\+ zero\n", "", "torch.func.vjp"),
    ("cross_entropy", "except RuntimeError", "except KeyError", "torch.vmap"),
    ("linear_mse", r"with _no_autocast\(x\):", "if True:", "torch.autocast"),
    ("linear_mse", r"with _no_autocast\(grad_output\):", "if True:", "torch.autocast"),
    (
        "attention",
        r"( +)with _no_autocast\(grad_output\):\n    ( +if torch.is_grad_enabled\(\):\n) +#.*\n    ( +_, weights.*\n)",
        r"\2\3\1with _no_autocast(grad_output):\n",
        "in a backward under torch.autocast",
    ),
    ("layer_norm", r"( +)return out\.to\(dtype\)", r"\1return out", "in half precision"),
    ("attention", r"weights\.to\(dtype\) @", "weights @", "a call in half precision raises"),
    ("squares", r"(?m)^    .* = _promoted\(.*\)\n", "", "torch.float32"),
    ("layer_norm", r" +if grad_output is None:\n.*\n", "", "nothing is made"),
    ("two", r"( +)(ctx.save_for_backward)", r"\1ctx.set_materialize_grads(False)\n\1\2", "nothing is made"),
    ("cross_entropy", r"return value.long\(\)", "return value", "integers of another type"),
    ("diagonal", r"device=x.device", 'device="cpu"', "arrays of two devices"),
    ("trace", r"device=grad_output.device", 'device="cpu"', "arrays of two devices"),
    ("softmax", r'"cpu" if tensor.is_meta else ', "", "device meta"),
    ("cross_entropy", r'places.device.type == "cpu" and ', "", "are looked at, where the inputs are on another device"),
    ("cross_entropy", r" and not torch.compiler.is_compiling\(\)", "", "while torch compiles"),
    ("layer_norm", r"\.reshape\(", ".view(", "transposed"),
    ("gelu", "0.044715", "0.04471500000000001", "of the same plan"),
    ("softmax", r"if x.ndim < 1", "if False", "of shape ()"),
    ("linear", r"if not value.is_floating_point\(\)", "if False", "of int64"),
)
JAX = (
    ("gelu", r"\(x,\) = saved", "(x,) = jax.lax.stop_gradient(saved)", "by its own gradient"),
    ("two", r"(?m)^    .* = _promoted\(.*\)\n", "", "float32"),
    ("embedding", r"isinstance\(subscripts, jax.core.Tracer\) or ", "", "integers included"),
    ("gelu", "0.044715", "0.04471500000000001", "of the same plan"),
    ("softmax", r"if not jnp.issubdtype.*:", "if False:", "of int64"),
)
TORCH_C = (
    ("layer_norm", r"\(None,\) \* 4", "(None,)", "nothing is made"),
    ("linear", r"(?m)^    .* = _promoted\(.*\)\n", "", "torch.float32"),
)


def said(name, to, pattern, replacement):
    """What the check says of a printed file in which the text is changed."""
    declared = sg.parse(TEXTS[name]) if name in TEXTS else getattr(library, name)
    result = printed(declared, to)
    path = next(p for p in result.files if p.endswith(".py"))
    text = re.sub(pattern, replacement, result.files[path])
    assert text != result.files[path]
    changed = replace(result, files={**result.files, path: text})
    return str(verified(declared, changed, changed.load()))


@pytest.mark.parametrize("row", TORCH, ids=lambda r: f"{r[0]}-{r[1][:30]}")
def test_torch(row, torch):
    name, pattern, replacement, told = row
    assert told in said(name, "torch", pattern, replacement)


@pytest.mark.parametrize("row", JAX, ids=lambda r: f"{r[0]}-{r[1][:30]}")
def test_jax(row, jax):
    name, pattern, replacement, told = row
    assert told in said(name, "jax", pattern, replacement)


@pytest.mark.parametrize("row", TORCH_C, ids=lambda r: f"{r[0]}-{r[1][:30]}")
def test_torch_over_c(row, torch):
    name, pattern, replacement, told = row
    assert told in said(name, "torch_c", pattern, replacement)
