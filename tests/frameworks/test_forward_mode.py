"""The function `jvp`: forward mode of torch and JAX, alone, mapped, and over and under reverse mode."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from library_inputs import function, inputs, reals

import symgrad as sg
from symgrad import library
from symgrad.errors import TargetError
from symgrad.pipeline import printed

JVP = ("forward", "backward", "jvp")
pytestmark = [
    pytest.mark.filterwarnings("ignore:.*torch.jit.*:DeprecationWarning"),  # torch's forward mode imports it
    pytest.mark.filterwarnings("ignore:There is a performance drop:UserWarning"),  # vmap of unfold's backward
]
# elementwise, reductions, products, windows, integers, options, recurrences, several outputs, conditions
NAMES = """gelu huber_loss softmax log_softmax layer_norm batch_norm linear matmul attention conv2d conv_transpose1d
    max_pool2d embedding cross_entropy scatter_add cumsum rnn gru lstm polar_to_cartesian
    causal_attention pad_reflect pixel_shuffle rms_norm masked_softmax prod""".split()
TEXTS = [  # what the library has not: an input that is absent, outputs that do not move, no floating point in `like`
    "f(x[n,k], w[m,k], b[m]?)[i,j] = sum[l](x[i,l]*w[j,l]) + b[j]",
    "f(x[n], y[n]) -> a, b: a[i] = 3*x[i]*y[i]; b[i] = floor(x[i])",
    "f(x[n]; k=3, a=0.5) = sum[i](a*x[i]**k)",
]
each = pytest.mark.parametrize("name", [*NAMES, *TEXTS])


@cache
def code(name, to):
    declared = getattr(library, name, None) or sg.parse(name)
    return getattr(printed(declared, to, {"functions": JVP}).load().module, declared_function(name).name)


@cache
def declared_function(name):
    return function(name) if name in NAMES else sg.parse(name)


def arrays_of(name):
    """The arrays of a call, and which of them move."""
    if name in NAMES:
        return inputs(name), reals(name)
    rng = np.random.default_rng(3)
    declared = declared_function(name)
    sizes = {"n": 2, "k": 3, "m": 4}
    shapes = {n: [sizes[e.name] for e in declared.table[n].shape] for n in declared.inputs}
    found = {n: None if n in declared.optional else rng.uniform(0.5, 0.95, s) for n, s in shapes.items()}
    return found, [n for n, a in found.items() if a is not None]


def closed(name, to, convert):
    """A function of the arrays that move, and these."""
    arrays, moving = arrays_of(name)
    fixed = {n: None if a is None else convert(np.array(a)) for n, a in arrays.items()}

    def call(*values):
        return code(name, to)(*({**fixed, **dict(zip(moving, values, strict=True))}.values()))

    return call, [fixed[n] for n in moving]


def total(result, sin):
    results = result if isinstance(result, tuple) else (result,)
    return sum(sin(r * (k + 1)).sum() for k, r in enumerate(results))


@each
@pytest.mark.in_turn
def test_torch(name, torch):
    call, tensors = closed(name, "torch", torch.from_numpy)
    moving = [t.clone().requires_grad_() for t in tensors]
    fast = sum(t.numel() for t in tensors) > 60
    assert torch.autograd.gradcheck(
        call, moving, check_forward_ad=True, check_batched_forward_grad=not fast, fast_mode=fast
    )
    assert torch.autograd.gradgradcheck(call, moving, check_fwd_over_rev=True, fast_mode=True)


@each
def test_torch_func(name, torch):
    """J by columns is J by rows; the Hessian by torch.func.hessian, forward over reverse, is that of reverse mode."""
    call, tensors = closed(name, "torch", torch.from_numpy)
    places = tuple(range(len(tensors)))
    found = torch.func.jacfwd(call, places)(*tensors)
    expected = torch.func.jacrev(call, places)(*tensors)
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-11)

    def scalar(x, *rest):
        return total(call(x, *rest), torch.sin)

    found = torch.func.hessian(scalar)(*tensors)
    expected = torch.func.jacrev(torch.func.jacrev(scalar))(*tensors)
    torch.testing.assert_close(found, expected, rtol=1e-8, atol=1e-10)


def test_torch_reverse_within_a_dual_level(torch):
    """Without create_graph what is saved does not move by itself: a product of the Hessian is right all the same."""
    dual = torch.autograd.forward_ad
    for name in ("log_softmax", "cross_entropy", "gru"):
        call, (x, *rest) = closed(name, "torch", torch.from_numpy)
        rest = tuple(rest)

        def gradient(t, call=call, rest=rest):
            return torch.autograd.grad(total(call(t, *rest), torch.sin), t)[0]

        with dual.dual_level():
            moving = dual.make_dual(x.clone().requires_grad_(), torch.ones_like(x))
            found = dual.unpack_dual(gradient(moving)).tangent
        step = 1e-6
        ends = [gradient((x + s * step).requires_grad_()) for s in (1, -1)]
        torch.testing.assert_close(found, (ends[0] - ends[1]) / (2 * step), rtol=1e-6, atol=1e-7)


@each
@pytest.mark.in_turn
def test_jax(name, jax):
    from jax.test_util import check_grads

    call, arrays = closed(name, "jax", jax.numpy.asarray)
    check_grads(jax.jit(call), arrays, order=2, modes=["fwd", "rev"], atol=1e-4, rtol=1e-4)


@each
@pytest.mark.in_turn
def test_jax_transforms(name, jax):
    """J by columns is J by rows; the Hessian by jax.hessian, forward over reverse, is that of reverse mode. One program
    of all that is asked, as JAX compiles for longer than all the rest takes."""
    call, arrays = closed(name, "jax", jax.numpy.asarray)
    places = tuple(range(len(arrays)))

    def asked(*xs):
        def scalar(x):
            return total(call(x, *xs[1:]), jax.numpy.sin)

        jacobians = jax.jacfwd(call, places)(*xs), jax.jacrev(call, places)(*xs)
        return *jacobians, jax.hessian(scalar)(xs[0]), jax.jacrev(jax.jacrev(scalar))(xs[0])

    forward, reverse, forward_over_reverse, reverse_twice = jax.jit(asked)(*arrays)
    for a, b in zip(*map(jax.tree_util.tree_leaves, (forward, reverse)), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(forward_over_reverse, reverse_twice, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("to", ["torch", "jax"])
def test_the_check_agrees(to):
    assert sg.check(library.layer_norm, to=to, functions=JVP).ok


@pytest.mark.parametrize(
    ("to", "declared", "kind", "said"),
    [
        ("scipy", library.softmax, TargetError, "and scipy has none such."),
    ],
)
def test_refuses(to, declared, kind, said):
    with pytest.raises(kind) as error:
        sg.generate(declared, to=to, functions=JVP, check=False)
    assert said in str(error.value)


def test_the_header_says_how_to_print_it_again():
    (text,) = sg.generate(library.softmax, to="torch", functions=JVP, check=False).values()
    assert "--to torch --functions forward,backward,jvp" in text
