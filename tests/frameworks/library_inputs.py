"""Every function of the library with small inputs at which it is smooth and well conditioned."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from arguments import arguments

from symgrad import library
from symgrad.derivatives import as_function
from symgrad.pipeline import printed
from symgrad.verify.symmetric import made_symmetric, symmetric_inputs

LARGE = {"lenet"}  # a network of 60,000 numbers is compared with published ones instead
NAMES = [name for name in library.__all__ if name not in LARGE]


GENERATED = Path(__file__).parents[2] / "generated"
AXES = ("axis", "axes", "dim")  # as calls name them; transposed, reduced or joined along another one is another kind


def by_kinds(to):
    """Parameters for tests of how a framework takes what is printed: functions in whose files every call, with its
    arguments by name, and along which axes, and every kind of subscript and condition of all files stands; the others
    are for `--longest`."""
    kinds = {name: _kinds((GENERATED / name / f"{name}_{to}.py").read_text()) for name in NAMES}
    telling, seen = set(), set()
    for name in sorted(NAMES, key=lambda n: -len(kinds[n])):
        if not kinds[name] <= seen:
            telling.add(name)
            seen |= kinds[name]
    return [name if name in telling else pytest.param(name, marks=pytest.mark.longest) for name in NAMES]


def _kinds(text):
    tree = ast.parse(text)
    found = {(type(node).__name__,) for node in ast.walk(tree)}
    for node in ast.walk(tree):
        match node:
            case ast.Call(ast.Name(word) | ast.Attribute(attr=word), arguments, named):
                found.add((word, len(arguments), *(n.arg for n in named)))
                found |= {(word, n.arg, ast.unparse(n.value)) for n in named if n.arg in AXES}
            case ast.Subscript(_, ast.Tuple(items)):
                found.add(tuple(type(item).__name__ for item in items))
            case ast.If(condition, body):
                outer = tuple(type(n).__name__ for n in ast.walk(condition))
                inner = [tuple(type(n).__name__ for n in ast.walk(s.test)) for s in body if isinstance(s, ast.If)]
                found |= {("if", outer), *(("if", outer, condition) for condition in inner)}
    own = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    return {kind for kind in found if kind[0] not in own}


@cache
def module(name, to):
    """The printed module of a function."""
    return printed(getattr(library, name), to).load().module


def function(name):
    """What the library declares."""
    return as_function(getattr(library, name))


def inputs(name):
    """Arrays by input."""
    declared = function(name)
    rng = np.random.default_rng(0)
    found = dict(zip(declared.inputs, arguments(declared), strict=True))
    symmetric = symmetric_inputs(declared)
    for n, drawn in found.items():
        if drawn.ndim > 1 and drawn.shape[-1] == drawn.shape[-2] and drawn.dtype == float:
            drawn = rng.uniform(0.1, 0.2, drawn.shape) + np.eye(drawn.shape[-1])  # as a matrix, well conditioned
            found[n] = made_symmetric(drawn, symmetric[n][0], True) if n in symmetric else drawn
    return found


def reals(name):
    """The inputs that have gradients."""
    declared = function(name)
    return [n for n in declared.inputs if declared.table[n].dtype == "real"]


def symmetrised(name, transpose):
    """What makes an input that is read as symmetric so: checks by differences change its elements one by one."""
    axes = symmetric_inputs(function(name))
    return {n: (lambda x: (x + transpose(x)) / 2) for n in axes}
