"""An equation that a framework computes by one call is that call, whatever its layout; and it is what it says."""

from __future__ import annotations

import pytest

import symgrad as sg

CONVOLUTIONS = (
    ("one_axis", "f(x[n,c,w], k[o,c,p])[b,f,i] = sum[d,r](x[b,d,i+r] * k[f,d,r])", "_conv(x, k)"),
    (
        "stride_and_dilation",
        "f(x[n,c,w], k[o,c,p]; s=1, e=1)[b,f,i] = sum[d,r](x[b,d,s*i+e*r] * k[f,d,r])",
        "_conv(x, k, stride=s, dilation=e)",
    ),
    (
        "each_axis_its_own_stride",
        "f(x[n,c,h,w], k[o,c,p,q])[b,f,i,j] = sum[d,r,t](x[b,d,2*i+r,3*j+t] * k[f,d,r,t])",
        "_conv(x, k, stride=(2, 3))",
    ),
    (
        "channels_last",
        "f(x[n,h,w,c], k[p,q,c,o])[b,i,j,f] = sum[d,r,t](x[b,i+r,j+t,d] * k[r,t,d,f])",
        "_conv(x.permute(0, 3, 1, 2), k.permute(3, 2, 0, 1)).permute(0, 2, 3, 1)",
    ),
    ("no_batch", "f(x[c,w], k[o,c,p])[f,i] = sum[d,r](x[d,i+r] * k[f,d,r])", "_conv(x[None], k)[0]"),
    ("no_channels", "f(x[n,w], k[p])[b,i] = sum[r](x[b,i+r] * k[r])", "_conv(x[:, None], k[None, None])[:, 0]"),
    ("channel_by_channel", "f(x[n,c,w], k[c,p])[b,d,i] = sum[r](x[b,d,i+r] * k[d,r])", "groups=c)"),
    ("scaled", "f(x[n,c,w], k[o,c,p]; a=2.0)[b,f,i] = sum[d,r](a * x[b,d,i+r] * k[f,d,r])", "_conv("),
    ("weights_of_two", "f(x[n,w], k[p], m[p])[b,i] = sum[r](x[b,i+r] * k[r] * m[r])", "_conv("),
    (
        "uneven_border",
        "f(x[n,w], k[3])[b,i] = sum[r](where(i + r >= 1 & i + r < w + 1, x[b,i+r-1], 0) * k[r])",
        "_conv(",
    ),
)


@pytest.mark.parametrize(("text", "call"), [row[1:] for row in CONVOLUTIONS], ids=[row[0] for row in CONVOLUTIONS])
def test_a_convolution_is_one_call(text, call, torch):
    """The check runs it, and its gradients, at sizes of nothing too."""
    (printed,) = sg.generate(sg.parse(text), to="torch", check=False).values()
    assert call in printed.split("def setup_context")[0]
    assert sg.check(sg.parse(text), to="torch").ok


STEPS = (
    ("borders", "where(i > 0, u[t,i-1], 0) + where(i < n-1, u[t,i+1], 0)"),
    ("a_ring", "u[t,(i-1)%n] * u[t,(i+1)%n]"),
    ("windows", "sum[j](where(i >= j, u[t,i-j], 0) * w[j])"),
    ("places", "u[t,p[t,i]]"),
)


@pytest.mark.parametrize("step", [row[1] for row in STEPS], ids=[row[0] for row in STEPS])
def test_time_steps_of_torch_write_rows_and_copy_no_history(step, torch):
    """Twice the steps make twice the elements."""
    from torch.utils._python_dispatch import TorchDispatchMode

    class Elements(TorchDispatchMode):
        count = 0

        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            found = function(*args, **(kwargs or {}))
            if not function.is_view and torch.is_tensor(found):
                self.count += found.numel()
            return found

    text = f"f(x[n], w[m], s[k], p[k,n]: int) -> u: u[0,i] = x[i]; u[t+1,i] = s[t]*sin(u[t,i]) + {step}"
    code = sg.load(sg.parse(text), to="torch", check=False)
    counts = []
    for k in (20, 40):
        tensors = [torch.full(shape, 0.1, requires_grad=True) for shape in ((8,), (3,), (k,))]
        places = torch.arange(8).flip(0).expand(k, 8)
        with Elements() as elements:
            code.f(*tensors, places).sum().backward()
        counts.append(elements.count)
    assert counts[1] < 2.1 * counts[0]


@pytest.mark.parametrize("step", [row[1] for row in STEPS], ids=[row[0] for row in STEPS])
def test_time_steps_of_jax_hand_on_rows(step, jax):
    """No turn of a loop has an array of all turns, in the second derivative neither."""
    text = f"f(x[n], w[m], s[k], p[k,n]: int) -> u: u[0,i] = x[i]; u[t+1,i] = s[t]*sin(u[t,i]) + {step}"
    code = sg.load(sg.parse(text), to="jax", check=False)
    k, n, m = 40, 8, 3
    x, w, s = (jax.numpy.full(size, 0.1) for size in (n, m, k))
    p = jax.numpy.zeros((k, n), int)

    def slope(x, w, s):
        return (jax.grad(lambda x: (code.f(x, w, s, p) ** 2).sum())(x) ** 2).sum()

    traced = jax.make_jaxpr(jax.grad(slope, (0, 1, 2)))(x, w, s)
    loops = [e for e in _inside(traced.jaxpr) if e.primitive.name == "scan"]
    assert len(loops) >= 4
    for loop in loops:
        inside = [v.aval.size for e in _inside(loop.params["jaxpr"].jaxpr) for v in e.outvars]
        assert max(inside) < k * n


def _inside(jaxpr):
    """The equations of a jaxpr, and those inside of them."""
    for e in jaxpr.eqns:
        yield e
        for part in e.params.values():
            inner = getattr(part, "jaxpr", None)
            if inner is not None:
                yield from _inside(getattr(inner, "jaxpr", inner))


OTHERS = (
    ("backwards", "f(x[n,w], k[p])[b,i] = sum[r](x[b,i-r+p-1] * k[r])"),
    ("two_batches", "f(x[a,b,w], k[p])[m,n,i] = sum[r](x[m,n,i+r] * k[r])"),
)


@pytest.mark.parametrize("text", [row[1] for row in OTHERS], ids=[row[0] for row in OTHERS])
def test_what_no_call_says_is_windows(text, torch):
    (printed,) = sg.generate(sg.parse(text), to="torch", check=False).values()
    assert "_windows(" in printed and "_conv" not in printed
