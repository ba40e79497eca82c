"""Subscripts from data that are out of range: refused, and never counted from the end."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from library_inputs import function, module
from outside import OUTSIDE, refuses
from test_given_subscripts import SUBSCRIPTS, TYPES, VALUES, compare, exact_beside, loaded, loaded_value

import symgrad as sg
from symgrad import library

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*should not be instantiated.*:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:.*torch.jit.*:DeprecationWarning"),
]

NUMBERS = np.arange(12.0).reshape(3, 4)
ROWS = (  # a function, what stands before its subscripts and behind them, subscripts that it takes, how many there are
    ("embedding", (NUMBERS,), (), [2, 0, 1], 3),
    ("cross_entropy", (NUMBERS,), (), [3, 0, 1], 4),
    ("cross_entropy", (NUMBERS,), (), [-100, 0, 1], 4),
    ("nll_loss", (NUMBERS,), (np.ones(4),), [3, 0, 1], 4),
    ("take_along_axis", (NUMBERS,), (), [[3, 0], [1, 2], [2, 3]], 4),
    ("scatter_add", (NUMBERS,), (NUMBERS,), [2, 0, 2], 3),
)
REFUSED = r"out of bounds|out of range"
IDS = [f"{row[0]}-{row[3][0]}" for row in ROWS]
each = pytest.mark.parametrize(("name", "before", "behind", "good", "extent"), ROWS, ids=IDS)


def of(name, to):
    return getattr(module(name, to), function(name).name)


def wrong(good, extent):
    """Subscripts of which the last is out of range."""
    for value in (-1, -extent, extent):
        bad = np.array(good)
        bad.reshape(-1)[-1] = value
        yield bad


def call(torch, name, before, behind):
    """The first argument, and the sum of the result as a function of it and of the subscripts."""
    function = of(name, "torch")
    sys.modules.setdefault(function.__module__, module(name, "torch"))  # where torch.compile looks for names
    x, *more = map(torch.from_numpy, before)
    rest = [torch.from_numpy(x) for x in behind]
    return x, lambda x, subscripts: function(x, *more, subscripts, *rest).sum()


@each
def test_torch_says_what_numpy_says(name, before, behind, good, extent, torch):
    x, total = call(torch, name, before, behind)
    numpy = sg.load(getattr(library, name), check=False)
    for bad in wrong(good, extent):
        with pytest.raises(IndexError) as expected:
            numpy.forward(*before, bad, *behind)
        with pytest.raises(IndexError) as error:
            total(x, torch.from_numpy(bad))
        assert str(error.value) == str(expected.value)


@each
def test_torch_refuses_them_under_vmap(name, before, behind, good, extent, torch):
    x, total = call(torch, name, before, behind)
    taken = torch.tensor(good)
    gradient = torch.func.vmap(torch.func.grad(total), in_dims=(None, 0))
    np.testing.assert_array_equal(gradient(x, torch.stack([taken, taken]))[1], torch.func.grad(total)(x, taken))
    for bad in wrong(good, extent):
        with pytest.raises((IndexError, RuntimeError), match=REFUSED):  # an index refuses, or `gather`
            gradient(x, torch.stack([taken, torch.from_numpy(bad)]))


def refused_when_compiled(torch, backend, name, before, behind, good, extent):
    """`fullgraph` is that there is no break of the graph."""
    torch._dynamo.reset()
    x, total = call(torch, name, before, behind)
    compiled = torch.compile(total, fullgraph=True, backend=backend)
    np.testing.assert_allclose(compiled(x, torch.tensor(good)), total(x, torch.tensor(good)), rtol=1e-12)
    for bad in wrong(good, extent):
        with pytest.raises((IndexError, RuntimeError), match=REFUSED):
            compiled(x, torch.from_numpy(bad))


@each
def test_torch_refuses_them_compiled(name, before, behind, good, extent, torch):
    refused_when_compiled(torch, "aot_eager", name, before, behind, good, extent)


@pytest.mark.parametrize("row", [ROWS[1], ROWS[5]], ids=lambda row: row[0])
def test_torch_refuses_them_as_machine_code(row, torch):
    refused_when_compiled(torch, "inductor", *row)


@pytest.mark.parametrize("strict", [False, True])
@each
def test_torch_refuses_them_exported(name, before, behind, good, extent, strict, torch):
    x, total = call(torch, name, before, behind)

    class Loss(torch.nn.Module):
        def forward(self, x, subscripts):
            return total(x, subscripts)

    exported = torch.export.export(Loss(), (x, torch.tensor(good)), strict=strict).module()
    np.testing.assert_allclose(exported(x, torch.tensor(good)), total(x, torch.tensor(good)), rtol=1e-12)
    for bad in wrong(good, extent):
        with pytest.raises((IndexError, RuntimeError), match=REFUSED):
            exported(x, torch.from_numpy(bad))


@each
def test_torch_looks_at_no_number_on_a_device(name, before, behind, good, extent, torch):
    """The device `meta` has no numbers: to ask for one raises, as it would make the CPU wait for a GPU."""
    arrays = [*before, np.array(good), *behind]
    assert of(name, "torch")(*(torch.from_numpy(a).to("meta") for a in arrays)).device.type == "meta"


@pytest.mark.parametrize("to", ["torch", "jax", "torch_c"])
def test_the_check_asks_for_it(to, torch, jax):
    """A file that takes subscripts out of range is no longer called correct."""
    from symgrad.pipeline import printed, verified

    declaration = sg.parse("f(x[n], t[m]: int)[j:m] = x[t[j]]**2")
    assert sg.check(declaration, to=to).ok
    result = printed(declaration, to)
    artefact = result.load()
    taken, artefact.forward = artefact.forward, lambda x, t: taken(x, np.mod(t, max(len(x), 1)))
    report = verified(declaration, result, artefact)
    assert not report.ok and "does not raise IndexError" in str(report)


@each
def test_jax_says_what_numpy_says(name, before, behind, good, extent, jax):
    """Of what jax.jit does not trace, too."""
    f, numpy = of(name, "jax"), sg.load(getattr(library, name), check=False)
    x, *rest = before
    for bad in wrong(good, extent):
        with pytest.raises(IndexError) as expected:
            numpy.forward(*before, bad, *behind)
        for make in (lambda call: call, jax.jit):
            with pytest.raises(IndexError) as error:
                make(lambda x, bad=bad: f(x, *rest, bad, *behind))(x)
            assert str(error.value) == str(expected.value)


def test_jax_clamps_what_it_traces(jax):
    """Its files say so: nothing can be raised there."""
    take, add = jax.jit(of("take_along_axis", "jax")), jax.jit(of("scatter_add", "jax"))
    np.testing.assert_array_equal(take(NUMBERS[:1], np.array([[-1, 4]])), [[3, 3]])
    np.testing.assert_array_equal(add(NUMBERS, np.array([3]), NUMBERS[:1]), NUMBERS)


@pytest.mark.parametrize("to", ["torch", "jax"])
@pytest.mark.parametrize("declared", OUTSIDE)
def test_what_is_outside_is_refused_before_anything_runs(declared, to):
    refuses(declared, to)


@pytest.mark.parametrize("subscript", SUBSCRIPTS)
def test_torch_computes_subscripts(subscript, torch):
    code = loaded(subscript, "torch")

    def value_and_gradient(x, k):
        x = torch.tensor(x, requires_grad=True)
        out = code.f(x, torch.tensor(k))
        out.sum().backward()
        return out.detach(), x.grad

    # what else torch has of unsigned integers it does not compare: they are refused
    compare(subscript, [t for t in TYPES if t not in ("uint16", "uint32")], value_and_gradient)


@pytest.mark.parametrize("subscript", SUBSCRIPTS)
def test_jax_computes_subscripts(subscript, jax):
    code = loaded(subscript, "jax")

    def value_and_gradient(x, k):
        out, cotangents = jax.vjp(lambda x: code.f(x, k), x)
        return out, *cotangents(np.ones(len(k)))

    compare(subscript, TYPES, value_and_gradient)


@pytest.mark.parametrize("value", VALUES)
def test_torch_has_remainders_of_integers(value, torch):
    code = loaded_value(value, "torch")
    exact_beside(value, "float16", lambda x, k: code.f(torch.tensor(x).bfloat16(), torch.tensor(k)).float())


@pytest.mark.parametrize("value", VALUES)
def test_jax_has_remainders_of_integers(value, jax):
    code = loaded_value(value, "jax")
    exact_beside(value, "float16", lambda x, k: code.f(jax.numpy.asarray(x, "bfloat16"), k))
