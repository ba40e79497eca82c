"""Whole networks: the published numbers in both targets, and the check of small ones."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from mathematics import both
from numpy.testing import assert_allclose

import symgrad as sg
from symgrad.library.networks import causal_self_attention, gpt2_block, lenet

pytestmark = pytest.mark.long

NUMBERS = json.loads((Path(__file__).parent / "data" / "networks.json").read_text())


TINY = """x[n,1,10,10], conv1_weight[2,1,3,3], conv1_bias[2], conv2_weight[3,2,3,3], conv2_bias[3], fc1_weight[5,3],
    fc1_bias[5], fc2_weight[4,5], fc2_bias[4], fc3_weight[3,4], fc3_bias[3]"""
lenet_tiny = sg.function(TINY)(lenet.__wrapped__)  # the same layers, at sizes at which everything can be checked
NETWORKS = {"lenet": lenet, "lenet_tiny": lenet_tiny}
CHECKED = {"lenet_tiny": lenet_tiny, "causal_self_attention": causal_self_attention, "gpt2_block": gpt2_block}


def filled(how):
    """The numbers that seed_numbers.json gives by a formula: scale * sin(0.7 (i + 1) + k)."""
    count = int(np.prod(how["shape"]))
    return (how["scale"] * np.sin(0.7 * (np.arange(count) + 1) + how["k"])).reshape(how["shape"])


def close(found, expected):
    assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@both
@pytest.mark.parametrize("name", NETWORKS)
def test_published_numbers(name, to):
    case = NUMBERS[name]
    code = sg.load(NETWORKS[name], to=to, check=False)
    inputs = {key: filled(how) for key, how in case["fill"].items() if key not in ("grad_output", "mse_target")}
    out, saved = code.forward(*inputs.values())
    close(out, case["output"])
    target = filled(case["fill"]["mse_target"])
    close(((out - target) ** 2).mean(), case["mse_loss"])
    softmax = np.exp(out - out.max()) / np.exp(out - out.max()).sum()
    close(-np.log(softmax[0, case["cross_entropy_class"]]), case["cross_entropy"])
    cotangents = {
        "vjp": filled(case["fill"]["grad_output"]),
        "mse_grad": 2 * (out - target) / out.size,
        "ce_grad": softmax - np.eye(out.shape[1])[[case["cross_entropy_class"]]],
    }
    for kind, grad_output in cotangents.items():
        gradients = dict(zip(inputs, code.backward(saved, grad_output), strict=True))
        for key, told in case[kind].items():
            grad = gradients[key]
            assert list(grad.shape) == told["shape"]
            close(grad.sum(), told["sum"])
            close(np.abs(grad).sum(), told["abs_sum"])
            close(np.sqrt((grad**2).sum()), told["l2"])
            close([grad.flat[0], grad.flat[-1]], [told["first"], told["last"]])
        if kind == "vjp":
            for key, exact in case["exact"].items():
                close(gradients[key], exact)


@both
@pytest.mark.parametrize("name", CHECKED)
@pytest.mark.in_turn
def test_is_correct(name, to):
    report = sg.check(CHECKED[name], to=to)
    assert report.ok, report


@both
def test_a_batch_is_its_elements(to):
    rng = np.random.default_rng(0)
    code = sg.load(lenet, to=to, check=False)
    x, *weights = (rng.standard_normal([3 if hasattr(e, "name") else int(e.value) for e in t.shape]) / 9
                   for t in map(lenet.function.table.get, lenet.function.inputs))  # fmt: skip
    grad_output = rng.standard_normal((3, 10))
    out, saved = code.forward(x, *weights)
    grads = code.backward(saved, grad_output)
    alone = [code.forward(x[k : k + 1], *weights) for k in range(3)]
    close(out, np.concatenate([o for o, _ in alone]))
    each = [code.backward(s, grad_output[k : k + 1]) for k, (_, s) in enumerate(alone)]
    close(grads[0], np.concatenate([g[0] for g in each]))
    for k in range(1, 11):
        close(grads[k], sum(g[k] for g in each))


def test_the_header_tells_what_is_kept():
    """c1, s2, c3, s4, f5 and f6 of one image, eight bytes each."""
    text = sg.generate(lenet, check=False)["lenet_numpy.py"]
    count = 6 * 28 * 28 + 6 * 14 * 14 + 16 * 10 * 10 + 16 * 5 * 5 + 120 + 84
    assert f"\n    {8 * count} bytes for each of n, besides inputs and outputs\n" in text
    assert "\n    c3            (n, 16, 10, 10)  for " in text


def test_layers_stay_apart():
    """A value of a layer is computed once: no product of matrices is written into another."""
    text = sg.generate(lenet, check=False)["lenet_numpy.py"]
    assert "    f5 = np.maximum(flat @ fc1_weight.T + fc1_bias, 0)\n" in text
    second = r"np.where\(f6 > 0, grad_output @ fc3_weight, 0\)"
    assert re.search(rf" (\w+) = {second}\n.*\n +\w+ = np.where\(f5 > 0, \1 @ fc2", text)
    assert "np.add.at" not in text
