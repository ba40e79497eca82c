"""How printed Python reads: the line that an expert would write."""

from __future__ import annotations

import re

import pytest

import symgrad as sg
from symgrad import library

PICKED = "f(x[n,m], t[n]: int) = -mean[i](x[i, t[i]])"
PACK = "f(x[...,m], t[...]: int) = sum[...](x[..., t[...]]**2)"
SEVERAL = "f(x[n,m], t[n,k]: int)[i] = sum[j](x[i, t[i,j]])"
PLANES = "f(x[b,c,h,w], t[b,h,w]: int)[i,j,k] = x[i, t[i,j,k], j, k]"
COLUMNS = "f(x[n,m], t[k]: int)[i,j] = x[i, t[j]]"
LINES = [
    # an index beside ranges of all other axes: `gather` and `scatter_add_` of torch, which are sharded and batched
    (PICKED, "torch", "-x.gather(1, t[:, None]).squeeze(1).mean()"),
    (PICKED, "torch", "grad_x.scatter_add_(1, t[:, None], (-grad_output / n).expand((n,))[:, None])"),
    (PICKED, "numpy", "-x[np.arange(n), t].mean()"),
    (SEVERAL, "torch", "x.gather(1, t).sum(dim=1)"),
    (SEVERAL, "torch", "grad_x.scatter_add_(1, t, grad_output[:, None].expand((n, k)))"),
    (PLANES, "torch", "x.gather(1, t[:, None]).squeeze(1)"),
    (PACK, "torch", "x.gather(-1, t[..., None]).squeeze(-1)"),
    (PACK, "numpy", "np.take_along_axis(x, t[..., None], axis=-1)[..., 0]"),
    (PACK, "jax", "x[*jnp.indices(batch, sparse=True), t]"),  # jnp.take_along_axis has NaN where an index is clamped
    (COLUMNS, "torch", "x[:, t]"),
    ("multi_margin_loss", "torch", "margin - score.gather(-1, target[..., None]) + score"),
    # ranges, and what is made of them, have a name where they are read twice
    ("adaptive_avg_pool1d", "torch", "(range_w >= start_w[:, None]) & (range_w < stop_w[:, None])"),
    ("adaptive_avg_pool1d", "numpy", "(stop_w - start_w).astype(x.dtype)"),
    ("adaptive_avg_pool2d", "numpy", "((range_h[:, None] >= start_h) & (range_h[:, None] < stop_h))[:, None, :, None]"),
    ("local_response_norm", "numpy", "places = np.arange(c) + s - size // 2 mask = (places >= 0) & (places < c)"),
    ("trace", "torch", "grad_a[..., range_n, range_n] = grad_output[..., None]"),
    # no guard of what divides on every path, or is at least 1, and no condition on an option that is a factor
    ("nll_loss", "numpy", "- sum_loss * grad_output / sum_own**2"),
    # one argument is not several, and torch's are tensors
    ("softmax", "numpy", "x is a floating-point array (..., n). TypeError"),
    ("softmax", "torch", "x is a floating-point tensor (..., n). TypeError"),
    ("softmax", "torch", "Return the input as a tensor;"),
    ("linear", "torch", "The arguments are floating-point tensors: x (n, k),"),
    ("f(x) = sqrt(x) for x > 0", "jax", "x is a floating-point array (...,). It is declared for x > 0."),
    # a type is checked without a function that does nothing else
    ("relu", "numpy", 'x = _real("x", x) out'),
    ("relu", "torch", 'x = _real("x", x) with'),
    ("f(x) = 2*x", "jax", 'x = _real("x", x) return'),
    # the elements of a whole array
    ("mse_loss", "numpy", "grad_difference = 2 * grad_output / prediction.size * (prediction - target)"),
    ("mse_loss", "jax", "2 * grad_output / prediction.size * (prediction - target)"),
    ("mse_loss", "torch", "2 * grad_output / prediction.numel() * (prediction - target)"),
    # what a logsumexp is shifted by does not move it
    ("logsumexp", "jax", "max_x = jax.lax.stop_gradient(x.max(axis=-1, initial=-jnp.inf))"),
    # a sigmoid that is read in a power and beside it has a name
    ("focal_loss", "numpy", "sigmoid_neg_x**gamma * (sigmoid_neg_x + gamma * softplus_neg_x * (1 - sigmoid_neg_x))"),
    ("focal_loss", "torch", "sigmoid_neg_x**gamma * (sigmoid_neg_x + gamma * softplus_neg_x * (1 - sigmoid_neg_x))"),
]


@pytest.mark.parametrize(("name", "to", "line"), LINES, ids=[f"{name}-{to}-{line}" for name, to, line in LINES])
def test_reads_as_an_expert_writes_it(name, to, line):
    function = sg.parse(name) if "(" in name else getattr(library, name)
    (text,) = sg.generate(function, to=to, check=False).values()
    on_one_line = re.sub(r"\s+", " ", text).replace("( ", "(").replace(", )", ")").replace(" )", ")")
    assert line in on_one_line


def test_what_a_loop_writes_between_two_reads_has_no_name():
    """A part of a turn that reads what is written there is another one behind that."""
    text = "f(x[n]): h[0] = x[0]; h[t+1] = where(x[t] > 0, where(h[t] > 1, h[t], 0)*where(h[t] > 1, h[t], 0), h[t])"
    assert sg.check(sg.parse(f"{text}; out = h[n]"), to="numpy").ok


ASKED = [
    ("softmax", False),  # one input: torch calls no backward whose only gradient nobody needs
    ("embedding", False),  # an integer has no gradient
    ("f(x[n], i[m]: int)[j] = x[i[j]]", False),
    ("linear", True),
    ("quaternion_multiply", True),
]


@pytest.mark.parametrize(("name", "asks"), ASKED, ids=[name for name, _ in ASKED])
def test_torch_asks_which_gradients_are_needed_only_where_there_are_several(name, asks):
    function = sg.parse(name) if "(" in name else getattr(library, name)
    (text,) = sg.generate(function, to="torch", check=False).values()
    assert ("ctx.needs_input_grad" in text) == asks
