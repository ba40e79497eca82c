"""C99: what is printed compiles without a warning, reads well, and computes what the equations say."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from symgrad.backends.c import C
from symgrad.declare.text import parse
from symgrad.differentiate import differentiate
from symgrad.errors import CompilerError
from symgrad.expr import ref
from symgrad.ir import Derivative, Function, Role, Tensor, interpret
from symgrad.plan import Procedure, Program, Step
from symgrad.plan.loops import Rewriter

STRICT = "-std=c99 -pedantic -Wall -Wextra -Wconversion -Wshadow -Werror".split()
needs_cc = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")


# Programs without a planner


def steps(statements, gradients=()):
    """One step per target, each serving the gradients that are computed from it."""
    serves = {g: {g} for g in gradients}
    for e in reversed(statements):
        for r in e.reads:
            serves.setdefault(r.name, set()).update(serves.get(e.target, ()))
    targets: dict[str, list] = {}
    for e in statements:
        targets[e.target] = [*targets.pop(e.target, []), e]  # a target stands where its last equation does
    found = []
    for target, equations in targets.items():
        shared = tuple(w for w in equations[0].when if all(w in e.when for e in equations))
        found.append(Step(target, tuple(equations), tuple(g for g in gradients if g in serves.get(target, ())), shared))
    return tuple(found)


def named(function: Function, names: dict[str, str]) -> Function:
    """The function with tensors renamed: formula text does not take the names that symgrad gives."""
    new = {ref(old): ref(to) for old, to in names.items()}

    def rename(node):
        return (
            ref(names[node.name], *node.subscripts)
            if getattr(node, "name", None) in names and node not in new
            else node
        )

    rewrite = Rewriter(lambda node: new.get(node, rename(node)) if node.__class__.__name__ == "Ref" else node)
    return replace(
        function,
        tensors=tuple(replace(t, name=names.get(t.name, t.name)) for t in function.tensors),
        statements=tuple(
            replace(rewrite.equation(e), target=names.get(e.target, e.target)) for e in function.statements
        ),
        inputs=tuple(names.get(n, n) for n in function.inputs),
        outputs=tuple(names.get(n, n) for n in function.outputs),
    )


def by_hand(forward: str, backward: str, saved: tuple[str, ...], **more) -> Program:
    """A Program from two formulas; `g` in that of backward is grad_output, `dx` the gradient of x."""
    primal, second = parse(forward), parse(backward)
    (output,) = primal.outputs
    names = {"g": "grad_output", **{n: f"grad_{n[1:]}" for n in second.outputs}}
    second = named(second, names)
    gradients = tuple((n, f"grad_{n}") for n in primal.inputs if f"grad_{n}" in second.outputs)
    tensors: dict[str, Tensor] = {t.name: t for t in primal.tensors}
    for t in second.tensors:
        role = Role.SEED if t.name == "grad_output" else Role.GRADIENT if t.name in second.outputs else t.role
        tensors.setdefault(t.name, replace(t, role=role))
    derivative = Derivative(primal, second, ((output, "grad_output"),), gradients)
    return Program(
        derivative,
        tuple(tensors.values()),
        Procedure(primal.inputs, steps(primal.statements), primal.outputs),
        Procedure(second.inputs, steps(second.statements, [g for _, g in gradients]), tuple(g for _, g in gradients)),
        saved,
        **more,
    )


def naive(function: Function, saved: tuple[str, ...] = (), **more) -> Program:
    """A Program that recomputes all of forward in backward: slow, and right for every function."""
    derivative = differentiate(function)
    joint = derivative.function
    gradients = tuple(g for _, g in derivative.gradients)
    needed = set(gradients)
    for e in reversed(joint.statements):
        if e.target in needed:
            needed |= {r.name for r in e.reads}
    again = [e for e in joint.statements if e.target in needed and e.target not in saved]
    known = (*[n for n in function.inputs if n in needed], *saved)
    dims = tuple(d.name for d in function.dims)
    tensors = tuple(
        replace(t, role=Role.LOCAL) if t.role is Role.OUTPUT and t.name not in function.outputs else t
        for t in joint.tensors
    )
    return Program(
        derivative,
        tensors,
        Procedure(function.inputs, steps(function.statements), function.outputs),
        Procedure((*known, *(s for _, s in derivative.seeds)), steps(again, gradients), gradients),
        known,
        saved_sizes=dims,
        saved_options=tuple(o.name for o in function.options),
        saved_presence=function.optional,
        **more,
    )


def printed(program: Program) -> dict[str, str]:
    return C().render(program, [program.derivative.primal.name])


# What is computed


FUNCTIONS = {
    "squares": "squares(x, y) = x**2, x * y, y**2",
    "linear": "linear(x[n,k], weight[m,k], bias[m]?)[i,j] = sum[l](x[i,l] * weight[j,l]) + bias[j]",
    "gain": "f(x[n,d], gain[d]?, bias[d]?)[i,j] = x[i,j]**2 * gain[j] + bias[j]",
    "softmax": "f(x[n,d]): top[i] = max[j](x[i,j]); e[i,j] = exp(x[i,j]-top[i]); s[i] = sum[j](e[i,j]); out[i,j] = e[i,j]/s[i]",
    "layer_norm": """f(x[n,d], gain[d], bias[d]; eps=1e-5): mean[i] = sum[j](x[i,j])/d; var[i] = sum[j]((x[i,j]-mean[i])**2)/d;
        out[i,j] = (x[i,j]-mean[i])/sqrt(var[i]+eps)*gain[j] + bias[j]""",
    "matvec": "f(a[n,m], x[m])[i] = sum[j](a[i,j] * x[j])",
    "conv": "f(x[n,c,h,w], weight[o,c,p,q])[b,f,i,j] = sum[d,r,s](x[b,d,2*i+r,2*j+s] * weight[f,d,r,s])",
    "padded": "f(x[n], k[p])[i:n] = sum[r](where((i + r - 1 >= 0) & (i + r - 1 < n), x[i+r-1] * k[r], 0))",
    "stacked": "f(p[..., 2]): out[..., 0] = p[..., 0]**2; out[..., 1] = p[..., 0] * p[..., 1]; out[..., 2] = sin(p[..., 1])",
    "concat": "f(x[n], y[m]): out[i:n] = x[i]**2; out[n+j] = y[j] * x[0]",
    "causal": "f(x[n,d])[i,j] = sum[k](where(k <= i, x[i,j] * x[k,j], 0))",
    "amax": "f(x[n,m])[i] = max[j](x[i,j]**3)",
    "prod": "f(x[n,m])[i] = prod[j](x[i,j])",
    "diagonal": "f(x[n,n]) = sum[i](x[i,i]**2)",
    "reverse": "f(x[n])[i] = x[n-1-i] * x[i]",
    "shift": "f(x[n]): y[i:n-1] = x[i+1] - x[i]",
    "activations": "f(x[n])[i] = sigmoid(x[i]) + relu(x[i]) * softplus(x[i]) - abs(x[i]) + maximum(x[i], tanh(x[i]))",
    "powers": "f(x[n], y)[i] = exp(x[i])**(1/2) + (x[i]**2 + 1)**(-3/2) + x[i]**3 + (x[i]**2+y**2)**(1/3) + 1/3",
    "index": "f(x[n])[i] = i * x[i] / n + (i % 2) * x[i] + (i // 2)",
    "scalar": "f(x, n[m])[i] = x * n[i]",
    "mlp": "f(x[n,k], a[h,k], c[o,h]): z[i,j] = tanh(sum[l](x[i,l]*a[j,l])); y[i,p] = sum[j](z[i,j]*c[p,j])",
    "attention": """f(q[n,d], k[m,d], v[m,e]): s[i,j] = sum[l](q[i,l]*k[j,l])/sqrt(d); top[i] = max[j](s[i,j]);
        w[i,j] = exp(s[i,j]-top[i]); z[i] = sum[j](w[i,j]); out[i,p] = sum[j](w[i,j]*v[j,p])/z[i]""",
    "batched": "f(x[..., d], weight[d])[..., i] = x[..., i] * weight[i]",
    "pairs": "f(x[n,d])[i,j] = sqrt(1 + sum[k]((x[i,k]-x[j,k])**2))",
    "reshape": "f(x[n,h])[i,a:h//2,c:2] = x[i, a*2+c]**2",
    "sums": "f(x[n,m], y[n]): r[i] = sum[j](x[i,j]*y[i]); t = sum[i](r[i]**2); out[i] = r[i]/t",
    "two": "f(x[n], y[n]) -> u, v: u[i] = sin(x[i])*y[i]; v[i] = sin(x[i])+exp(y[i])",
}
SIZES = {"n": 3, "k": 4, "m": 5, "d": 4, "h": 5, "w": 6, "c": 2, "o": 3, "p": 2, "q": 3, "e": 2}
