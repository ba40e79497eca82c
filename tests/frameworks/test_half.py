"""Half precision and autocast: the types and the numbers of torch's and JAX's own functions.

A row is (declaration, shapes of its inputs, torch's own function, what torch.autocast does with it). The lists of torch
are those of CUDA, `torch.testing._internal.autocast_test_lists`, on every device.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import symgrad as sg
from symgrad import library
from symgrad.backends.python_names import module_from
from symgrad.errors import UnsupportedError

# as in test_torch.py
pytestmark = [
    pytest.mark.filterwarnings("ignore:.*should not be instantiated.*:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:.*torch.jit.*:DeprecationWarning"),
]
PRODUCTS, FLOAT32, UNTYPED = "its own type", "float32", "nothing"
ROWS = [
    ("linear", [(4, 8), (3, 8), (3,)], "F.linear", PRODUCTS),
    ("conv2d", [(2, 3, 6, 6), (4, 3, 3, 3), (4,)], "F.conv2d", PRODUCTS),
    ("matmul", [(4, 8), (8, 3)], "torch.matmul", PRODUCTS),
    ("attention", [(2, 4, 8), (2, 5, 8), (2, 5, 8)], "F.scaled_dot_product_attention", PRODUCTS),
    ("layer_norm", [(4, 8), (8,), (8,)], "lambda x, w, b: F.layer_norm(x, (8,), w, b)", FLOAT32),
    ("rms_norm", [(4, 8), (8,)], "lambda x, w: F.rms_norm(x, (8,), w, 1e-5)", FLOAT32),
    ("softmax", [(4, 8)], "lambda x: F.softmax(x, -1)", FLOAT32),
    ("log_softmax", [(4, 8)], "lambda x: F.log_softmax(x, -1)", FLOAT32),
    ("logsumexp", [(4, 8)], "lambda x: torch.logsumexp(x, -1)", FLOAT32),
    ("cross_entropy", [(4, 8), "classes"], "F.cross_entropy", FLOAT32),
    ("binary_cross_entropy_with_logits", [(4, 8), (4, 8)], "F.binary_cross_entropy_with_logits", FLOAT32),
    ("mse_loss", [(4, 8), (4, 8)], "F.mse_loss", FLOAT32),
    ("cumsum", [(8,)], "lambda x: torch.cumsum(x, 0)", FLOAT32),
    ("prod", [(8,)], "torch.prod", FLOAT32),
    ("softplus", [(4, 8)], "F.softplus", FLOAT32),
    ("gelu", [(4, 8)], "lambda x: F.gelu(x, approximate='tanh')", UNTYPED),
    ("silu", [(4, 8)], "F.silu", UNTYPED),
    ("relu", [(4, 8)], "F.relu", UNTYPED),
]
HALVES = {"float16": 2.0**-11, "bfloat16": 2.0**-8}  # and how far a number may be from its neighbour, relatively
ROUNDINGS = 6  # of results and of operands
each = pytest.mark.parametrize("row", ROWS, ids=lambda r: r[0])
rows_at_300 = [r for r in ROWS if r[3] != PRODUCTS and r[0] != "prod"]


def drawn(row, rng, scale=1.0):
    """The inputs of a row; the first at a scale."""
    shapes = row[1]
    arrays = [np.array([1, 0, 7, 3]) if s == "classes" else rng.standard_normal(s) for s in shapes]
    return [arrays[0] * scale, *arrays[1:]]


def own(torch, row):
    return eval(row[2], {"torch": torch, "F": torch.nn.functional})  # of the table above


def ours(name, to="torch"):
    return getattr(sg.load(getattr(library, name), to=to, check=False).module, name)


def weighted(torch, out):
    return (out.double() * torch.linspace(0.5, 1.5, out.numel(), dtype=torch.float64).reshape(out.shape)).sum()


def pulled(torch, call, tensors):
    """The result and its gradients."""
    moved = [t.detach().requires_grad_() if t.is_floating_point() else t for t in tensors]
    out = call(*moved)
    return [out.detach(), *torch.autograd.grad(weighted(torch, out), [t for t in moved if t.is_floating_point()])]


def as_kind(torch, arrays, kind):
    tensors = [torch.from_numpy(a) for a in arrays]
    return [t.to(getattr(torch, kind)) if t.is_floating_point() else t for t in tensors]


def compared(torch, row, arrays, kind):
    """Types are torch's, and numbers as close to those of float64 as torch's are, up to roundings."""
    halves = as_kind(torch, arrays, kind)
    found, theirs = (pulled(torch, call, halves) for call in (ours(row[0]), own(torch, row)))
    doubles = [t.double() if t.is_floating_point() else t for t in halves]
    for a, b, exact in zip(found, theirs, pulled(torch, own(torch, row), doubles), strict=True):
        assert a.dtype == b.dtype
        exact = exact.to(a.dtype).double()  # which may be infinite
        size = exact[exact.isfinite()].abs().max().item() if exact.isfinite().any() else 0.0
        known = max((b.double() - exact).abs().nan_to_num(0.0).max().item(), ROUNDINGS * HALVES[kind] * size)
        torch.testing.assert_close(a.double(), exact, rtol=0, atol=known)


@each
@pytest.mark.parametrize("kind", HALVES)
def test_as_torch_in_half_precision(row, kind, torch, rng):
    compared(torch, row, drawn(row, rng), kind)


@pytest.mark.parametrize("row", rows_at_300, ids=lambda r: r[0])
def test_numbers_whose_squares_overflow(row, torch, rng):
    compared(torch, row, drawn(row, rng, 300.0), "float16")


@each
@pytest.mark.parametrize("inside", [True, False], ids=["backward inside", "backward outside"])
def test_autocast(row, inside, torch, rng):
    """The type of the result, gradients in that of the inputs, and numbers up to the rounding of products."""
    call, singles = ours(row[0]), as_kind(torch, drawn(row, rng), "float32")
    wanted = {PRODUCTS: torch.bfloat16, FLOAT32: torch.float32, UNTYPED: torch.float32}[row[3]]
    moved = [t.requires_grad_() if t.is_floating_point() else t for t in singles]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = call(*moved)
        half = call(*(t.bfloat16() if t.is_floating_point() else t for t in singles))
    reals = [t for t in moved if t.is_floating_point()]
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=inside):
        gradients = torch.autograd.grad(weighted(torch, out), reals)
    assert out.dtype == wanted
    assert half.dtype == (torch.bfloat16 if row[3] == UNTYPED else wanted)
    assert {g.dtype for g in gradients} == {torch.float32}
    close = ROUNDINGS * HALVES["bfloat16"] if wanted == torch.bfloat16 else 1e-5
    for a, b in zip([out.detach(), *gradients], pulled(torch, call, singles), strict=True):
        torch.testing.assert_close(a.float(), b, rtol=0, atol=close * b.abs().max().item())


@pytest.mark.usefixtures("triton")
@pytest.mark.parametrize("row", [r for r in ROWS if r[3] != PRODUCTS], ids=lambda r: r[0])
def test_autocast_of_kernels(row, torch, rng):
    """The type of the result, which a device without numbers tells."""
    try:
        ((path, text),) = sg.generate(getattr(library, row[0]), to="triton", check=False).items()
    except UnsupportedError:
        assert row[0] == "prod"
        return
    call = getattr(module_from(f"autocast_{path}", text), row[0])
    for kind in ("float32", "bfloat16"):
        given = [t.to("meta") for t in as_kind(torch, drawn(row, rng), kind)]
        with torch.autocast("cpu", dtype=torch.bfloat16):
            assert call(*given).dtype == getattr(torch, kind if row[3] == UNTYPED else "float32")


def test_autocast_is_that_of_torchs_lists(torch):
    """What is in both has the same type; torch's own on a CPU has other lists."""
    from torch.testing._internal.autocast_test_lists import AutocastTestLists

    lists = AutocastTestLists(torch.device("cpu"))
    named = {
        kind: {entry[0] for part in parts for entry in getattr(lists, part)}
        for kind, parts in ((PRODUCTS, ("torch_fp16", "nn_fp16")), (FLOAT32, ("torch_fp32", "nn_fp32")))
    }
    found = {kind: [row[0] for row in ROWS if row[0] in names and row[3] != kind] for kind, names in named.items()}
    assert found == {PRODUCTS: [], FLOAT32: []}


@pytest.mark.parametrize("name", ["linear", "softmax", "attention"])
def test_autocast_leaves_float64(name, torch, rng):
    row = next(r for r in ROWS if r[0] == name)
    doubles = as_kind(torch, drawn(row, rng), "float64")
    with torch.autocast("cpu", dtype=torch.bfloat16):
        inside = pulled(torch, ours(name), doubles)
    for a, b in zip(inside, pulled(torch, ours(name), doubles), strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=0)


@pytest.mark.parametrize("name", ["layer_norm", "attention"])
def test_what_backward_computes_again_has_the_type_of_forward(name, torch, rng):
    """A gradient that is to be differentiated, under autocast, of what was computed without."""
    row = next(r for r in ROWS if r[0] == name)
    moved = [t.requires_grad_() for t in as_kind(torch, drawn(row, rng), "float32")]
    out = weighted(torch, ours(name)(*moved))
    plain = torch.autograd.grad(out, moved, retain_graph=True)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        again = torch.autograd.grad(out, moved, create_graph=True)
    for a, b in zip(again, plain, strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=1e-5 * b.abs().max().item())


@pytest.mark.parametrize("name", ["layer_norm", "attention"])
def test_compiled_under_autocast(name, torch, rng):
    row = next(r for r in ROWS if r[0] == name)
    singles = as_kind(torch, drawn(row, rng), "float32")
    torch._dynamo.reset()
    call = torch.compile(ours(name), fullgraph=True, backend="aot_eager")
    with torch.autocast("cpu", dtype=torch.bfloat16):
        for a, b in zip(pulled(torch, call, singles), pulled(torch, ours(name), singles), strict=True):
            torch.testing.assert_close(a, b, rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("name", ["softmax", "layer_norm"])
def test_what_is_saved_is_in_half_precision(name, torch, rng):
    """As much memory as before: of what is as large as the input."""
    row = next(r for r in ROWS if r[0] == name)
    halves = [t.requires_grad_() for t in as_kind(torch, drawn(row, rng), "bfloat16")]
    saved = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: saved.append(t) or t, lambda t: t):
        ours(name)(*halves)
    large = [t.dtype for t in saved if t.shape == halves[0].shape]
    assert large and {*large} == {torch.bfloat16}


@pytest.mark.parametrize("name", ["layer_norm", "attention"])
def test_forward_mode_in_half_precision(name, torch, rng):
    row = next(r for r in ROWS if r[0] == name)
    module = sg.load(getattr(library, name), to="torch", check=False, functions=("forward", "backward", "jvp")).module
    halves = as_kind(torch, drawn(row, rng), "bfloat16")
    out, tangent = torch.func.jvp(getattr(module, name), tuple(halves), tuple(halves))
    doubles = tuple(t.double() for t in halves)
    _, exact = torch.func.jvp(own(torch, row), doubles, doubles)
    assert out.dtype == tangent.dtype == torch.bfloat16
    size = exact.abs().max().item()
    torch.testing.assert_close(tangent.double(), exact, rtol=0, atol=2 * ROUNDINGS * HALVES["bfloat16"] * size)


IN_JAX = [
    ("softmax", "jax.nn.softmax"),
    ("log_softmax", "jax.nn.log_softmax"),
    ("logsumexp", "lambda x: jax.nn.logsumexp(x, axis=-1)"),
    ("gelu", "jax.nn.gelu"),
    ("silu", "jax.nn.silu"),
    ("layer_norm", ""),  # flax has it: the numbers are compared alone
    ("rms_norm", ""),
    ("attention", ""),
    ("linear", ""),
    ("mse_loss", ""),
]


@pytest.mark.parametrize("name, theirs", IN_JAX, ids=lambda x: x if "." not in x else "")
@pytest.mark.parametrize("kind", HALVES)
@pytest.mark.in_turn
def test_in_jax(name, theirs, kind, jax, rng):
    """The type of the inputs, in values and gradients, and the numbers of float64."""
    jnp = jax.numpy
    row = next(r for r in ROWS if r[0] == name)
    halves = [jnp.asarray(a, kind) for a in drawn(row, rng, 300.0 if name.endswith("_norm") else 1.0)]

    def both(call, arrays):
        out, pull = jax.vjp(call, *arrays)
        return [out, *pull(jnp.linspace(0.5, 1.5, out.size).reshape(out.shape).astype(out.dtype))]

    found = both(ours(name, "jax"), halves)
    own = eval(theirs, {"jax": jax}) if theirs else ours(name, "jax")  # of the table above
    for a, b in zip(found, both(own, [a.astype("float64") for a in halves]), strict=True):
        assert a.dtype == kind
        size = float(jnp.abs(b).max())
        np.testing.assert_allclose(
            np.asarray(a, "float64"), b, rtol=0, atol=2 * ROUNDINGS * HALVES[kind] * max(size, math.ldexp(1, -14))
        )


def test_products_of_jax_are_added_up_in_float32(jax):
    """Where sums follow: 300**2 * 8 is beyond the numbers of float16, and the softmax of it is not."""
    q = jax.numpy.full((4, 64), 300.0, "float16")
    out = ours("attention", "jax")(q, q, q)
    assert out.dtype == "float16" and bool((out == 300).all())
