"""What is derived of a function is a function: its numbers are SymPy's, its code agrees in every language."""

from __future__ import annotations

import mathematics
import numpy as np
import pytest
import sympy
from formulas import ROWS
from numpy.testing import assert_allclose, assert_array_equal

import symgrad as sg
from symgrad import library
from symgrad.errors import TargetError, UnsupportedError
from symgrad.expr import Apply, postorder

x, y, z = sympy.symbols("x y z", real=True)

FUNCTIONS = {  # formula text: the same in SymPy
    "f(x, y) = (x**2*y, sin(x*y)/x, exp(x) + y)": ([x, y], [x**2 * y, sympy.sin(x * y) / x, sympy.exp(x) + y]),
    "f(x, y) = (atan2(y, x), sqrt(x**2 + y**2))": (
        [x, y],
        [sympy.atan2(y, x), sympy.sqrt(x**2 + y**2)],
    ),
    "f(x, y, z) = (x*cos(z) - y*sin(z), x*sin(z) + y*cos(z))": (
        [x, y, z],
        [x * sympy.cos(z) - y * sympy.sin(z), x * sympy.sin(z) + y * sympy.cos(z)],
    ),
    "f(x, y) = log(exp(x) + exp(y))": ([x, y], [sympy.log(sympy.exp(x) + sympy.exp(y))]),
    "f(x, y) = x**2*y + exp(x*y)": ([x, y], [x**2 * y + sympy.exp(x * y)]),
    "f(x, y, z) = (y - 1)**2 + x*z**3": ([x, y, z], [(y - 1) ** 2 + x * z**3]),  # with zeros in its Hessian
}
SCALARS = [text for text, (_, outputs) in FUNCTIONS.items() if len(outputs) == 1]
each_function = pytest.mark.parametrize("text", FUNCTIONS)
both = pytest.mark.parametrize("to", ["numpy", "c"])


def points(text):
    """Several points at once, as arrays of the inputs."""
    return np.random.default_rng(3).uniform(0.3, 1.7, (len(FUNCTIONS[text][0]), 5))


def results(function, text, to="numpy"):
    """What forward gives at the points, by name."""
    code = sg.load(function, to=to, check=False)
    found = code.forward(*points(text))[0]
    return dict(zip(function.outputs, found if isinstance(found, tuple) else (found,), strict=True))


def by_sympy(text, matrix):
    symbols, _ = FUNCTIONS[text]
    at = sympy.lambdify(symbols, matrix, "numpy")
    return np.stack([np.asarray(at(*p), dtype=float) for p in points(text).T])


@both
@each_function
@pytest.mark.in_turn
def test_the_jacobian_is_a_matrix_at_each_point(text, to):
    symbols, outputs = FUNCTIONS[text]
    found = results(sg.derived(sg.parse(text), "jacobian"), text, to)
    assert_allclose(found["jacobian"], by_sympy(text, sympy.Matrix(outputs).jacobian(symbols)), rtol=1e-13, atol=1e-15)
    values = [v for name, v in found.items() if name != "jacobian"]
    assert_allclose(np.stack(values, -1), by_sympy(text, sympy.Matrix(outputs))[..., 0], rtol=1e-13)


@both
@pytest.mark.parametrize("text", SCALARS)
def test_the_hessian_is_symmetric_to_the_last_bit(text, to):
    symbols, (output,) = FUNCTIONS[text]
    found = results(sg.derived(sg.parse(text), "hessian"), text, to)
    assert_allclose(found["hessian"], by_sympy(text, sympy.hessian(output, symbols)), rtol=1e-12, atol=1e-15)
    assert_array_equal(found["hessian"], found["hessian"].swapaxes(-1, -2))
    gradient = np.stack([found[f"gradient_{s}"] for s in symbols], -1)
    assert_allclose(gradient, by_sympy(text, sympy.Matrix([output]).jacobian(symbols))[:, 0], rtol=1e-13)


@each_function
def test_gauss_and_newton(text):
    found = results(sg.derived(sg.parse(text), "gauss_newton"), text)
    jacobian = found["jacobian"]
    r = np.stack([found[name] for name in found if name not in ("jacobian", "jtj", "jtr")], -1)
    assert_allclose(found["jtj"], jacobian.swapaxes(-1, -2) @ jacobian, rtol=1e-13, atol=1e-15)
    assert_array_equal(found["jtj"], found["jtj"].swapaxes(-1, -2))
    assert_allclose(found["jtr"], np.einsum("bij,bi->bj", jacobian, r), rtol=1e-13)


KINDS = ["jacobian 0", "jacobian 2", "gauss_newton 0", "hessian 3", "value_and_gradient 3", "gradient 4"]


@both
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.in_turn
def test_what_is_derived_is_checked_and_differentiated_again(kind, to):
    what, n = kind.split()
    function = sg.derived(sg.parse([*FUNCTIONS][int(n)]), what)
    report = sg.check(function, to=to)
    assert report.ok, report


def test_with_respect_to_some_inputs():
    text = "f(x, y, z) = (x*cos(z) - y*sin(z), x*sin(z) + y*cos(z))"
    whole = results(sg.derived(sg.parse(text), "jacobian"), text)["jacobian"]
    for wrt in ("x, z", ["x", "z"]):
        assert_array_equal(results(sg.derived(sg.parse(text), "jacobian", wrt), text)["jacobian"], whole[..., [0, 2]])


def test_of_vectors_of_literal_size_there_is_an_array_for_each_two():
    """library.polynomial gives (x**2, x*y, y**2) of a vector (x, y)."""
    function = sg.derived(library.polynomial, "jacobian")
    assert function.outputs == ("out", "out_by_p")
    (_, found), _ = sg.load(function).forward(np.array([[2.0, 3.0], [5.0, 7.0]]))
    assert_array_equal(found, [[[4, 0], [3, 2], [0, 6]], [[10, 0], [7, 5], [0, 14]]])


def test_what_is_the_same_in_value_and_derivatives_is_computed_once():
    text = sg.generate(sg.derived(sg.parse("f(x, y) = (exp(x)*y, exp(x)*y**2)"), "jacobian"), check=False)[
        "f_jacobian_numpy.py"
    ]
    assert text.count("np.exp(") == 1
    assert "    jacobian[..., 0, 1] = " in text  # each element is written once, and added to nothing


def operations(function):
    nodes = postorder(*(e.body for e in function.statements))
    return sum(isinstance(n, Apply) and n.op != "neg" for n in nodes)


MANY_OUTPUTS = {  # and one or two inputs: J v takes them one by one, J^T v would go back from every output
    "a recurrence written out": "f(t) -> " + ", ".join(f"y{k}" for k in range(6)) + ": y0 = t*sin(t); "
    + "; ".join(f"y{k} = y{k - 1}*sin(t) + y{k - 1}" for k in range(1, 6)),
    "products of rotations": "f(a, b) -> p, q, r, s, t, u, v, w: p = cos(a)*cos(b) - sin(a)*sin(b); "
    "q = cos(a)*sin(b) + sin(a)*cos(b); r = p*cos(a) - q*sin(a); s = p*sin(a) + q*cos(a); t = r*cos(b) - s*sin(b); "
    "u = r*sin(b) + s*cos(b); v = t*cos(a) - u*sin(a); w = t*sin(a) + u*cos(a)",
}  # fmt: skip


@pytest.mark.parametrize("name", MANY_OUTPUTS)
def test_a_jacobian_takes_few_operations(name):
    function = sg.parse(MANY_OUTPUTS[name])
    found = sg.derived(function, "jacobian")
    assert operations(found) <= (1 + 2 * len(function.inputs)) * operations(function)
    assert sg.check(found).ok


def test_a_value_is_read_by_its_name():
    text = "f(a, b) -> x, y: x = 2*cos(a) + 3*cos(a + b); y = 2*sin(a) + 3*sin(a + b)"
    found = str(sg.derived(sg.parse(text), "jacobian"))
    assert "jacobian[...,0,0] = -y[...]\n" in found
    assert "jacobian[...,1,0] = x[...]\n" in found


def test_zeros_are_not_stored_one_by_one():
    text = sg.generate(sg.derived(sg.parse("f(x, y, z) = x**2 + 3*y"), "hessian"), check=False)["f_hessian_numpy.py"]
    assert "hessian = np.zeros((*batch, 3, 3), dtype=x.dtype)\n    hessian[..., 0, 0] = 2\n    return" in text


def test_second_derivatives_are_shown_in_the_symbols_of_the_declaration():
    u, v = sympy.symbols("u v")
    w = u**2 * v + sympy.sin(u * v)
    function = sg.from_sympy("f", (u, v), w)
    assert sg.jacobian(function) == sympy.Matrix([w]).jacobian([u, v]).applyfunc(sympy.factor_terms)
    assert sympy.simplify(sg.hessian(function) - sympy.hessian(w, (u, v))) == sympy.zeros(2)
    assert sg.hessian(function).subs({u: 0, v: 3}) == sympy.Matrix([[6, 1], [1, 0]])
    assert sg.hessian(sg.parse("f(x[3], y) = x[0]*x[1] + x[1]*x[2]")).shape == (4, 4)
    vector = sympy.Matrix(sympy.symbols("a b c"))
    again = sg.from_sympy("g", {"p": vector}, sg.jacobian(sg.from_sympy("f", {"p": vector}, vector[0] * vector)))
    assert_array_equal(sg.load(again).forward(np.array([2.0, 3.0, 5.0]))[0], [[4, 0, 0], [3, 2, 0], [5, 0, 2]])


# arrays of any size: an array for each output and input


CHAIN = "f(x[n]) = sum[i:n-1](100*(x[i+1] - x[i]**2)**2 + (1 - x[i])**2)"
TENSORS = [  # formula text or function of the library, sizes
    ("f(x[n])[i] = x[i]**2", [{"n": 0}, {"n": 1}, {"n": 4}]),
    ("f(x[..., n])[..., i] = tanh(x[..., i])", [{"...": (2,), "n": 3}, {"...": (), "n": 2}]),
    (library.softmax, [{"...": (2,), "n": 3}, {"...": (2, 1), "n": 1}]),
    (library.layer_norm, [{"...": (2,), "d": 3}]),
    (library.linear, [{"n": 2, "k": 3, "m": 2}, {"n": 1, "k": 0, "m": 2}]),
    ("f(a[n,k], b[k,m])[i,j] = sum[l](a[i,l]*b[l,j])", [{"n": 2, "k": 3, "m": 2}]),
    (library.attention, [{"...": (), "n": 2, "m": 3, "d": 2, "e": 2}]),
    (
        "f(x[n])[i:n] = where(i + 1 < n, x[i+1], 0) - 2*x[i] + where(i > 0, x[i-1], 0)",
        [{"n": 0}, {"n": 1}, {"n": 2}, {"n": 5}],
    ),
    ("f(x[n])[i:n-2] = x[i+2] - 2*x[i+1]**2 + x[i]", [{"n": 2}, {"n": 3}, {"n": 5}]),
    (
        "f(u[n]; nu=0.1, dt=0.01, dx=0.1)[i:n] = where((i > 0) & (i < n-1), "
        "u[i] - dt*u[i]*(u[i+1] - u[i-1])/(2*dx) + nu*dt*(u[i+1] - 2*u[i] + u[i-1])/dx**2, u[i])",
        [{"n": 1}, {"n": 2}, {"n": 5}],
    ),
    (library.heat_step, [{"n": 1}, {"n": 4}]),
    ("f(x[n]) = sum[i](x[i]**2)", [{"n": 0}, {"n": 3}]),
    (CHAIN, [{"n": 1}, {"n": 2}, {"n": 5}]),
    (library.matrix_power, [{"...": (2,), "n": 2}]),
    (library.biased_attention, [{"...": (2,), "n": 2, "m": 3, "d": 2, "e": 2}]),
    (library.conv1d, [{"n": 1, "c": 2, "w": 5, "o": 2, "k": 3}]),
    (library.conv2d, [{"n": 1, "c": 2, "h": 3, "w": 4, "o": 1, "p": 2, "q": 2}]),
    ("f(x[n], a, h0) -> h: h[0] = h0; h[t+1] = a*h[t] + x[t]**2", [{"n": 0}, {"n": 3}]),
    ("f(x[n], y[n])[i] = (x[i] > 0)*y[i]", [{"n": 3}]),
    ("f(x[n]) -> y, s: y[i] = exp(x[i]); s = sum[i](y[i]*x[i])", [{"n": 3}]),
    (  # a recurrence behind a cotangent of which an output has no part
        sg.gradient(sg.parse("""gated(x[n], y[m], z[n], w): h[0] = w; h[i+1] = tanh(h[i]*w) + x[i]; g[i:n] = h[n]
            k[i:n,j:m] = where(i > 0, g[i-1], y[j])*z[i]; out = sum[i,j](k[i,j]**2)""")),
        [{"n": 3, "m": 2}],
    ),
]
each_tensor = pytest.mark.parametrize(("declaration", "sizes"), TENSORS, ids=lambda v: str(v)[:40])


def by_backward(function, inputs):
    """What `<output>_by_<input>` is, from one call of backward for each element of the outputs; packs are in front."""
    code = sg.load(function, check=False)
    out, saved = code.forward(*inputs)
    outputs = dict(zip(function.outputs, out if len(function.outputs) > 1 else (out,), strict=True))
    found = {}
    for name, value in outputs.items():
        rows = []
        for at in np.ndindex(np.shape(value)):
            units = {o: np.zeros(np.shape(v)) for o, v in outputs.items()}
            units[name][at] = 1
            rows.append(code.backward(saved, tuple(units.values()) if len(units) > 1 else units[name]))
        for k, (x, array) in enumerate(zip(function.inputs, inputs, strict=True)):
            if array is not None and function.table[x].dtype == "real":
                whole = np.array([row[k] for row in rows]).reshape(np.shape(value) + np.shape(array))
                found[f"{name}_by_{x}"] = _at_its_own_point(whole, function, name, x, np.ndim(value))
    return found


def _at_its_own_point(whole, function, output, x, rank):
    """A derivative whose axes of a pack, which both have, are those of the output alone."""
    shapes = [function.table[name].shape for name in (output, x)]
    shared = [e for e in shapes[0] if getattr(e, "name", "") in function.packs and e in shapes[1]]
    for axis in range((rank - len(shapes[0]) + 1) if shared else 0):
        whole = np.moveaxis(whole.diagonal(axis1=axis, axis2=rank), -1, axis)
    return whole


def named(function, inputs, to):
    """What forward gives, by name."""
    return dict(zip(function.outputs, sg.load(function, to=to, check=False).forward(*inputs)[0], strict=True))


@mathematics.both
@each_tensor
@pytest.mark.in_turn
def test_derivatives_of_arrays_are_those_of_backward(declaration, sizes, to):
    function = mathematics.as_function(declaration)
    derived = sg.derived(function, "jacobian")
    for some in sizes:
        inputs = [*mathematics.inputs_of(function, some, {}, mathematics.rng_of(str(some))).values()]
        found = named(derived, inputs, to)
        for name, expected in by_backward(function, inputs).items():
            assert_allclose(found[name], expected, rtol=1e-11, atol=1e-12, err_msg=f"{name} {some}")


@mathematics.both
@pytest.mark.parametrize("text", [t for t, _ in TENSORS if isinstance(t, str) and t.startswith("f(x[n]) = ")])
def test_hessians_of_arrays(text, to):
    function = sg.parse(text)
    slope = sg.gradient(function)
    inputs = [*mathematics.inputs_of(function, {"n": 5}, {}, mathematics.rng_of(text)).values()]
    found = named(sg.derived(function, "hessian"), inputs, to)
    (expected,) = by_backward(slope, inputs).values()
    assert_allclose(found["x_by_x"], expected, rtol=1e-12)
    assert_array_equal(found["x_by_x"], found["x_by_x"].T)


TWO_LAYERS = {"n": 3, "m": 4, "k": 2}
RESIDUALS = [  # formula text, sizes, the unknown, what is given
    ("f(x[n]) -> r: r[i:n-1] = 10*(x[i+1] - x[i]**2)", {"n": 5}, "x", {}),
    ("f(x[n]) -> r: r[i:n-1] = 10*(x[i+1] - x[i]**2)", {"n": 1}, "x", {}),
    ("f(p[2], t[n], y[n])[i] = p[0]*exp(-p[1]*t[i]) - y[i]", {"n": 4}, "p", {}),
    ("f(w[k], x[n,k], y[n])[i] = tanh(sum[j](x[i,j]*w[j])) - y[i]", {"n": 4, "k": 3}, "w", {}),
    ("f(x[n], w[p])[v:n-p+1] = sum[r](x[v+r]*w[r])", {"n": 5, "p": 2}, "x", {}),
    ("f(x[n], a[m,n], b[k,m]): y[l] = sum[j](a[l,j]*x[j]); out[i] = sum[l](b[i,l]*tanh(y[l]))", TWO_LAYERS, "x", {}),
    (
        "f(x[n,2], a[m]: int, b[m]: int)[e] = sqrt(sum[k]((x[a[e],k] - x[b[e],k])**2)) - 1",
        {"n": 3, "m": 4},
        "x",
        {"a": np.array([0, 1, 2, 0]), "b": np.array([1, 2, 0, 1])},
    ),
]


@mathematics.both
@pytest.mark.parametrize(("text", "sizes", "unknown", "given"), RESIDUALS)
@pytest.mark.in_turn
def test_gauss_and_newton_of_arrays(text, sizes, unknown, given, to):
    function = sg.parse(text)
    inputs = [*mathematics.inputs_of(function, sizes, given, mathematics.rng_of(text)).values()]
    derived = sg.derived(function, "gauss_newton", unknown)
    found = named(derived, inputs, to)
    size = np.size(inputs[function.inputs.index(unknown)])
    r, j = (found[name].reshape(-1, n) for name, n in ((function.outputs[0], 1), ("jacobian", size)))
    (output,) = function.outputs
    expected = by_backward(function, inputs)[f"{output}_by_{unknown}"]
    assert_allclose(found["jacobian"], expected, rtol=1e-11, atol=1e-12)
    jtj = found["jtj"].reshape(size, size)
    assert_allclose(jtj, j.T @ j, rtol=1e-11, atol=1e-12)
    assert_array_equal(jtj, jtj.T)
    assert_allclose(found["jtr"].reshape(-1, 1), j.T @ r, rtol=1e-11, atol=1e-12)
    report = sg.check(derived, to=to)
    assert report.ok, report


@pytest.mark.long
@pytest.mark.parametrize(("declaration", "sizes", "given"), ROWS)
@pytest.mark.in_turn
def test_derivatives_of_all_rows_are_those_of_backward(declaration, sizes, given):
    function = mathematics.as_function(declaration)
    kinds = {"real": float, "int": np.int64, "bool": bool}
    drawn = mathematics.inputs_of(function, sizes, given, mathematics.rng_of(str(declaration)))
    inputs = [None if v is None else np.asarray(v, kinds[function.table[n].dtype]) for n, v in drawn.items()]
    derived = sg.derived(function, "jacobian")
    if "jacobian" in derived.outputs:
        return  # a matrix, of numbers
    found = named(derived, inputs, "numpy")
    for name, expected in by_backward(function, inputs).items():
        assert_allclose(found[name], expected, rtol=1e-9, atol=1e-10, err_msg=name)


@mathematics.both
@each_tensor
@pytest.mark.in_turn
def test_derivatives_of_arrays_are_checked(declaration, sizes, to):
    report = sg.check(sg.derived(mathematics.as_function(declaration), "jacobian"), to=to)
    assert report.ok, report


LINES = [  # formula text, what is derived, language, a line of it
    ("f(x[n])[i] = x[i]**2", "jacobian", "numpy", "out_by_x[range_n, range_n] = 2 * x"),
    ("f(x[n])[i] = x[i]**2", "jacobian", "c", "out_by_x[i * n + i] = 2.0 * x[i];"),
    ("f(x[n], t[m]: int)[e] = x[t[e]]**2", "jacobian", "numpy", "out_by_x[np.arange(m), t] = 2 * x[t]"),
    ("f(x[n])[i:n-1] = x[i+1]**2", "jacobian", "numpy", "out_by_x[np.arange(n - 1), np.arange(n - 1) + 1] = 2 * x[1:]"),
    ("f(x[n])[i:n-1] = x[i+1]**2 - x[i]", "jacobian", "c", "out_by_x[i * n + i] = -1.0;"),
    (
        "f(x[n])[i:n] = where(i > 0, x[i-1], 0) - x[i]",
        "jacobian",
        "numpy",
        "out_by_x[np.arange(n - 1) + 1, np.arange(n - 1)] = 1",
    ),
    ("f(x[n])[i] = exp(x[i])/sum[j](exp(x[j]))", "jacobian", "numpy", "out_by_x[range_n, range_n] += out"),
    (
        "f(w[k], x[n,k])[i] = tanh(sum[j](x[i,j]*w[j]))",
        "gauss_newton w",
        "numpy",
        "jtj = jacobian.T @ jacobian",
    ),
    (CHAIN, "hessian", "numpy", "x_by_x[places, places + 1] = -400 * x[:-1]"),
]


@pytest.mark.parametrize(("text", "what", "to", "line"), LINES)
def test_no_zero_is_computed(text, what, to, line):
    """What is not 0 is stored at its places, in as few operations as it takes."""
    what, *wrt = what.split()
    files = sg.generate(sg.derived(sg.parse(text), what, wrt), to=to, check=False)
    assert line in [line.strip() for text in files.values() for line in text.splitlines()]


REFUSED = [
    (lambda: sg.derived(sg.parse("f(x) = x"), "curl"), TargetError, "'curl' is nothing that is derived .* jacobian"),
    (lambda: sg.derived(sg.parse("f(x) = x"), "jacobian", "u"), TargetError, "no gradient for u; choose from x"),
    (lambda: sg.derived(sg.parse("f(x, y) = (x, y)"), "hessian"), TargetError, "one scalar output"),
    (
        lambda: sg.derived(sg.parse("f(x[n], y[n])[i] = x[i]**2*y[i]"), "gauss_newton"),
        UnsupportedError,
        r"here are out by x, y\. Name one input \(wrt\), or put the unknowns in one array",
    ),
    (
        lambda: sg.derived(library.solve, "jacobian"),
        UnsupportedError,
        r"solve: the derivative through solve has no equation .* sg\.vjp, sg\.jvp",
    ),
]


@pytest.mark.parametrize(("call", "error", "match"), REFUSED, ids=["name", "input", "no scalar", "tensors", "matrices"])
def test_what_is_refused(call, error, match):
    with pytest.raises(error, match=match):
        call()
