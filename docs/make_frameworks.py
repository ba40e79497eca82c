"""Print docs/frameworks.md: what torch's own examples of its operators come to in the functions of the library.

    python docs/make_frameworks.py                    # all of it, minutes
    python docs/make_frameworks.py softmax var        # these operators alone, to the terminal
    python docs/make_frameworks.py jax                # the part of JAX alone, two minutes

The examples are those of OpInfo, `torch.testing._internal.common_methods_invocations.op_db`, in float64: torch tests
its operators with them. OPERATORS says, for each of torch's operators, which declaration it is, and which of its
arguments are which inputs and options of that; jax_functions.py says it of functions of JAX. Needs torch, and
expecttest, which OpInfo imports; JAX, and optax.
"""

from __future__ import annotations

import inspect
import re
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import torch
from make_tables import table
from torch.testing._internal.common_methods_invocations import op_db

import symgrad as sg
from symgrad import library
from symgrad.errors import SymgradError

HERE = Path(__file__).parent
HEAD = """# As torch does

Made by [make_frameworks.py](make_frameworks.py), by running what it says, with torch {version}.

The inputs are torch's own examples of its operators (OpInfo), in float64. Of each, the printed torch code of a function
of the library is given the same tensors and the same options, and its outputs and gradients are compared with torch's
by `torch.testing.assert_close`. An input that torch stretches to the shape of another one is expanded before the call,
`dim` is counted from the end, and where torch draws random numbers there is nothing to compare.

{expressed:.1f} % of {total} inputs are expressed and agree: {agree} agree, {differ} differ, {cannot} cannot be
expressed.
"""
JAX_HEAD = """# As JAX does

With JAX {jax} and optax {optax}. Functions of jax.nn, jax.scipy and optax.losses, in float64, at drawn numbers and
with their options: the printed JAX code of a function of the library, or of a line of formula text, gives the same
values and gradients, to 1e-7 ([jax_functions.py](jax_functions.py) has the lines). A gradient by a symmetric matrix
is compared in its symmetric part.

{expressed:.1f} % of {total} calls of {functions} functions agree: {agree} agree, {differ} differ, {cannot} cannot be
expressed.
"""


class Cannot(Exception):
    """The library has no words for this argument."""


class Random(Exception):
    """torch draws random numbers for this argument."""


Call = tuple[str, dict[str, Any]]  # the declaration, and its inputs and options by name

MEANT = {  # what a declaration without the option does
    "axis": (-1,),
    "axes": (1,),
    "keepdims": (False,),
    "reduction": ("mean",),
    "correction": (0,),
    "ceil_mode": (False,),
    "log_target": (False,),
    "groups": (1,),
    "causal": (False,),
    "places": (0,),
    "batch": (1,),
}


@cache
def loaded(name: str, static: tuple[tuple[str, Any], ...]) -> Callable[..., Any]:
    """The function of the printed torch module."""
    return getattr(sg.load(getattr(library, name), to="torch", check=False, **dict(static)).module, name)


def run(name: str, given: Mapping[str, Any]) -> Any:
    """What the declaration gives for inputs and options by name; raises Cannot where it has no such."""
    declared = getattr(library, name, None)
    if declared is None:
        raise Cannot(name)
    signature = declared.signature
    known = {*signature.tensors, *signature.options, *signature.static}
    for key, value in given.items():
        if key not in known and value is not None and value not in MEANT.get(key, ()):
            raise Cannot(key)
    absent = {k: None for k, t in signature.tensors.items() if given.get(k) is None and not t.optional}
    tensors = [given.get(k) for k in signature.tensors if k not in absent]
    numbers = {k: v for k, v in given.items() if k in signature.options and isinstance(v, (int, float))}
    fixed = {
        k: v for k, v in given.items() if k in {*signature.static, *signature.options} and k not in numbers
    } | absent
    return loaded(name, tuple(sorted(fixed.items())))(*tensors, **numbers)


# what torch's arguments are in the library


def last(x: torch.Tensor, dim: Any) -> Any:
    """`dim` counted from the end; all axes are None."""
    if dim is None or not x.ndim or isinstance(dim, (tuple, list)) and not dim:
        return None
    if isinstance(dim, (tuple, list)):
        return last(x, dim[0]) if len(dim) == 1 else tuple(d - x.ndim if d >= 0 else d for d in dim)
    return dim - x.ndim if dim >= 0 else dim


def behind(x: torch.Tensor, dim: int) -> int:
    """How many axes stand behind `dim`."""
    if not x.ndim:
        raise Cannot("no axis")
    return x.ndim - 1 - dim % x.ndim


def reduced_axes(x: torch.Tensor, dim: Any, keepdim: bool) -> dict[str, Any]:
    """`dim` and `keepdim` of a reduction; axes that are kept are named."""
    if keepdim and x.ndim and last(x, dim) is None:
        dim = tuple(range(x.ndim))
    return {"axis": last(x, dim), "keepdims": keepdim and x.ndim > 0}


def wide(*tensors: torch.Tensor | None) -> list[Any]:
    """The tensors in the shape that they have together."""
    shape = torch.broadcast_shapes(*(t.shape for t in tensors if t is not None))
    return [None if t is None else t.expand(shape) for t in tensors]


def only(**asked: tuple[Any, ...]) -> None:
    """Raise Cannot for an argument that is none of the values that it may have: name=(value, *may)."""
    for name, (value, *may) in asked.items():
        if value not in may:
            raise Cannot(f"{name}={value!r}" if isinstance(value, (str, bool)) else name)


def elementwise(name: str) -> Callable[..., Call]:
    return lambda x: (name, {"x": x})


def reducing(name: str, **more: Any) -> Callable[..., Call]:
    """A function of one input, `dim` and `keepdim`."""
    return lambda x, dim=None, keepdim=False: (name, {"x": x, **reduced_axes(x, dim, keepdim), **more})


def along(name: str) -> Callable[..., Call]:
    """A function of one input along `dim`."""

    def call(x: Any, dim: int, dtype: Any = None) -> Call:
        return name, {"x": x, "before": x.ndim - 1 - behind(x, dim), "behind": behind(x, dim)}

    return call


def loss(name: str, first: str, *others: str) -> Callable[..., Call]:
    """A loss of tensors of one shape, and a reduction."""

    def call(x: Any, y: Any, *, reduction: str = "mean", weight: Any = None, **options: Any) -> Call:
        if weight is not None:
            x, y, weight = wide(x, y, weight)
        else:
            x, y = wide(x, y)
        return name, {first: x, others[0]: y, "weight": weight, "reduction": reduction, **options}

    return call


def softmax(name: str) -> Callable[..., Call]:
    def call(x: Any, dim: int = -1, dtype: Any = None, _stacklevel: int = 3) -> Call:
        return name, {"x": x if dtype is None else x.to(dtype), "axis": last(x, dim)}

    return call


def spread(name: str) -> Callable[..., Call]:
    """Variance and its like."""

    def call(x: Any, dim: Any = None, unbiased: Any = None, *, correction: Any = 1, keepdim: bool = False) -> Call:
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        correction = 1 if correction is None else correction
        correction = correction if unbiased is None else int(unbiased)
        return name, {"x": x, "correction": correction, **reduced_axes(x, dim, keepdim)}

    return call


def cross_entropy(
    x: Any,
    target: Any,
    weight: Any = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: Any = 0.0,
) -> Call:
    told = {"logits": x, "weight": weight, "reduction": reduction, "smoothing": label_smoothing}
    told |= {"places": max(x.ndim - 2, 0), "batch": min(x.ndim - 1, 1)}
    if target.is_floating_point():
        return "soft_cross_entropy", {**told, "p": target}
    return "cross_entropy", {**told, "target": target, "ignore_index": ignore_index}


def nll_loss(x: Any, target: Any, weight: Any = None, ignore_index: int = -100, reduction: str = "mean") -> Call:
    told = {"log_p": x, "target": target, "weight": weight, "ignore_index": ignore_index}
    return "nll_loss", {**told, "reduction": reduction, "places": max(x.ndim - 2, 0), "batch": min(x.ndim - 1, 1)}


def kl_div(log_q: Any, p: Any, reduction: str = "mean", log_target: bool = False) -> Call:
    only(batchmean=(reduction == "batchmean" and log_q.ndim != 2, False))
    return "kl_div", {"log_q": log_q, "p": p, "reduction": reduction, "log_target": log_target}


def binary_with_logits(x: Any, y: Any, weight: Any = None, reduction: str = "mean", pos_weight: Any = None) -> Call:
    _, weight, pos_weight = wide(x, weight, pos_weight)
    told = {"logits": x, "target": y, "weight": weight, "pos_weight": pos_weight, "reduction": reduction}
    return "binary_cross_entropy_with_logits", told


def gaussian_nll(x: Any, target: Any, var: Any, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> Call:
    if var.ndim and x.ndim == var.ndim + 1:
        var = var[..., None]
    x, target, var = wide(x, target, var)
    return "gaussian_nll_loss", {
        "mean": x,
        "target": target,
        "var": var,
        "full": full,
        "eps": eps,
        "reduction": reduction,
    }


def triplet(
    a: Any,
    b: Any,
    c: Any,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    reduction: str = "mean",
) -> Call:
    a, b, c = wide(a, b, c)
    told = {"anchor": a, "positive": b, "negative": c, "margin": margin}
    return "triplet_margin_loss", {**told, "p": p, "eps": eps, "swap": swap, "reduction": reduction}


def embedding_loss(x: Any, y: Any, label: Any, margin: float = 0.0, reduction: str = "mean") -> Call:
    told = {"x": x, "y": y, "label": label.to(x.dtype), "margin": margin, "reduction": reduction}
    return "cosine_embedding_loss", told


def ranking(x: Any, y: Any, label: Any, margin: float = 0.0, reduction: str = "mean") -> Call:
    x, y, label = wide(x, y, label)
    return "margin_ranking_loss", {"x": x, "y": y, "label": label, "margin": margin, "reduction": reduction}


def hinge_embedding(x: Any, label: Any, margin: float = 1.0, reduction: str = "mean") -> Call:
    told = {"distance": x, "label": label.to(x.dtype), "margin": margin, "reduction": reduction}
    return "hinge_embedding_loss", told


def multi_margin(
    x: Any, target: Any, p: int = 1, margin: float = 1.0, weight: Any = None, reduction: str = "mean"
) -> Call:
    told = {"score": x, "target": target, "margin": margin, "weight": weight, "power": p, "reduction": reduction}
    return "multi_margin_loss", told


def multilabel(x: Any, target: Any, weight: Any = None, reduction: str = "mean") -> Call:
    _, weight = wide(x, weight)
    told = {"logits": x, "target": target, "weight": weight, "reduction": reduction}
    return "multilabel_soft_margin_loss", told


def poisson(
    x: Any,
    target: Any,
    log_input: bool = True,
    full: bool = False,
    eps: float = 1e-8,
    reduction: str = "mean",
    **_: Any,
) -> Call:
    told = {"log_rate": x, "target": target, "log_input": log_input, "full": full, "eps": eps}
    return "poisson_nll_loss", {**told, "reduction": reduction}


def layer_norm(
    x: Any, normalized_shape: Sequence[int], weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> Call:
    return "layer_norm", {"x": x, "gain": weight, "bias": bias, "axes": len(normalized_shape), "eps": eps}


def rms_norm(x: Any, normalized_shape: Sequence[int], weight: Any = None, eps: float | None = None) -> Call:
    eps = torch.finfo(x.dtype).eps if eps is None else eps
    return "rms_norm", {"x": x, "gain": weight, "axes": len(normalized_shape), "eps": eps}


def batch_norm(
    x: Any,
    mean: Any,
    var: Any,
    weight: Any = None,
    bias: Any = None,
    training: bool = False,
    momentum: Any = 0.1,
    eps: float = 1e-5,
) -> Call:
    told = {"x": x, "gain": weight, "bias": bias, "places": x.ndim - 2, "eps": eps}
    return ("batch_norm", told) if training else ("batch_norm_eval", {**told, "mean": mean, "var": var})


def group_norm(x: Any, groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Call:
    return "group_norm", {"x": x, "gain": weight, "bias": bias, "groups": groups, "places": x.ndim - 2, "eps": eps}


def instance_norm(
    x: Any,
    running_mean: Any = None,
    running_var: Any = None,
    weight: Any = None,
    bias: Any = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Call:
    only(use_input_stats=(use_input_stats, True))
    return "instance_norm", {"x": x, "gain": weight, "bias": bias, "places": x.ndim - 2, "eps": eps}


def local_response(x: Any, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Call:
    return "local_response_norm", {"x": x, "size": size, "alpha": alpha, "beta": beta, "k": k, "places": x.ndim - 2}


def normalize(x: Any, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> Call:
    return "normalize", {"x": x, "p": p, "axis": last(x, dim), "eps": eps}


def of_axes(value: Any, rank: int) -> Any:
    """One number where it is the same for all axes, else one for each."""
    if isinstance(value, (tuple, list)):
        value = tuple(value) * (rank if len(value) == 1 else 1)
        return value[0] if len(set(value)) == 1 else value
    return value


def conv(rank: int) -> Callable[..., Call]:
    def call(
        x: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
    ) -> Call:
        told = {"stride": of_axes(stride, rank), "dilation": of_axes(dilation, rank), "groups": groups}
        padding = 0 if padding == "valid" else padding if padding == "same" else of_axes(padding, rank)
        told |= {"x": x, "weight": weight, "bias": bias, "padding": padding, "batch": x.ndim - 1 - rank}
        return f"conv{rank}d", told

    return call


def conv_transpose(rank: int) -> Callable[..., Call]:
    def call(
        x: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, output_padding: Any = 0,
        groups: int = 1, dilation: Any = 1,
    ) -> Call:  # fmt: skip
        if bias is not None and groups != 1:
            bias = bias.reshape(groups, -1)
        told = {"x": x, "weight": weight, "bias": bias, "groups": groups, "batch": x.ndim - 1 - rank}
        sides = {"stride": stride, "padding": padding, "output_padding": output_padding, "dilation": dilation}
        return f"conv_transpose{rank}d", {**told, **{k: of_axes(v, rank) for k, v in sides.items()}}

    return call


def max_pool(rank: int) -> Callable[..., Call]:
    def call(
        x: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Call:  # fmt: skip
        stride = kernel_size if stride is None or stride == [] else stride
        sides = {"size": kernel_size, "stride": stride, "padding": padding, "dilation": dilation}
        told = {k: of_axes(v, rank) for k, v in sides.items()}
        return f"max_pool{rank}d", {"x": x, "ceil_mode": ceil_mode, "batch": x.ndim - 1 - rank, **told}

    return call


def avg_pool(rank: int) -> Callable[..., Call]:
    def call(
        x: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
        count_include_pad: bool = True, divisor_override: Any = None,
    ) -> Call:  # fmt: skip
        stride = kernel_size if stride is None or stride == () else stride
        told = {k: of_axes(v, rank) for k, v in {"size": kernel_size, "stride": stride, "padding": padding}.items()}
        told |= {"ceil_mode": ceil_mode, "divisor": divisor_override, "batch": x.ndim - 1 - rank}
        return f"avg_pool{rank}d", {"x": x, "count_padding": count_include_pad, **told}

    return call


def adaptive_pool(rank: int) -> Callable[..., Call]:
    def call(x: Any, output_size: Any) -> Call:
        sizes = output_size if isinstance(output_size, (tuple, list)) else [output_size] * rank
        sizes = [n if s is None else s for s, n in zip(sizes, x.shape[-rank:], strict=True)]
        return f"adaptive_avg_pool{rank}d", {"x": x, "bins": of_axes(sizes, rank), "batch": x.ndim - 1 - rank}

    return call


def pad(x: Any, pad: Sequence[int], mode: str = "constant", value: Any = None) -> Call:
    left, right = (tuple(pad[k::2])[::-1] for k in range(2))
    told = {"x": x, "axes": len(left), "left": of_axes(left, len(left)), "right": of_axes(right, len(right))}
    return f"pad_{mode}", {**told, "value": value or 0.0} if mode == "constant" else told


def linear(x: Any, weight: Any, bias: Any = None) -> Call:
    return "linear", {"x": x, "weight": weight, "bias": bias, "batch": x.ndim - 1}


def bilinear(x: Any, y: Any, weight: Any, bias: Any = None) -> Call:
    return "bilinear", {"x": x, "y": y, "weight": weight, "bias": bias, "batch": x.ndim - 1}


def attention(
    q: Any, k: Any, v: Any, attn_mask: Any = None, dropout_p: float = 0.0, is_causal: bool = False, scale: Any = None,
    enable_gqa: bool = False,
) -> Call:  # fmt: skip
    if dropout_p:
        raise Random
    only(enable_gqa=(enable_gqa, False))
    front = torch.broadcast_shapes(q.shape[:-2], k.shape[:-2])
    q, k, v = (t.expand(*front, *t.shape[-2:]) for t in (q, k, v))
    told = {"q": q, "k": k, "v": v, "scale": scale}
    if attn_mask is not None:
        only(causal=(is_causal, False))
        return ("masked_attention" if attn_mask.dtype == torch.bool else "biased_attention"), {
            **told,
            "mask" if attn_mask.dtype == torch.bool else "bias": attn_mask,
        }
    return ("causal_attention" if is_causal else "attention"), told


def embedding(
    table: Any, token: Any, padding_idx: Any = None, max_norm: Any = None, norm_type: float = 2.0,
    scale_grad_by_freq: bool = False, sparse: bool = False,
) -> Call:  # fmt: skip
    only(max_norm=(max_norm, None), scale_grad_by_freq=(scale_grad_by_freq, False))
    if padding_idx is not None and padding_idx < 0:
        padding_idx += len(table)
    return "embedding", {"table": table, "token": token, "padding_index": padding_idx}


def similarity(x: Any, y: Any, dim: int = 1, eps: float = 1e-8) -> Call:
    x, y = wide(x, y)
    return "cosine_similarity", {"x": x, "y": y, "axis": last(x, dim), "eps": eps}


def vecdot(x: Any, y: Any, dim: int = -1) -> Call:
    x, y = wide(x, y)
    return "dot", {"x": x, "y": y, "axis": last(x, dim)}


def batched(name: str, first: str, second: str) -> Callable[..., Call]:
    return lambda a, b: (name, {first: a, second: b})


def matrix(name: str, **more: Any) -> Callable[..., Call]:
    return lambda a: (name, {"a": a, **more})


def solve(a: Any, b: Any, *, left: bool = True) -> Call:
    only(left=(left, True))
    vector = b.ndim == 1 or b.ndim == a.ndim - 1 and b.shape == a.shape[:-1]
    front = torch.broadcast_shapes(a.shape[:-2], b.shape[: -1 if vector else -2])
    a, b = a.expand(*front, *a.shape[-2:]), b.expand(*front, *b.shape[-1 if vector else -2 :])
    return "solve", {"a": a, "b": b, "columns": not vector}


def cholesky(a: Any, upper: bool = False) -> Call:
    return "cholesky", {"a": a, "upper": upper}


def qr(a: Any, mode: str = "reduced") -> Call:
    only(mode=(mode, "reduced"))
    return "qr_decomposition", {"a": a}


def pinv(a: Any, *, rcond: Any = None, rtol: Any = None, atol: Any = None, hermitian: bool = False) -> Call:
    only(rtol=(rtol, None), atol=(atol, None), hermitian=(hermitian, False))
    return "pseudoinverse", {"a": a}


def power(a: Any, n: int) -> Call:
    return "matrix_power", {"a": a, "power": n}


def matrix_norm(a: Any, ord: Any = "fro", dim: Any = (-2, -1), keepdim: bool = False, dtype: Any = None) -> Call:
    return "matrix_norm", {"a": a, "order": ord, "axis": last(a, dim), "keepdims": keepdim}


def vector_norm(x: Any, ord: Any = 2, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Call:
    x = x if dtype is None else x.to(dtype)
    return "vector_norm", {"x": x, "order": ord, **reduced_axes(x, dim, keepdim)}


def triangle(name: str) -> Callable[..., Call]:
    return lambda x, diagonal=0: (name, {"x": x, "diagonal": diagonal})


def diagonal(x: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Call:
    return "diagonal", {"x": x.movedim((dim1, dim2), (-2, -1)), "offset": offset}


def gather(x: Any, dim: int, index: Any, *, sparse_grad: bool = False) -> Call:
    return "take_along_axis", {"x": x, "index": index, "behind": behind(x, dim)}


def take_along(x: Any, index: Any, dim: Any = None) -> Call:
    only(dim=(dim is None, False))
    front = torch.broadcast_shapes(*((*t.shape[:dim], 1, *t.shape[dim + 1 :]) for t in (x, index)))
    x, index = (t.expand(*front[:dim], t.shape[dim], *front[dim + 1 :]) for t in (x, index))
    return gather(x, dim, index)


def diff(x: Any, n: int = 1, dim: int = -1, prepend: Any = None, append: Any = None) -> Call:
    return "diff", {"x": x, "n": n, "axis": last(x, dim), "prepend": prepend, "append": append}


def trapezoid(y: Any, x: Any = None, *, dx: float = 1.0, dim: int = -1) -> Call:
    return "trapezoid", {"y": y, "x": x, "dx": float(dx), "axis": last(y, dim)}


def sort(x: Any, dim: int = -1, descending: bool = False, stable: Any = None) -> Call:
    return "sort", {"x": x, "axis": last(x, dim), "descending": descending}


def roll(x: Any, shifts: Any, dims: Any = None) -> Call:
    return "roll", {"x": x, "shift": tuple(shifts) if isinstance(shifts, list) else shifts, "axis": last(x, dims)}


def covariance(x: Any, correction: int = 1, fweights: Any = None, aweights: Any = None) -> Call:
    only(fweights=(fweights, None), aweights=(aweights, None))
    return "covariance", {"x": x.mT if x.ndim == 2 else x, "correction": correction}


def gelu(x: Any, approximate: str = "none") -> Call:
    return ("gelu" if approximate == "tanh" else "gelu_exact"), {"x": x}


def softplus(x: Any, beta: float = 1.0, threshold: float = 20.0) -> Call:
    return ("softplus", {"x": x}) if beta == 1 else ("softplus_beta", {"x": x, "beta": beta})


def prelu(x: Any, weight: Any) -> Call:
    channels = x.shape[1 if x.ndim > 1 else -1] if x.ndim else 1
    return "prelu", {"x": x, "slope": weight.reshape(-1).expand(channels), "places": max(x.ndim - 2, 0)}


def logit(x: Any, eps: Any = None) -> Call:
    return "logit", {"x": x, "eps": eps}


def shuffle(name: str, option: str) -> Callable[..., Call]:
    return lambda x, upscale_factor=None, downscale_factor=None: (
        name,
        {"x": x, option: upscale_factor or downscale_factor},
    )


OPERATORS: dict[str, Callable[..., Call]] = {
    # activations
    "nn.functional.relu": lambda x, inplace=False: ("relu", {"x": x}),
    "sigmoid": elementwise("sigmoid"),
    "tanh": elementwise("tanh"),
    "nn.functional.softplus": softplus,
    "nn.functional.silu": lambda x, inplace=False: ("silu", {"x": x}),
    "nn.functional.gelu": gelu,
    "nn.functional.relu6": lambda x, inplace=False: ("relu6", {"x": x}),
    "nn.functional.leaky_relu": lambda x, negative_slope=0.01: (
        "leaky_relu",
        {"x": x, "negative_slope": negative_slope},
    ),
    "nn.functional.prelu": prelu,
    "nn.functional.elu": lambda x, alpha=1.0: ("elu", {"x": x, "alpha": alpha}),
    "nn.functional.selu": elementwise("selu"),
    "nn.functional.celu": lambda x, alpha=1.0: ("celu", {"x": x, "alpha": alpha}),
    "nn.functional.mish": elementwise("mish"),
    "nn.functional.softsign": elementwise("softsign"),
    "nn.functional.hardtanh": lambda x, min_val=-1.0, max_val=1.0: (
        "hardtanh",
        {"x": x, "low": min_val, "high": max_val},
    ),
    "nn.functional.hardsigmoid": elementwise("hardsigmoid"),
    "nn.functional.hardswish": elementwise("hardswish"),
    "nn.functional.hardshrink": lambda x, lambd=0.5: ("hardshrink", {"x": x, "bound": lambd}),
    "nn.functional.softshrink": lambda x, lambd=0.5: ("softshrink", {"x": x, "bound": lambd}),
    "nn.functional.tanhshrink": elementwise("tanhshrink"),
    "nn.functional.logsigmoid": elementwise("logsigmoid"),
    "nn.functional.threshold": lambda x, bound, value: ("threshold", {"x": x, "bound": bound, "value": value}),
    "nn.functional.glu": lambda x, dim=-1: along("glu_halves")(x, dim),
    "logit": logit,
    # losses
    "nn.functional.mse_loss": loss("mse_loss", "prediction", "target"),
    "nn.functional.l1_loss": loss("l1_loss", "prediction", "target"),
    "nn.functional.huber_loss": loss("huber_loss", "prediction", "target"),
    "nn.functional.smooth_l1_loss": loss("smooth_l1_loss", "prediction", "target"),
    "nn.functional.binary_cross_entropy": loss("binary_cross_entropy", "p", "target"),
    "nn.functional.binary_cross_entropy_with_logits": binary_with_logits,
    "nn.functional.cross_entropy": cross_entropy,
    "nn.functional.nll_loss": nll_loss,
    "nn.functional.kl_div": kl_div,
    "nn.functional.gaussian_nll_loss": gaussian_nll,
    "nn.functional.poisson_nll_loss": poisson,
    "nn.functional.soft_margin_loss": loss("soft_margin_loss", "score", "label"),
    "nn.functional.multilabel_soft_margin_loss": multilabel,
    "nn.functional.multi_margin_loss": multi_margin,
    "nn.functional.hinge_embedding_loss": hinge_embedding,
    "nn.functional.margin_ranking_loss": ranking,
    "nn.functional.triplet_margin_loss": triplet,
    "nn.functional.cosine_embedding_loss": embedding_loss,
    "nn.functional.cosine_similarity": similarity,
    # normalisations
    "nn.functional.layer_norm": layer_norm,
    "nn.functional.rms_norm": rms_norm,
    "nn.functional.batch_norm": batch_norm,
    "nn.functional.group_norm": group_norm,
    "nn.functional.instance_norm": instance_norm,
    "nn.functional.local_response_norm": local_response,
    "nn.functional.normalize": normalize,
    # windows
    **{f"nn.functional.conv{r}d": conv(r) for r in (1, 2, 3)},
    **{f"nn.functional.conv_transpose{r}d": conv_transpose(r) for r in (1, 2, 3)},
    **{f"nn.functional.max_pool{r}d": max_pool(r) for r in (1, 2, 3)},
    **{f"nn.functional.avg_pool{r}d": avg_pool(r) for r in (1, 2, 3)},
    **{f"nn.functional.adaptive_avg_pool{r}d": adaptive_pool(r) for r in (1, 2, 3)},
    # layers
    "nn.functional.linear": linear,
    "nn.functional.bilinear": bilinear,
    "nn.functional.scaled_dot_product_attention": attention,
    "nn.functional.embedding": embedding,
    "mm": batched("batch_matmul", "x", "y"),
    "bmm": batched("batch_matmul", "x", "y"),
    "dot": batched("dot", "x", "y"),
    "outer": batched("outer", "x", "y"),
    "kron": batched("kron", "x", "y"),
    "linalg.vecdot": vecdot,
    # matrices
    "linalg.inv": matrix("inverse"),
    "linalg.solve": solve,
    "linalg.det": matrix("determinant"),
    "logdet": matrix("log_determinant"),
    "linalg.cholesky": cholesky,
    "linalg.qr": qr,
    "linalg.eigvalsh": lambda a, UPLO="L": (only(UPLO=(UPLO, "L")), ("symmetric_eigenvalues", {"a": a}))[1],
    "linalg.pinv": pinv,
    "linalg.matrix_power": power,
    "linalg.matrix_norm": matrix_norm,
    "linalg.vector_norm": vector_norm,
    "matrix_exp": matrix("matrix_exponential"),
    "trace": matrix("trace"),
    # reductions
    "mean": lambda x, dim=None, keepdim=False, dtype=None: reducing("mean")(x, dim, keepdim),
    "sum": lambda x, dim=None, keepdim=False, dtype=None: reducing("sum")(x, dim, keepdim),
    "prod": lambda x, dim=None, keepdim=False, dtype=None: reducing("prod")(
        x, tuple(range(x.ndim)) if dim is None else dim, keepdim
    ),
    "amax": reducing("amax"),
    "amin": reducing("amin"),
    "logsumexp": reducing("logsumexp"),
    "var": spread("var"),
    "std": spread("std"),
    "softmax": softmax("softmax"),
    "log_softmax": softmax("log_softmax"),
    "nn.functional.softmin": softmax("softmin"),
    "cumsum": along("cumsum"),
    "cumprod": along("cumprod"),
    "logcumsumexp": along("logcumsumexp"),
    "diff": diff,
    "trapezoid": trapezoid,
    "cov": covariance,
    # axes and places
    "nn.functional.pad": pad,
    "constant_pad_nd": lambda x, widths, value=0.0: pad(x, widths, "constant", value),
    "roll": roll,
    "flip": lambda x, dims: ("flip", {"x": x, "axis": last(x, dims)}),
    "sort": sort,
    "nn.functional.pixel_shuffle": shuffle("pixel_shuffle", "factor"),
    "nn.functional.pixel_unshuffle": shuffle("pixel_unshuffle", "factor"),
    "nn.functional.channel_shuffle": lambda x, groups: (
        "channel_shuffle",
        {"x": x, "groups": groups, "places": x.ndim - 2},
    ),
    "diagonal": diagonal,
    "linalg.diagonal": lambda x, *, offset=0, dim1=-2, dim2=-1: diagonal(x, offset, dim1, dim2),
    "tril": triangle("tril"),
    "triu": triangle("triu"),
    "gather": gather,
    "take_along_dim": take_along,
}

# the comparison


def flat(found: Any) -> list[Any]:
    return [t for t in (found if isinstance(found, (tuple, list)) else [found]) if t.is_floating_point()]


def slopes(outputs: Sequence[Any], inputs: Sequence[Any]) -> list[Any]:
    """The gradients of a sum of the outputs with weights that are not the same for any two elements."""
    total = sum((o * torch.linspace(0.5, 1.5, max(o.numel(), 1), dtype=o.dtype)[: o.numel()].reshape(o.shape)).sum()
                for o in outputs)  # fmt: skip
    if not isinstance(total, torch.Tensor) or not total.requires_grad:
        return [None for _ in inputs]
    return list(torch.autograd.grad(total, inputs, allow_unused=True, materialize_grads=True))


def tensors_in(values: Any) -> Iterator[torch.Tensor]:
    for v in values:
        if isinstance(v, torch.Tensor):
            yield v
        elif isinstance(v, (tuple, list)):
            yield from tensors_in(v)


def outcome(express: Callable[..., Call], operator: Any, sample: Any) -> tuple[str, str]:
    """Whether the library agrees with torch for one example, and if not, why."""
    arguments = (sample.input, *sample.args)
    moving = [t for t in tensors_in((*arguments, *sample.kwargs.values())) if t.requires_grad]
    torch.manual_seed(0)
    expected = flat(operator(*arguments, **sample.kwargs))
    try:
        inspect.signature(express).bind(*arguments, **sample.kwargs)
        name, given = express(*arguments, **sample.kwargs)
        found = flat(run(name, given))[: len(expected)]
    except Random:
        return "random", ""
    except Cannot as reason:
        return "cannot", str(reason)
    except TypeError as error:
        key = re.search(r"unexpected keyword argument '(\w+)'|(\w+) must|for (\w+)", str(error))
        return "cannot", next(filter(None, key.groups()), "arguments") if key else f"types: {error}"
    except (SymgradError, ValueError) as error:
        return "cannot", f"shapes: {str(error).splitlines()[0]}"
    except (RuntimeError, IndexError) as error:
        return "differ", f"raises {str(error).splitlines()[0]}"
    try:
        for pair in zip((*expected, *slopes(expected, moving)), (*found, *slopes(found, moving)), strict=True):
            if pair[0] is not None and pair[1] is not None:
                torch.testing.assert_close(pair[1], pair[0], equal_nan=True)
    except (AssertionError, RuntimeError, ValueError) as error:
        return "differ", str(error).splitlines()[0]
    return "agree", ""


def of_operator(info: Any) -> Counter[tuple[str, str]]:
    torch.manual_seed(0)
    samples = info.sample_inputs("cpu", torch.float64, requires_grad=info.supports_autograd)
    return Counter(outcome(OPERATORS[info.name], info.op, s) for s in samples)


def written(first: str | None = None, second: str | None = None) -> None:
    """Write one part of the document, or both; the other stays as it is."""
    path, mark = HERE / "frameworks.md", JAX_HEAD.splitlines()[0]
    before, _, after = path.read_text(encoding="utf-8").partition(f"\n{mark}")
    second = second or (f"{mark}{after}" if after else None)
    path.write_text("\n".join(part for part in (first or before, second) if part), encoding="utf-8")


def of_jax() -> None:
    import jax
    import jax_functions
    import optax

    found = {}
    for name, counts in jax_functions.compared():
        found[name] = counts
        print(name, *counts.items(), file=sys.stderr, flush=True)
    total, sums = summed(found)
    head = JAX_HEAD.format(
        jax=jax.__version__, optax=optax.__version__, functions=len(found), total=total,
        expressed=100 * sums["agree"] / total, **sums,
    )  # fmt: skip
    written(second=f"{head}\n{rows(found, 'function')}")
    print(*head.splitlines()[-2:])


def summed(found: Mapping[str, Counter[tuple[str, str]]]) -> tuple[int, dict[str, int]]:
    """How many there are, and of each kind."""
    kinds = ("agree", "differ", "cannot")
    sums = {k: sum(n for f in found.values() for (kind, _), n in f.items() if kind == k) for k in kinds}
    return sum(sums.values()), sums


def main() -> None:
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    asked = sys.argv[1:]
    if asked == ["jax"]:
        of_jax()
        return
    found: dict[str, Counter[tuple[str, str]]] = {}
    for info in op_db:
        if info.name in OPERATORS and (not asked or info.name.removeprefix("nn.functional.") in asked):
            label = f"{info.name} ({info.variant_test_name})" if info.variant_test_name else info.name
            found[label] = of_operator(info)
            print(label, sum(found[label].values()), file=sys.stderr, flush=True)
            if asked:
                print(label, *(f"\n    {n} {kind} {why}" for (kind, why), n in found[label].items()))
    total, sums = summed(found)
    head = HEAD.format(version=torch.__version__, expressed=100 * sums["agree"] / max(total, 1), total=total, **sums)
    if asked:
        print(*head.splitlines()[-2:])
        return
    written(first=f"{head}\n{rows(found, 'operator of torch')}")
    print(*head.splitlines()[-2:])
    of_jax()


def rows(found: Mapping[str, Counter[tuple[str, str]]], what: str) -> str:
    lines = []
    for label, counts in found.items():
        of = {k: sum(n for (kind, _), n in counts.items() if kind == k) for k in ("agree", "differ", "cannot")}
        why = "; ".join(f"{n} {'differ' if kind == 'differ' else ''}: {reason}".replace(" :", ":")
                        for (kind, reason), n in counts.most_common() if kind in ("differ", "cannot"))  # fmt: skip
        lines.append((f"`{label}`", str(of["agree"]), str(of["differ"]), str(of["cannot"]), why.replace("|", "\\|")))
    return table((what, "agree", "differ", "cannot be expressed", "which, and why"), lines)


if __name__ == "__main__":
    main()
