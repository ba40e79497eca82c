"""Printed torch is what torch's own functions are: differentiable twice, batched, compiled, cast."""

from __future__ import annotations

import re

import numpy as np
import pytest
from library_inputs import by_kinds, function, inputs, module, reals, symmetrised

import symgrad as sg
from symgrad import library

each_kind = pytest.mark.parametrize("name", by_kinds("torch"))
# dynamo makes one of every autograd.Function, which torch itself says is deprecated
pytestmark = [
    pytest.mark.filterwarnings("ignore:.*should not be instantiated.*:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:.*torch.jit.*:DeprecationWarning"),  # inductor imports what torch deprecates
]
INDUCTOR = ["softmax", "linear", "layer_norm", "gelu", "attention"]
SLOW = 150  # elements from which differences are taken along random directions


def of(name):
    return getattr(module(name, "torch"), function(name).name)


def closed(torch, name):
    """A function of the real inputs alone, and these."""
    arrays = inputs(name)
    fixed = {n: torch.from_numpy(np.array(a)) for n, a in arrays.items()}
    moving = reals(name)
    symmetric = symmetrised(name, lambda x: x.mT)

    def call(*tensors):
        given = dict(zip(moving, tensors, strict=True))
        given = {n: symmetric[n](t) if n in symmetric else t for n, t in given.items()}
        return of(name)(*(given.get(n, fixed[n]) for n in function(name).inputs))

    return call, [fixed[n].clone().requires_grad_() for n in moving]


@each_kind
@pytest.mark.in_turn
def test_gradients_and_their_gradients(name, torch):
    call, tensors = closed(torch, name)
    fast = sum(t.numel() for t in tensors) > SLOW
    assert torch.autograd.gradcheck(call, tensors, check_batched_grad=not fast, check_undefined_grad=True,
                                    fast_mode=fast)  # fmt: skip
    assert torch.autograd.gradgradcheck(call, tensors, gen_non_contig_grad_outputs=True, fast_mode=True)


def total(result):
    results = result if isinstance(result, tuple) else (result,)
    return sum((r * (k + 1)).sin().sum() for k, r in enumerate(results) if r.is_floating_point())


@each_kind
@pytest.mark.in_turn
def test_the_check_agrees(name, torch):
    """Every subset of gradients, vmap, autocast, half precision, and what else it asks."""
    report = sg.check(getattr(library, name), to="torch")
    assert report.ok, report


@each_kind
@pytest.mark.in_turn
def test_compiles_whole(name, torch):
    compiles(torch, name, "aot_eager")


@pytest.mark.parametrize("name", INDUCTOR)
def test_compiles_to_machine_code(name, torch):
    compiles(torch, name, "inductor")


def compiles(torch, name, backend):
    torch._dynamo.reset()
    found = []
    for call in (of(name), torch.compile(of(name), fullgraph=True, backend=backend)):
        tensors = {n: torch.from_numpy(np.array(a)) for n, a in inputs(name).items()}
        moving = [tensors[n].requires_grad_() for n in reals(name)]
        found.append(torch.autograd.grad(total(call(*tensors.values())), moving))
    for a, b in zip(*found, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("name", ["linear", "layer_norm", "softmax", "conv2d", "cross_entropy", "gru"])
def test_tensors_without_memory(name, torch):
    """On torch's device `meta` there are shapes alone."""
    call = of(name)
    tensors = [torch.from_numpy(np.array(a)) for a in inputs(name).values()]
    expected = call(*tensors)
    empty = [t.to("meta").requires_grad_(t.is_floating_point()) for t in tensors]
    out = call(*empty)
    assert (out.device.type, out.shape, out.dtype) == ("meta", expected.shape, expected.dtype)
    out.sum().backward()
    assert [t.grad.shape for t in empty if t.requires_grad] == [t.shape for t in empty if t.requires_grad]


def test_of_nothing(torch):
    """A softmax over no elements has none, as torch's own; a sum of exponentials of nothing is 0, and its logarithm."""
    x = torch.ones(2, 0, requires_grad=True)
    out = of("softmax")(x)
    assert out.shape == (2, 0) and torch.autograd.grad(out.sum(), x)[0].shape == (2, 0)
    assert of("softmax")(torch.ones(0, 3)).shape == (0, 3)
    assert of("logsumexp")(x).tolist() == torch.logsumexp(x, 1).tolist()


@pytest.mark.parametrize("options", [{}, {"ignore_index": 1}, {"ignore_index": -1}, {"smoothing": 0.2}], ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_ignored_targets_are_those_of_torch(options, weighted, torch):
    """A class that does not count may be any number; -100, if none is named."""
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(5, 3, dtype=torch.float64, generator=generator)
    target = torch.tensor([2, options.get("ignore_index", -100), 0, 1, 1])
    weight = torch.tensor([0.5, 2.0, 1.5], dtype=torch.float64) if weighted else None
    named = {"label_smoothing" if n == "smoothing" else n: v for n, v in options.items()}
    fixed = {n: v for n, v in options.items() if n == "smoothing"}
    ours = sg.load(sg.library.cross_entropy, to="torch", check=False, **fixed).module.cross_entropy
    found = []
    for loss in (
        lambda x: ours(x, target, weight, **{n: v for n, v in options.items() if n not in fixed}),
        lambda x: torch.nn.functional.cross_entropy(x, target, weight, **named),
    ):
        x = logits.clone().requires_grad_()
        out = loss(x)
        found.append((out.detach(), *torch.autograd.grad(out, x)))
    for a, b in zip(*found, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("name", ["linear", "layer_norm", "softmax", "lstm"])
def test_any_layout(name, torch):
    """grad_output from sum() has stride 0; inputs may be transposed or sliced."""
    call, tensors = closed(torch, name)
    strided = [t.detach().mT.contiguous().mT.requires_grad_() if t.ndim > 1 else t for t in tensors]
    results = [call(*ts) for ts in (tensors, strided)]
    sums = [sum(r.sum() for r in (x if isinstance(x, tuple) else (x,))) for x in results]
    ours, theirs = (torch.autograd.grad(s, ts) for s, ts in zip(sums, (tensors, strided), strict=True))
    for a, b in zip(ours, theirs, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-12, atol=1e-13)


def test_saves_only_what_a_needed_gradient_reads(torch):
    linear = of("linear")
    x, weight = torch.ones(3, 2), torch.ones(4, 2)
    for needs, saved in (((True, False), [False, True]), ((False, True), [True, False]), ((True, True), [True, True])):
        out = linear(*(t.clone().requires_grad_(n) for t, n in zip((x, weight), needs, strict=True)))
        assert [t is not None for t in out.grad_fn.saved_tensors] == saved


def test_grad_output_is_left_alone(torch):
    call, tensors = closed(torch, "layer_norm")
    out = call(*tensors)
    seed = torch.randn_like(out)
    before = seed.clone()
    torch.autograd.grad(out, tensors, seed)
    assert torch.equal(seed, before)


def test_mixed_types_promote(torch):
    x, weight = torch.ones(2, 3, requires_grad=True), torch.ones(4, 3, dtype=torch.float64, requires_grad=True)
    out = of("linear")(x, weight)
    out.sum().backward()
    assert (out.dtype, x.grad.dtype, weight.grad.dtype) == (torch.float64, torch.float32, torch.float64)


def test_optional_inputs_and_options_by_name(torch):
    x, weight, bias = torch.ones(2, 3), torch.ones(4, 3), torch.ones(4, requires_grad=True)
    of("linear")(x, weight, bias=bias).sum().backward()
    assert torch.equal(bias.grad, torch.full((4,), 2.0))
    of("layer_norm")(x, torch.ones(3), torch.ones(3), eps=0.1)


REFUSED = (
    ("linear", lambda t: (t.ones(2, 3), t.ones(4, 5)), ValueError, "x has k = 3 (axis 1), weight has k = 5 (axis 1)"),
    ("linear", lambda t: (t.ones(2), t.ones(4, 5)), ValueError, "expected (n, k)"),
    ("softmax", lambda t: (t.ones(2, 3, dtype=t.int64),), TypeError, "x has dtype torch.int64, expected floating"),
    ("softmax", lambda t: ([1.0, 2.0],), TypeError, "x is of the type list, expected a torch.Tensor"),
    ("embedding", lambda t: (t.ones(2, 3), t.ones(3)), TypeError, "token has dtype torch.float32"),
)


@pytest.mark.parametrize(("name", "arguments", "kind", "said"), REFUSED, ids=[f"{r[0]}-{r[3][:20]}" for r in REFUSED])
def test_refuses(name, arguments, kind, said, torch):
    with pytest.raises(kind) as error:
        of(name)(*arguments(torch))
    assert said in str(error.value)


@pytest.mark.parametrize("kind", ["uint8", "int8", "int16", "int32", "int64"])
def test_any_integers_are_subscripts(kind, torch):
    """torch itself takes uint8 for a mask."""
    table, token = torch.arange(8.0).reshape(4, 2), torch.tensor([3, 0, 2, 1], dtype=getattr(torch, kind))
    assert torch.equal(of("embedding")(table, token), table[[3, 0, 2, 1]])


@pytest.mark.parametrize("text", ["f(x[n,m])[j:3] = x[n-1-2*j,m-1]", "f(x[n,m], t[k]: int)[j] = x[t[j],0]"])
def test_numbers_stand_beside_arrays_of_subscripts(text, torch):
    assert sg.check(sg.parse(text), to="torch").ok


def test_second_derivative_where_a_softplus_bends(torch):
    at_zero = torch.zeros((), dtype=torch.float64)
    torch.testing.assert_close(torch.func.grad(torch.func.grad(of("mish")))(at_zero), at_zero + 0.64)


@pytest.mark.parametrize(
    "text",
    [
        "f(x, y) = where(y == 0, x**2, x**2/y)",
        "f(x, y) = where(1/y > 5, x**2, x**2/y)",
        "f(x, y) = where(x > 0, x**2, 2*x/y) + where(y == 0, 0, x/y)",
    ],
)
def test_second_derivative_where_the_other_branch_has_none(text, torch):
    f = sg.load(sg.parse(text), to="torch", check=False).module.f
    x, y = (torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in (3.0, 0.0))
    (first,) = torch.autograd.grad(f(x, y), x, create_graph=True)
    assert [g.item() for g in torch.autograd.grad(first, (x, y))] == [2, 0]


OWN = [  # (inputs, what a function returns that is written for torch's tensors)
    ("x[n,m]", "torch.mean(x**2)"),
    ("x[n,m]", "torch.sum(x, dim=1, keepdim=True) + torch.amax(input=x, dim=1, keepdim=True)"),
    ("x[n,m], y[m,k]", "torch.mm(x, y) + torch.matmul(x, y) + torch.einsum('ij,jk->ik', x, y)"),
    ("x[n,m]", "torch.softmax(x, dim=0) - softmax(x, 1)*F.log_softmax(x, dim=-1)"),
    ("x[n,m]", "torch.logsumexp(x, dim=1)"),
    ("x[n], z[n]", "torch.stack([x, z], dim=1)"),
    ("x[n], z[n]", "torch.cat([x, z], dim=0)"),
    ("x[n]", "torch.clamp(x, min=-0.5) + torch.clamp(x, -1, 1) + torch.clip(x, max=0.5)"),
    ("x[n]", "torch.where(x > 0, x, torch.exp(x)) + torch.sigmoid(x)*F.relu(x)"),
    ("x[n,m]", "torch.cumsum(x, dim=0) + torch.flip(x, dims=(1,))"),
]


@pytest.mark.parametrize(("inputs", "body"), OWN, ids=[row[1] for row in OWN])
def test_a_function_written_for_torch_is_declared_as_it_stands(torch, inputs, body):
    names, shapes = zip(*re.findall(r"(\w)\[([\w,]+)]", inputs), strict=True)
    space = {"torch": torch, "F": torch.nn.functional, "softmax": torch.softmax}
    exec(f"def own({', '.join(names)}): return {body}", space)
    sizes = {"n": 3, "m": 2, "k": 4}
    given = [np.random.default_rng(2).standard_normal([sizes[n] for n in shape.split(",")]) for shape in shapes]
    code = sg.load(sg.function(inputs)(space["own"]), to="numpy")
    np.testing.assert_allclose(code.forward(*given)[0], space["own"](*map(torch.tensor, given)).numpy(), rtol=1e-14)
