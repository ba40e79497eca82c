"""Static options of the library are those of torch: each row is a function of torch with its keywords, and ours."""

from __future__ import annotations

import pytest

import symgrad as sg
from symgrad import library
from symgrad.errors import DeclarationError

SOME = "nn.functional."
ROWS = (  # a function of the library, what is fixed, the shapes of its inputs, torch's function, its keywords
    ("mse_loss", {"reduction": "none"}, [(2, 3), (2, 3)], SOME + "mse_loss", {"reduction": "none"}),
    ("huber_loss", {"reduction": "sum"}, [(5,), (5,)], SOME + "huber_loss", {"reduction": "sum"}),
    ("kl_div", {"log_target": True}, [(2, 3), (2, 3)], SOME + "kl_div", {"log_target": True, "reduction": "batchmean"}),
    (
        "triplet_margin_loss",
        {"swap": True, "p": 3.0},
        [(4, 3)] * 3,
        SOME + "triplet_margin_loss",
        {"swap": True, "p": 3.0},
    ),
    ("cosine_similarity", {"axis": -2}, [(2, 3, 4)] * 2, SOME + "cosine_similarity", {"dim": -2}),
    ("softmax", {"axis": -3}, [(2, 3, 4, 5)], "softmax", {"dim": 1}),
    ("log_softmax", {"axis": -2}, [(3, 4)], "log_softmax", {"dim": 0}),
    ("logsumexp", {"axis": (-1, -3), "keepdims": True}, [(2, 3, 4)], "logsumexp", {"dim": (0, 2), "keepdim": True}),
    ("mean", {"axis": None}, [(2, 3)], "mean", {}),
    ("var", {"axis": -2, "correction": 1.5}, [(5, 3)], "var", {"dim": 0, "correction": 1.5}),
    ("std", {"axis": (-2, -1), "keepdims": True}, [(5, 3)], "std", {"dim": (0, 1), "keepdim": True}),
    ("vector_norm", {"order": 3.5, "axis": -2}, [(3, 4)], "linalg.vector_norm", {"ord": 3.5, "dim": 0}),
    (
        "matrix_norm",
        {"order": "nuc", "keepdims": True},
        [(2, 3, 4)],
        "linalg.matrix_norm",
        {"ord": "nuc", "keepdim": True},
    ),
    ("diff", {"n": 2, "axis": -2}, [(5, 3)], "diff", {"n": 2, "dim": 0}),
    ("cumsum", {"before": 1, "behind": 1}, [(2, 3, 4)], "cumsum", {"dim": 1}),
    ("sort", {"axis": -2, "descending": True}, [(4, 3)], "sort", {"dim": 0, "descending": True}),
    ("flip", {"axis": (-1, -2)}, [(2, 3, 4)], "flip", {"dims": (1, 2)}),
    ("diagonal", {"offset": -1}, [(2, 4, 3)], "diagonal", {"offset": -1, "dim1": -2, "dim2": -1}),
    ("linear", {"batch": 3}, [(2, 3, 1, 4), (5, 4), (5,)], SOME + "linear", {}),
    ("conv1d", {"batch": 0, "padding": "same"}, [(2, 7), (3, 2, 3)], SOME + "conv1d", {"padding": "same"}),
    (
        "conv2d",
        {"groups": 2, "stride": (2, 1), "padding": (0, 2)},
        [(2, 4, 6, 5), (6, 2, 3, 2), (6,)],
        SOME + "conv2d",
        {"groups": 2, "stride": (2, 1), "padding": (0, 2)},
    ),
    (
        "conv_transpose2d",
        {"stride": (2, 3)},
        [(1, 2, 3, 3), (2, 3, 2, 2)],
        SOME + "conv_transpose2d",
        {"stride": (2, 3)},
    ),
    (
        "max_pool2d",
        {"size": (3, 2), "stride": 2, "padding": (1, 0), "dilation": 2, "ceil_mode": True},
        [(1, 2, 7, 6)],
        SOME + "max_pool2d",
        {"kernel_size": (3, 2), "stride": 2, "padding": (1, 0), "dilation": 2, "ceil_mode": True},
    ),
    (
        "avg_pool1d",
        {"size": 3, "padding": 1, "ceil_mode": True, "count_padding": False},
        [(1, 2, 8)],
        SOME + "avg_pool1d",
        {"kernel_size": 3, "stride": 2, "padding": 1, "ceil_mode": True, "count_include_pad": False},
    ),
    (
        "pad_reflect",
        {"axes": 2, "left": (1, 2), "right": 0},
        [(1, 2, 4, 5)],
        SOME + "pad",
        {"pad": (2, 0, 1, 0), "mode": "reflect"},
    ),
    ("pad_constant", {"axes": 2, "left": (-1, 2), "right": 1}, [(4, 5)], SOME + "pad", {"pad": (2, 1, -1, 1)}),
)


@pytest.mark.parametrize(("name", "fixed", "shapes", "theirs", "keywords"), ROWS, ids=[f"{r[0]}-{r[1]}" for r in ROWS])
def test_options_mean_what_torch_means(name, fixed, shapes, theirs, keywords, torch):
    generator = torch.Generator().manual_seed(0)
    inputs = [torch.rand(shape, dtype=torch.float64, generator=generator) for shape in shapes]
    other = torch
    for part in theirs.split("."):
        other = getattr(other, part)
    ours = getattr(sg.load(getattr(library, name), to="torch", check=False, **fixed).module, name)
    found = []
    for function, options in ((ours, {}), (other, keywords)):
        moving = [x.clone().requires_grad_() for x in inputs]
        out = function(*moving, **options)
        out = out[0] if isinstance(out, tuple) else out
        weights = torch.linspace(0.5, 1.5, out.numel(), dtype=out.dtype).reshape(out.shape)
        found.append((out.detach(), *torch.autograd.grad((out * weights).sum(), moving)))
    for a, b in zip(*found, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-12)


REFUSED = (
    (library.mse_loss, {"reduction": "average"}, "reduction='average': it is 'none', 'mean' or 'sum'"),
    (library.conv2d, {"stride": (1, 2, 3)}, r"\(1, 2, 3\) are 3 numbers for 2 axes"),
    (library.batch_norm, {"places": -1}, "a static option places says how many, not -1"),
)


@pytest.mark.parametrize(("declared", "fixed", "said"), REFUSED)
def test_options_that_are_none_are_refused(declared, fixed, said):
    with pytest.raises(DeclarationError, match=said):
        sg.generate(declared, **fixed, check=False)
