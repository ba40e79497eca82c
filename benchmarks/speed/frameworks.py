"""torch and JAX: their own functions, and what symgrad prints for them."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from . import ours
from .measure import Case
from .tensors import TENSORS
from .work import BACKWARD, FORWARD, POINTS, Job

Function = Callable[..., Any]


def torch(job: Job) -> Case:
    """autograd of torch's functions."""
    return torch_case(job, _formula(job, _torch_words()), {})


def torch_compiled(job: Job) -> Case:
    """torch.compile of the same."""
    return _compiled(job, _formula(job, _torch_words()), {})


def symgrad_torch(job: Job) -> Case:
    """What is printed for torch."""
    return torch_case(job, *ours.module(job.row, "torch"))


def symgrad_torch_compiled(job: Job) -> Case:
    """torch.compile of what is printed."""
    return _compiled(job, *ours.module(job.row, "torch"))


def jax(job: Job) -> Case:
    """jit of vjp of JAX's functions."""
    return jax_case(job, _formula(job, jax_words()), {})


def symgrad_jax(job: Job) -> Case:
    """jit of vjp of what is printed for JAX."""
    import jax

    jax.config.update("jax_enable_x64", True)
    return jax_case(job, *ours.module(job.row, "jax"))


def _formula(job: Job, words: Any) -> Function:
    if job.row.kind == "tensor":
        return lambda *a: TENSORS[job.row.formula].framework(words, a)
    return lambda *a: tuple(POINTS[job.row.formula].formula(words, a))


def torch_case(job: Job, function: Function, facts: dict[str, float]) -> Case:
    """autograd through a function of tensors."""
    import torch

    arguments = [torch.from_numpy(a.copy()) for a in job.arguments]
    inputs = [arguments[k].requires_grad_() for k in job.row.wrt]
    seeds = torch.from_numpy(job.cotangent.copy())
    seed = seeds if job.row.kind == "tensor" else tuple(seeds)

    def forward() -> Any:
        with torch.no_grad():
            return function(*arguments)

    return Case({FORWARD: forward, BACKWARD: lambda: torch.autograd.grad(function(*arguments), inputs, seed)}, facts)


def _compiled(job: Job, function: Function, facts: dict[str, float]) -> Case:
    import torch

    torch._dynamo.reset()
    case = torch_case(job, torch.compile(function, dynamic=False), facts)
    return _timed(case)


def jax_case(job: Job, function: Function, facts: dict[str, float]) -> Case:
    """jit of a function of arrays, and of its vjp."""
    import jax

    arguments = [jax.numpy.asarray(a) for a in job.arguments]
    seeds = jax.numpy.asarray(job.cotangent)
    seed = seeds if job.row.kind == "tensor" else tuple(seeds)
    value = jax.jit(function)

    @jax.jit
    def gradients(seed: Any, *arguments: Any) -> Any:
        def of(*inputs: Any) -> Any:
            full = list(arguments)
            for k, x in zip(job.row.wrt, inputs, strict=True):
                full[k] = x
            return function(*full)

        return jax.vjp(of, *(arguments[k] for k in job.row.wrt))[1](seed)

    def forward() -> Any:
        return jax.block_until_ready(value(*arguments))

    return _timed(Case({FORWARD: forward, BACKWARD: lambda: jax.block_until_ready(gradients(seed, *arguments))}, facts))


def _timed(case: Case) -> Case:
    """With the seconds of the first calls, which compile."""
    start = time.perf_counter()
    for run in case.runs.values():
        run()
    case.facts["compiled"] = time.perf_counter() - start
    return case


def _torch_words() -> Any:
    import torch
    import torch.nn.functional as F

    return SimpleNamespace(
        sqrt=torch.sqrt, sin=torch.sin, cos=torch.cos, exp=torch.exp, tanh=torch.tanh, sigmoid=torch.sigmoid,
        relu=F.relu, gelu=F.gelu, logsumexp=torch.logsumexp, matmul=torch.matmul, array=torch.from_numpy,
        swap=lambda a: a.mT,
        cross_entropy=F.cross_entropy,
        layer_norm=lambda x, weight, bias: F.layer_norm(x, x.shape[1:], weight, bias),
        conv2d=lambda x, weight, bias: F.conv2d(x, weight, bias, padding=1),
        max_pool2d=lambda x: F.max_pool2d(x, 2),
        attention=lambda q, k, v: F.scaled_dot_product_attention(q[None], k[None], v[None])[0],
    )  # fmt: skip


def jax_words() -> Any:
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)

    def cross_entropy(logits: Any, target: Any) -> Any:
        return -jnp.take_along_axis(jax.nn.log_softmax(logits, axis=1), target[:, None], 1).mean()

    def layer_norm(x: Any, weight: Any, bias: Any) -> Any:
        apart = x - x.mean(1, keepdims=True)
        return apart * jax.lax.rsqrt((apart * apart).mean(1, keepdims=True) + 1e-5) * weight + bias

    def conv2d(x: Any, weight: Any, bias: Any) -> Any:
        return jax.lax.conv_general_dilated(x, weight, (1, 1), "SAME") + bias[:, None, None]

    def max_pool2d(x: Any) -> Any:
        return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")

    def attention(q: Any, k: Any, v: Any) -> Any:
        return jax.nn.softmax(q @ k.mT / q.shape[-1] ** 0.5, axis=2) @ v

    return SimpleNamespace(
        sqrt=jnp.sqrt, sin=jnp.sin, cos=jnp.cos, exp=jnp.exp, tanh=jnp.tanh, sigmoid=jax.nn.sigmoid,
        relu=jax.nn.relu, gelu=lambda x: jax.nn.gelu(x, approximate=False), logsumexp=jax.nn.logsumexp,
        matmul=jnp.matmul, array=jnp.asarray, swap=lambda a: a.mT,
        cross_entropy=cross_entropy, layer_norm=layer_norm, conv2d=conv2d, max_pool2d=max_pool2d, attention=attention,
    )  # fmt: skip
