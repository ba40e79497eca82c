"""PyTorch over the printed C: torch's own checks of operators and gradients, and the library that is compiled."""

from __future__ import annotations

import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from library_inputs import function, inputs, module, reals

import symgrad as sg
from symgrad.pipeline import printed

CC = shlex.split(os.environ.get("CC") or "cc")
pytestmark = pytest.mark.skipif(shutil.which(CC[0]) is None, reason="no C compiler")

NAMES = """softmax linear layer_norm conv2d embedding lstm cross_entropy rodrigues attention masked_softmax
    max_pool2d gru_cell rotary_halves huber_loss polyval total_variation""".split()
WITHOUT = {"linear": "bias", "conv2d": "bias"}  # what may be absent
CASES = [(name, None) for name in NAMES] + [*WITHOUT.items()]
each = pytest.mark.parametrize(("name", "absent"), CASES, ids=lambda v: v or "whole")
GENERATED = Path(__file__).parents[2] / "generated"


def of(name, to="torch_c"):
    return getattr(module(name, to), function(name).name)


def given(torch, name, absent=None):
    """The inputs as tensors; None for the one that is absent."""
    tensors = [None if n == absent else torch.from_numpy(np.array(a)) for n, a in inputs(name).items()]
    moving = reals(name)
    for n, t in zip(inputs(name), tensors, strict=True):
        if t is not None and n in moving:
            t.requires_grad_()
    return tensors


def total(result):
    results = result if isinstance(result, tuple) else (result,)
    return sum((r * (k + 1)).sin().sum() for k, r in enumerate(results) if r.is_floating_point())


def gradients(torch, call, tensors):
    moving = [t for t in tensors if t is not None and t.requires_grad]
    return torch.autograd.grad(total(call(*tensors)), moving)


def equal(torch, found, expected, **close):
    for a, b in zip(found, expected, strict=True):
        torch.testing.assert_close(a, b, **(close or {"rtol": 1e-12, "atol": 1e-13}))


@each
@pytest.mark.in_turn
def test_operators_are_as_torch_wants_them(name, absent, torch, monkeypatch):
    printed_module = module(name, "torch_c")
    backward, calls = printed_module._backward, []

    def recording(*arguments):
        calls.append(arguments)
        return backward(*arguments)

    monkeypatch.setattr(printed_module, "_backward", recording)
    tensors = given(torch, name, absent)
    gradients(torch, of(name), tensors)
    options = [o.default for o in function(name).options]
    found = torch.library.opcheck(printed_module._forward, (*tensors, *options))
    assert set(found.values()) == {"SUCCESS"}
    # without requires_grad, which would ask for the gradients of gradients that there are not
    passed = [a.detach() if torch.is_tensor(a) else a for a in calls[0]]
    assert set(torch.library.opcheck(backward, passed).values()) == {"SUCCESS"}


@each
def test_gradients(name, absent, torch):
    tensors = given(torch, name, absent)
    assert torch.autograd.gradcheck(of(name), tensors, check_undefined_grad=True)


@each
def test_gradients_are_those_of_printed_torch_in_any_layout(name, absent, torch):
    """Inputs are transposed, or read only every other element; grad_output has stride 0 after sum()."""
    expected = gradients(torch, of(name, "torch"), given(torch, name, absent))
    plain = [t if t is None else t.detach() for t in given(torch, name, absent)]
    layouts = (
        lambda t: t.mT.contiguous().mT if t.ndim > 1 else t,
        lambda t: t.repeat_interleave(2, -1)[..., ::2] if t.ndim else t,
    )
    for layout in layouts:
        tensors = [t if t is None else layout(t).requires_grad_(t.is_floating_point()) for t in plain]
        equal(torch, gradients(torch, of(name), tensors), expected, rtol=1e-10, atol=1e-12)
    moving = [t for t in tensors if t is not None and t.requires_grad]
    result = of(name)(*tensors)
    outputs = [r for r in (result if isinstance(result, tuple) else (result,)) if r.is_floating_point()]
    ones = torch.autograd.grad(outputs, moving, [torch.ones_like(o) for o in outputs], retain_graph=True)
    equal(torch, torch.autograd.grad(sum(o.sum() for o in outputs), moving), ones)


@each
@pytest.mark.in_turn
def test_compiles_whole(name, absent, torch):
    torch._dynamo.reset()
    tensors = given(torch, name, absent)
    compiled = torch.compile(of(name), fullgraph=True, backend="aot_eager")
    equal(torch, gradients(torch, compiled, tensors), gradients(torch, of(name), tensors))


@pytest.mark.parametrize("name", NAMES)
def test_batched(name, torch):
    """torch.vmap, by torch's own loop."""
    tensors = [t.detach() for t in given(torch, name)]
    stacked = torch.stack([tensors[0], tensors[0].flip(0)])
    dims = (0, *[None] * (len(tensors) - 1))
    found = torch.vmap(of(name), in_dims=dims)(stacked, *tensors[1:])
    for row in range(2):
        alone = of(name)(stacked[row], *tensors[1:])
        pairs = zip(found, alone, strict=True) if isinstance(alone, tuple) else [(found, alone)]
        for a, b in pairs:
            torch.testing.assert_close(a[row], b)


@pytest.mark.parametrize("kind", ["float16", "bfloat16", "float32"])
def test_other_precisions_are_computed_in_double(kind, torch):
    x, weight, bias = (t.detach().to(getattr(torch, kind)).requires_grad_() for t in given(torch, "linear"))
    out = of("linear")(x, weight, bias)
    exact = of("linear")(x.double(), weight.double(), bias.double())
    assert out.dtype == x.dtype
    assert torch.equal(out, exact.to(x.dtype))
    found = torch.autograd.grad(out.sum(), (x, weight, bias))
    assert [g.dtype for g in found] == [x.dtype] * 3
    assert of("linear")(x, weight.double(), bias).dtype == torch.float64


def test_integers_of_any_type(torch):
    table, token = given(torch, "embedding")
    assert torch.equal(of("embedding")(table, token.to(torch.int32)), of("embedding")(table, token))


def test_gradients_that_are_not_needed_are_not_computed(torch):
    x, weight, bias = (t.detach() for t in given(torch, "linear"))
    weight.requires_grad_()
    of("linear")(x, weight, bias).sum().backward()
    assert x.grad is None and bias.grad is None
    equal(torch, [weight.grad], [x.sum(0).expand(weight.shape)])


def test_an_input_without_elements_is_not_an_absent_one(torch):
    """A sum over nothing is 0; without w the factor is 1."""

    @sg.function
    def f(x: sg.Tensor["n"], y: sg.Tensor["m"], w: sg.Tensor["m"] = None):
        return x * sg.given(w, w.sum(), 1)

    f = sg.load(f, to="torch_c").module.f
    assert f(torch.ones(2), torch.ones(0)).tolist() == [1, 1]
    assert f(torch.ones(2), torch.ones(0), torch.ones(0)).tolist() == [0, 0]


def test_gradients_of_gradients_are_refused(torch):
    x, weight = given(torch, "linear", "bias")[:2]
    (grad_x,) = torch.autograd.grad(of("linear")(x, weight).sum(), x, create_graph=True)
    with pytest.raises(NotImplementedError, match="linear: there is no C code for the gradient of a gradient"):
        torch.autograd.grad(grad_x.sum(), weight)


FORWARD_MODE = {
    "jvp": lambda func, call, x: func.jvp(call, (x,), (x,)),
    "jacfwd": lambda func, call, x: func.jacfwd(call)(x),
    "jvp of vmap": lambda func, call, x: func.jvp(func.vmap(call), (x.expand(2, *x.shape),), (x.expand(2, *x.shape),)),
    "vmap of jvp": lambda func, call, x: func.vmap(lambda x: func.jvp(call, (x,), (x,)))(x.expand(2, *x.shape)),
}


@pytest.mark.filterwarnings("ignore:.*:DeprecationWarning")
@pytest.mark.parametrize("mode", FORWARD_MODE.values(), ids=list(FORWARD_MODE))
def test_forward_mode_is_refused(mode, torch):
    """torch itself gives tangents of 0 for an operator that has a gradient alone."""
    x, weight = (t.detach() for t in given(torch, "linear", "bias")[:2])
    with pytest.raises(NotImplementedError, match="linear: there is no forward mode"):
        mode(torch.func, lambda x: of("linear")(x, weight), x)


@pytest.mark.filterwarnings("ignore:.*:DeprecationWarning")
def test_what_has_no_tangent_is_called_beside_one_that_has(torch):
    x, weight = (t.detach() for t in given(torch, "linear", "bias")[:2])
    expected = of("linear")(x, weight)
    one = torch.tensor(1.0)
    value, tangent = torch.func.jvp(lambda a: a * of("linear")(x, weight), (one,), (one,))
    equal(torch, [value, tangent], [expected, expected])


def test_grad_output_is_left_alone(torch):
    tensors = given(torch, "layer_norm")
    out = of("layer_norm")(*tensors)
    seed = torch.randn_like(out)
    before = seed.clone()
    torch.autograd.grad(out, tensors, seed)
    assert torch.equal(seed, before)


REFUSED = (
    ("linear", lambda t: (t.ones(2, 3), t.ones(4, 5)), ValueError, "x has k = 3 (axis 1), weight has k = 5 (axis 1)"),
    ("softmax", lambda t: (t.ones(2, 3, dtype=t.int64),), TypeError, "x has dtype torch.int64, expected floating"),
    ("embedding", lambda t: (t.ones(2, 3), t.tensor([0, 2])), IndexError, "embedding: a subscript is out of range"),
    ("rotary_halves", lambda t: (t.ones(1, 1, 3), t.ones(1, 1)), ValueError, "rotary_halves: needs "),
)


@pytest.mark.parametrize(("name", "arguments", "kind", "said"), REFUSED, ids=[f"{r[0]}-{r[3][:20]}" for r in REFUSED])
def test_refuses(name, arguments, kind, said, torch):
    with pytest.raises(kind) as error:
        of(name)(*arguments(torch))
    assert said in str(error.value)


def test_refuses_other_devices(torch):
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        x = torch.empty(2, 3, device="cuda")
        with pytest.raises(ValueError, match="softmax: there is a tensor on cuda:0; the C code runs on the CPU"):
            of("softmax")(x)


def test_two_functions_of_one_name(torch):
    """torch knows operators by name: neither is called for the other."""
    square, cube = (sg.load(sg.parse(f"f(x) = x**{k}"), to="torch_c", check=False).module.f for k in (2, 3))
    x = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
    for f, value, slope in ((square, 4, 4), (cube, 8, 12), (square, 4, 4)):
        assert f(x).item() == value
        assert torch.autograd.grad(f(x), x)[0].item() == slope


# the library


def imported(folder, name="linear"):
    """The printed file, imported from a folder as a module of its own."""
    path = folder / f"{name}_torch_c.py"
    spec = importlib.util.spec_from_file_location(f"{folder.name}_{path.stem}", path)
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


@pytest.fixture
def folder(tmp_path, torch):
    """A folder with the files of `linear`."""
    for file in GENERATED.joinpath("linear").iterdir():
        if file.suffix in (".c", ".h") or file.name.endswith("torch_c.py"):
            shutil.copy(file, tmp_path)
    return tmp_path


def test_is_compiled_once(folder, monkeypatch):
    imported(folder)
    (made,) = folder.glob("__pycache__/*.so")
    times = made.stat().st_mtime_ns
    imported(folder)
    assert [made] == [*folder.glob("__pycache__/*.so")] and made.stat().st_mtime_ns == times
    with folder.joinpath("linear.c").open("a") as source:
        source.write("/* changed */\n")
    imported(folder)
    assert len([*folder.glob("__pycache__/*.so")]) == 2


def test_a_library_made_beforehand_needs_no_compiler(folder, torch, monkeypatch):
    line = [*CC, *"-O2 -std=c99 -shared -fPIC -o linear.so linear.c -lm".split()]
    subprocess.run(line, cwd=folder, check=True)
    folder.joinpath("linear.c").unlink()
    monkeypatch.setenv("CC", "no-such-compiler")
    assert torch.equal(imported(folder).linear(torch.ones(1, 2), torch.ones(1, 2)), torch.tensor([[2.0]]))


def test_a_folder_that_is_only_to_be_read(folder, torch, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert torch.equal(imported(folder).linear(torch.ones(1, 2), torch.ones(1, 2)), torch.tensor([[2.0]]))
    assert not [*folder.glob("**/*.so")]


@pytest.mark.parametrize(("compiler", "said"), [("no-such-compiler", "there is no C compiler"), ("false", "failed")])
def test_without_a_compiler(compiler, said, folder, monkeypatch):
    monkeypatch.setenv("CC", compiler)
    with pytest.raises(ImportError, match=f"linear: .*{said}"):
        imported(folder)


def test_stands_on_its_own(folder):
    """It imports torch, and nothing of symgrad."""
    code = "import sys, linear_torch_c, torch; linear_torch_c.linear(torch.ones(1, 2), torch.ones(1, 2)); "
    code += "print([m for m in sys.modules if m.startswith('symgrad')])"
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "[]\n"), done.stderr


def test_the_c_is_that_of_the_target_c():
    files = printed(sg.library.linear, "torch_c").files
    assert {p: t for p, t in files.items() if not p.endswith(".py")} == dict(printed(sg.library.linear, "c").files)
