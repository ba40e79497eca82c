"""`--save` in torch, JAX and torch over C: they compute what the formula says, whatever forward saves."""

import pytest

import symgrad as sg
from symgrad import library

LOOP = sg.parse("f(x[n], w[n], c): u[i] = sum[j](w[j])*x[i]; h[0] = c; h[t+1] = sin(h[t]*u[t]); out = h[n]")
OPTIONAL = sg.parse("f(x[n], b[n]?): y[i] = exp(x[i]) + given(b, b[i], 2); out = sum[i](y[i])**2")
FUNCTIONS = {"attention": library.attention, "layer_norm": library.layer_norm, "a loop": LOOP, "optional": OPTIONAL}


@pytest.mark.parametrize("save", ["minimal", "all"])
@pytest.mark.parametrize("to", ["torch", "jax", "torch_c"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_check_agrees(name, to, save, torch, jax):
    report = sg.check(FUNCTIONS[name], to=to, save=save)
    assert report.ok, report


@pytest.mark.parametrize("save", ["minimal", "all"])
def test_torch_forward_mode(save, torch):
    assert sg.check(library.layer_norm, to="torch", save=save, functions=("forward", "backward", "jvp")).ok


def test_torch_holds_no_more_than_inputs(torch):
    code = sg.load(library.attention, to="torch", check=False, save="minimal")
    inputs = [torch.rand(5, 3, requires_grad=True) for _ in range(3)]
    held = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: held.append(t.data_ptr()) or t, lambda t: t):
        code.module.attention(*inputs)
    assert set(held) <= {x.data_ptr() for x in inputs}
