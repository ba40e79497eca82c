"""Names that printed Python has a use for, as those of everything that a user names."""

import numpy as np

import symgrad as sg

NAMES = """_inputs _real _cotangent _cotangents np jnp torch jax math zip range len max forward backward saved
    grad_output needs_input_grad ctx dtype grad_x x has_x places zero batch special any min list dict tuple print self
    builtins inputs output arguments result np_""".split()
PAIRS = list(zip(NAMES, [*NAMES[1:], NAMES[0]], strict=True))

ROWS = {
    "scalars": f"f({', '.join(NAMES)}) = " + " + ".join(f"sin({a})*{b}" for a, b in PAIRS),
    "vectors": f"f({', '.join(f'{n}[n]' for n in NAMES)})[i] = " + " + ".join(f"sin({a}[i])*{b}[i]" for a, b in PAIRS),
    "sizes": "f(x[len,max], w[max,range])[i,j] = sum[zip](x[i,zip]*w[zip,j])/max + len",
    "packs": "f(x[...,len], w[len])[...] = sum[np](x[...,np]*w[np]**2)",
    "indices": "f(x[n,m])[np,len] = sin(x[np,len]) + sum[range](x[np,range])",
    "options": "f(x[n]; max=2, saved=1.5, np=2.5, forward=1.5) = sum[i](x[i]**max)*saved*np*forward",
    "locals": "f(x[n], w): np[i] = sin(x[i])*w; saved[i] = exp(np[i]); grad_output[i] = np[i]*saved[i]; "
    "max[i] = cos(saved[i]); out = sum[i](grad_output[i]*max[i])",
    "results": "f(x[n], w) -> np, saved: np[i] = sin(x[i])*w; saved = sum[i](np[i]**2)",
    "recurrence": "f(x[range], a): len[0] = a; len[t+1] = tanh(len[t])*x[t]; out = sum[i](len[i])",
    "subscripts": "f(jnp[np,len], places[m]: int)[i,j] = sin(jnp[places[i],j])",
    "masked": "f(jnp[n], places[n]: int; max=-100)[i] = where(places[i] != max, jnp[places[i]], 0)",
    "windows": "f(x[slice], w[len])[i:slice-len+1] = sum[range](x[i+range]*w[range])",
    "triangle": "f(jnp[len,len]) = sum[i,j](where(j <= i, jnp[i,j], 0))",
    "a series": "f(near, series) = near*series + sin(near)/near",
    "the function": "f(f, x) = f*x",
}

FUNCTIONS = """np jnp jax torch math main zip max range real _inputs _real _cotangent forward backward saved
    grad_output Tensor""".split()


def computes(name, to):
    """A function of that name computes: what the file calls itself, an import or a builtin yields to it."""
    f = sg.load(sg.parse(f"{name}(x[n], w) = sum[i](x[i]**2*w)"), to=to, check=False)
    out, saved = f.forward(np.array([1.0, 2.0]), np.array(3.0))
    grad_x, grad_w = f.backward(saved)
    assert (out, [*grad_x], grad_w) == (15, [6, 12], 5)
