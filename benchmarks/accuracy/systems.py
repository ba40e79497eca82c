"""The systems that are measured: each takes a formula and points, and gives the gradient in the type of the points.

Each gets the same text. A system's own functions stand for the names in it, as a user would write them there.
"""

from __future__ import annotations

import ctypes
import math
import os
import shlex
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from formulas import Formula

Array = np.ndarray[Any, Any]


def evaluate(formula: Formula, functions: Mapping[str, Any], arguments: Any) -> Any:
    """The body of a formula with these functions; the formulas are those of `formulas.py` and no one else's."""
    return eval(formula.body, {**functions, **dict(zip(formula.arguments, arguments, strict=True))})


def _numbers(sqrt: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """sqrt(2) is a number; frameworks want an array."""
    return lambda x: math.sqrt(x) if isinstance(x, int) else sqrt(x)


def sympy(formula: Formula, x: Array) -> Array:
    """lambdify of diff, by NumPy and SciPy."""
    import sympy as sp

    names = sp.symbols(list(formula.arguments), real=True)
    functions = {n: getattr(sp, n) for n in "exp log sin cos cosh tanh erf erfc acos atan2 sqrt".split()}
    functions |= {"abs": sp.Abs, "where": lambda c, a, b: sp.Piecewise((a, c), (b, True))}
    value = evaluate(formula, functions, names)
    slopes = [sp.lambdify(names, sp.diff(value, name), modules=["scipy", "numpy"]) for name in names]
    return np.array([np.broadcast_to(slope(*x.T), len(x)) for slope in slopes], x.dtype).T


def casadi(formula: Formula, x: Array) -> Array:
    """SX, the gradient as CasADi derives it, in its virtual machine."""
    import casadi as ca

    if x.dtype != np.float64:
        raise TypeError("SX computes in float64 alone")

    names = [ca.SX.sym(n) for n in formula.arguments]
    functions = {n: getattr(ca, n) for n in "exp log sin cos cosh tanh erf acos atan2".split()}
    functions |= {"erfc": lambda x: 1 - ca.erf(x), "sqrt": _numbers(ca.sqrt), "abs": ca.fabs, "where": ca.if_else}
    gradient = ca.gradient(evaluate(formula, functions, names), ca.vertcat(*names))
    function = ca.Function("f", [ca.vertcat(*names)], [gradient])
    return np.array(function.map(len(x))(x.T)).T.reshape(x.shape)


def jax(formula: Formula, x: Array) -> Array:
    """jit of vjp."""
    import jax
    import jax.numpy as jnp
    from jax.scipy import special

    jax.config.update("jax_enable_x64", True)
    functions = {n: getattr(jnp, n) for n in "exp log sin cos cosh tanh where abs".split()}
    functions |= {"acos": jnp.arccos, "atan2": jnp.arctan2, "erf": special.erf, "erfc": special.erfc}
    functions["sqrt"] = _numbers(jnp.sqrt)

    def gradient(*arguments: Any) -> Any:
        value, pull = jax.vjp(lambda *a: evaluate(formula, functions, a), *arguments)
        return pull(jnp.ones_like(value))

    return np.array(jax.jit(gradient)(*map(jnp.asarray, x.T))).T


def torch(formula: Formula, x: Array) -> Array:
    """autograd."""
    import torch

    functions = {n: getattr(torch, n) for n in "exp log sin cos cosh tanh erf erfc acos atan2 where abs".split()}
    functions["sqrt"] = _numbers(torch.sqrt)
    arguments = [torch.tensor(column, requires_grad=True) for column in x.T]
    value = evaluate(formula, functions, arguments)
    return np.array([g.numpy() for g in torch.autograd.grad(value.sum(), arguments)]).T


def hand(formula: Formula, x: Array) -> Array:
    """hand.c, in the type of the points."""
    points = np.ascontiguousarray(x)
    out = np.empty_like(points)
    if _by_hand(points.dtype == np.float32)(formula.name.encode(), len(points), points.ctypes.data, out.ctypes.data):
        raise LookupError("not written by hand")
    return out


@cache
def _by_hand(single: bool) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "hand.so"
        flags = ["-std=c99", "-O2", "-ffp-contract=off", "-fPIC", "-shared", *(["-DSINGLE"] if single else [])]
        compiler = shlex.split(os.environ.get("CC") or "cc")
        subprocess.run([*compiler, *flags, "-o", library, Path(__file__).with_name("hand.c"), "-lm"], check=True)
        function = ctypes.CDLL(str(library)).gradient
    function.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_void_p]
    return function


def _symgrad(to: str) -> Callable[[Formula, Array], Array]:
    def gradient(formula: Formula, x: Array) -> Array:
        import symgrad as sg

        options = {"dtype": "float"} if to == "c" and x.dtype == np.float32 else {}
        artefact = sg.load(sg.parse(formula.text), to=to, check=False, **options)
        arguments = [np.ascontiguousarray(column) for column in x.T]
        out, saved = artefact.forward(*arguments)
        return np.array([np.asarray(g) for g in artefact.backward(saved, np.ones(np.shape(out), x.dtype))]).T

    gradient.__doc__ = f"what symgrad prints for {to}."
    return gradient


PEERS: dict[str, Callable[[Formula, Array], Array]] = {"sympy": sympy, "casadi": casadi, "jax": jax, "torch": torch}
SYSTEMS = {**PEERS, "hand": hand, **{f"symgrad-{to}": _symgrad(to) for to in ("numpy", "c", "torch", "jax")}}
