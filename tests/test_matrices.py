"""Functions of whole matrices: their gradients by hand, by identities and by differences; differentiated twice; the
text printed for batches, and for sizes 0 and 1; what is refused."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from mathematics import interpret
from mpmath import mp

import symgrad as sg
from symgrad.differentiate import differentiate, tangent
from symgrad.errors import SymgradError, UnsupportedError
from symgrad.ir import as_declared
from symgrad.library import least_squares
from symgrad.ops.matrices import MATRICES
from symgrad.simplify import simplify, stable
from symgrad.verify.cases import Case
from symgrad.verify.reference import Declaration
from symgrad.verify.rounding import DOUBLE, rounding
from symgrad.verify.rounding.matrices import whole
from symgrad.verify.truth import truth

RNG = np.random.default_rng(5)
A = np.array([[3.0, 1.0], [-2.0, 4.0]])
S = np.array([[5.0, 2.0], [2.0, 3.0]])  # symmetric, positive definite
TALL = np.array([[1.0, 2.0], [-1.0, 3.0], [2.0, 0.5]])
IA = np.linalg.inv(A)
W, V = np.linalg.eigh(S)
U, SV, VH = np.linalg.svd(TALL, full_matrices=False)
EXPM = np.array(mp.expm(mp.matrix((A / 4).tolist())).tolist(), dtype=float)

BY_HAND = [  # (formula, input, its gradient where grad_output is 1)
    ("f(A[n,n]) = det(A)", A, np.array([[4.0, 2.0], [-1.0, 3.0]])),  # the cofactors
    ("f(A[n,n]) = logdet(A)", A, IA.T),
    ("f(A[n,n]) = slogdet_sign(A)", A, np.zeros((2, 2))),
    ("f(A[n,n]) = inv(A)[0,1]", A, -np.outer(IA[0], IA[:, 1])),  # d Y[0,1] / d A[k,l] = -Y[0,k] Y[l,1]
    ("f(A[n,n]) = sum[i](inv(A)[i,i])", A, -(IA @ IA).T),
    ("f(A[n,n]) = sum[i](A[i,i])", A, np.eye(2)),
    ("f(A[n,n]) = sum[i](eigvalsh(A)[i])", S, np.eye(2)),  # the trace
    ("f(A[n,n]) = eigvalsh(A)[1]", S, np.outer(V[:, 1], V[:, 1])),
    ("f(A[n,n]) = sum[i](log(eigvalsh(A)[i]))", S, np.linalg.inv(S)),  # log det
    ("f(A[n,n]) = cholesky(A)[0,0]", S, np.array([[1 / (2 * np.sqrt(5)), 0.0], [0.0, 0.0]])),  # sqrt(A[0,0])
    ("f(A[n,n]) = 2*sum[i](log(cholesky(A)[i,i]))", S, np.linalg.inv(S)),
    ("f(A[m,n]) = sum[i](svdvals(A)[i])", TALL, U @ VH),  # the nuclear norm
    ("f(A[m,n]) = svdvals(A)[0]", TALL, np.outer(U[:, 0], VH[0])),
    ("f(A[m,n]) = sum[i](svdvals(A)[i]**2)", TALL, 2 * TALL),  # the squared Frobenius norm
    ("f(A[m,n]) = sum[i](log(abs(qr_r(A)[i,i])))", TALL, TALL @ np.linalg.inv(TALL.T @ TALL)),  # log det(A^T A) / 2
    ("f(A[m,n]) = sum[i,j](qr_q(A)[i,j]**2)", TALL, np.zeros((3, 2))),  # orthonormal columns
    ("f(A[m,n]) = sum[i](sum[j](pinv(A)[i,j]*A[j,i]))", TALL, np.zeros((3, 2))),  # the rank
    ("f(A[n,n]) = sum[i](expm(A)[i,i])", A / 4, EXPM.T),
    ("f(A[n,n]) = 1e200*sum[i](expm(A)[i,i])", A / 4, 1e200 * EXPM.T),  # linear in grad_output
    ("f(x[n]) = sum[i](i*sort(x)[i])", np.array([3.0, -1.0, 2.0]), np.array([2.0, 0.0, 1.0])),
    ("f(x[n]) = sort(x)[0]", np.array([3.0, -1.0, -1.0]), np.array([0.0, 1.0, 0.0])),  # of equal ones the first
]


def drawn(kind):
    """Operands of a kind."""
    row = MATRICES[kind]
    sizes = {"n": 3, "m": 4}
    a = RNG.standard_normal([sizes[x] for x in row.axes.split()])
    if row.symmetric:
        a = a @ a.T + np.eye(3)
    if len(row.operands) == 1:
        return {"A": a}
    return {"A": a + 3 * np.eye(3), "B": RNG.standard_normal((3, 2))}


def formula(kind):
    """A formula of one kind that does not depend on signs that are open."""
    row = MATRICES[kind]
    header = f"f(A[{','.join(row.axes.split())}]{', B[n,p]' if len(row.operands) == 2 else ''})"
    call = f"{kind}(A{', B' if len(row.operands) == 2 else ''})"
    letters = "ijk"[: row.rank + (len(row.operands) == 2)]
    if not letters:
        return f"{header} = {call}**2"
    at = ",".join(letters)
    weight = "+".join(f"{n + 1}*{x}" for n, x in enumerate(letters))
    return f"{header} = sum[{at}]((1 + {weight})*{call}[{at}]**3)"


REAL = [kind for kind, row in MATRICES.items() if not row.integer and kind != "slogdet_sign"]


@pytest.mark.parametrize(("text", "at", "expected"), BY_HAND, ids=lambda x: x if isinstance(x, str) else "")
def test_gradients_that_are_known(text, at, expected):
    artefact = sg.load(sg.parse(text), check=False)
    _, saved = artefact.forward(at)
    (gradient,) = artefact.backward(saved)
    np.testing.assert_allclose(gradient, expected, atol=1e-13, rtol=1e-12)


def slope(function, inputs, directions, name):
    """The derivative of a number along a direction, by differences."""
    lift = np.vectorize(mpmath.mpf, otypes=[object])
    ends = []
    for step in (mp.ldexp(1, -100), -mp.ldexp(1, -100)):
        moved = {n: lift(v) + step * lift(directions[n]) if n in directions else v for n, v in inputs.items()}
        ends.append(interpret(function, moved)[name][()])
    return (ends[0] - ends[1]) / mp.ldexp(2, -100)


def directions_of(kind, inputs):
    """Where to go from the inputs: from a symmetric matrix to another."""
    found = {n: RNG.standard_normal(v.shape) for n, v in inputs.items()}
    if MATRICES[kind].symmetric:
        found["A"] = found["A"] + found["A"].T
    return found


@pytest.mark.parametrize("kind", REAL)
def test_the_gradient_agrees_with_differences(kind):
    with mp.workprec(300):
        function = sg.parse(formula(kind))
        inputs = drawn(kind)
        directions = directions_of(kind, inputs)
        expected = slope(function, inputs, directions, "out")
        for derivative in (differentiate(function), simplify(differentiate(stable(function)))):
            values = interpret(derivative.function, {**inputs, "grad_output": 1})
            found = sum(np.sum(values[g] * directions[name]) for name, g in derivative.gradients)
            assert abs(found - expected) < 1e-40 * (1 + abs(expected))


TANGENTS = [formula(kind) for kind in REAL] + [
    "f(A[n,n]) = slogdet_sign(A)*det(A) + slogdet_sign(A)",
    "f(A[n,n], B[n,p]): C[i,j] = A[i,j]**2 + 3*eq(i, j); z = solve(C, B); out = sum[i,k](z[i,k]**3*B[i,k])",
    "f(A[n,n], B[n,p]): C[i:n,j:n] = sin(i + j) + 3*eq(i, j); z = solve(C, B); out = sum[i,k](z[i,k]**3)*A[0,0]",
    "f(A[n,n], B[n,p]): L = cholesky(A); z = solve_lower(L, B); out = sum[i,k](z[i,k]**3)",
    "f(A[m,n]) -> out: u = svd_u(A); s = svdvals(A); out = sum[i,j](u[i,j]*s[j]*exp(i))",
    "f(A[m,n]) -> out: q = qr_q(A); r = qr_r(A); out = sum[i,j,k](q[i,j]*r[j,k]**3)",
    "f(A[n,n], B[n,2]?): C[i,j] = A[i,j]*given(B, B[i,0], 1); D = inv(C); out = sum[i,j](D[i,j]*given(B, B[i,1], 2))",
]


def drawn_for(text):
    """Operands of a formula, and whether A is symmetric."""
    symmetric = any(kind in text for kind in ("eigh", "eigvalsh", "cholesky"))
    a = RNG.standard_normal((4, 3) if "A[m,n]" in text else (3, 3))
    if symmetric:
        a = a @ a.T + np.eye(3)
    elif "B[" in text:
        a = a + 3 * np.eye(3)
    return {"A": a} | ({"B": RNG.standard_normal((3, 2))} if "B[" in text else {}), symmetric


@pytest.mark.parametrize("text", TANGENTS)
def test_the_tangent_agrees_with_differences_and_with_the_gradient(text):
    with mp.workprec(300):
        function = sg.parse(text)
        inputs, symmetric = drawn_for(text)
        directions = {n: RNG.standard_normal(v.shape) for n, v in inputs.items()}
        if symmetric:
            directions["A"] = directions["A"] + directions["A"].T
        expected = slope(function, inputs, directions, "out")
        moving = {f"tangent_{n}": v for n, v in directions.items()}
        for derivative in (tangent(function), sg.jvp(function)):
            found = interpret(derivative.function, inputs | moving)["tangent_out"][()]
            assert abs(found - expected) < 1e-40 * (1 + abs(expected))
        for n in inputs:  # any direction, also from a symmetric matrix to one that is not: J is the transpose of J^T
            moving[f"tangent_{n}"] = RNG.standard_normal(inputs[n].shape)
        gradients = interpret(differentiate(function).function, {**inputs, "grad_output": 1})
        pulled = sum(np.sum(gradients[f"grad_{n}"] * moving[f"tangent_{n}"]) for n in inputs)
        pushed = interpret(tangent(function).function, inputs | moving)["tangent_out"][()]
        assert abs(pulled - pushed) < 1e-40 * (1 + abs(pulled))


@pytest.mark.parametrize("kind", REAL)
def test_the_tangent_can_be_differentiated_again(kind):
    with mp.workprec(300):
        first = as_declared(sg.jvp(sg.parse(formula(kind))).function)
        inputs = drawn(kind)
        inputs |= {f"tangent_{n}": v for n, v in directions_of(kind, inputs).items()}
        directions = directions_of(kind, {n: inputs[n] for n in inputs if not n.startswith("tangent_")})
        expected = slope(first, inputs, directions, "tangent_out")
        again = tangent(first)
        seeds = {name: directions.get(n, np.zeros(inputs[n].shape)) for n, name in again.seeds}
        found = interpret(again.function, inputs | seeds)[dict(again.gradients)["tangent_out"]][()]
        assert abs(found - expected) < 1e-40 * (1 + abs(expected))
        reverse = simplify(differentiate(stable(first)))
        values = interpret(reverse.function, inputs | {n: float(o == "tangent_out") for o, n in reverse.seeds})
        found = sum(np.sum(values[g] * directions[n]) for n, g in reverse.gradients if n in directions)
        assert abs(found - expected) < 1e-40 * (1 + abs(expected))


@pytest.mark.parametrize("kind", REAL)
def test_the_gradient_of_a_symmetric_argument_is_symmetric(kind):
    if MATRICES[kind].symmetric:
        derivative = differentiate(sg.parse(formula(kind)))
        gradient = interpret(derivative.function, {**drawn(kind), "grad_output": 1})["grad_A"].astype(float)
        np.testing.assert_allclose(gradient, gradient.T, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kind", REAL)
def test_the_product_can_be_differentiated_again(kind):
    with mp.workprec(300):
        function = sg.parse(formula(kind))
        first = simplify(differentiate(stable(function))).function
        again = simplify(differentiate(stable(first)))
        inputs = {**drawn(kind), "grad_output": np.array(0.7)}
        seeds = {name: np.array(RNG.standard_normal()) if name == "out" else None for name, _ in again.seeds}
        weight = RNG.standard_normal(inputs["A"].shape)
        if MATRICES[kind].symmetric:
            weight = weight + weight.T
        seeds |= {name: weight if name == "grad_A" else np.zeros(np.shape(inputs.get(name[5:], 0))) for name in seeds
                  if name != "out"}
        directions = directions_of(kind, {"A": inputs["A"]})
        lift = np.vectorize(mpmath.mpf, otypes=[object])
        ends = []
        for step in (mp.ldexp(1, -100), -mp.ldexp(1, -100)):
            values = interpret(first, inputs | {"A": lift(inputs["A"]) + step * lift(directions["A"])})
            ends.append(sum(np.sum(values[n] * s) for n, s in seeds.items()))
        expected = (ends[0] - ends[1]) / mp.ldexp(2, -100)
        named = dict(again.seeds)
        values = interpret(again.function, inputs | {named[n]: s for n, s in seeds.items()})
        found = np.sum(values[dict(again.gradients)["A"]] * directions["A"])
        assert abs(found - expected) < 1e-30 * (1 + abs(expected))


@sg.function
def everything(a: sg.Tensor["... n n"], b: sg.Tensor["... n k"]):
    symmetric = a @ a.mT + sg.eye(a.shape[-1])
    x = sg.solve(a, b)
    y = sg.solve_triangular(sg.cholesky(symmetric), b, lower=True)
    z = sg.inv(symmetric) @ b + sg.expm(a) @ b
    return x, y, z, sg.eigvalsh(symmetric), sg.svdvals(b), sg.det(a), sg.logdet(symmetric), sg.pinv(a)


@pytest.mark.parametrize("batch", [(), (2,), (2, 3)], ids=str)
@pytest.mark.parametrize(("n", "k"), [(0, 2), (1, 1), (3, 2), (2, 4)])
def test_printed_numpy_at_every_size(batch, n, k):
    artefact = sg.load(everything, check=False)
    a = RNG.standard_normal((*batch, n, n)) + 3 * np.eye(n)
    b = RNG.standard_normal((*batch, n, k))
    outputs, saved = artefact.forward(a, b)
    seeds = tuple(RNG.standard_normal(np.shape(o)) for o in outputs)
    gradients = artefact.backward(saved, seeds)
    assert [g.shape for g in gradients] == [a.shape, b.shape]
    moves = [RNG.standard_normal(x.shape) for x in (a, b)]
    ends = [artefact.forward(a + h * moves[0], b + h * moves[1])[0] for h in (1e-6, -1e-6)]
    expected = sum(np.sum((u - d) / 2e-6 * s) for u, d, s in zip(*ends, seeds, strict=True))
    found = sum(np.sum(g * m) for g, m in zip(gradients, moves, strict=True))
    assert abs(found - expected) <= 1e-6 * (1 + abs(expected))


@pytest.mark.parametrize("batch", [(), (2,), (2, 3)], ids=str)
@pytest.mark.parametrize(("n", "k"), [(0, 2), (1, 1), (3, 2), (2, 4)])
@pytest.mark.in_turn
def test_printed_tangents_at_every_size(batch, n, k):
    artefact = sg.load(sg.jvp(everything).function, check=False)
    a = RNG.standard_normal((*batch, n, n)) + 3 * np.eye(n)
    b = RNG.standard_normal((*batch, n, k))
    moves = [RNG.standard_normal(x.shape) for x in (a, b)]
    outputs, _ = artefact.forward(a, b, *moves)
    values, tangents = outputs[: len(outputs) // 2], outputs[len(outputs) // 2 :]
    plain = sg.load(everything, check=False)
    ends = [plain.forward(a + h * moves[0], b + h * moves[1])[0] for h in (1e-6, -1e-6)]
    for value, found, up, down in zip(values, tangents, *ends, strict=True):
        assert found.shape == np.shape(value)
        expected = (up - down) / 2e-6
        np.testing.assert_allclose(found, expected, atol=1e-6 * (1 + np.abs(expected).max(initial=0)))


CHECKED = [
    "f(A[...,n,n], b[...,n]) = solve(A, b)",
    "f(A[n,n], B[n,k]) = solve_upper(A, B)",
    "f(A[...,n,n], b[...,n])[...] = exp(sum[i](solve(A, b)[...,i]))",  # its right-hand sides are all one number
    "f(A[n,n], c): b[i:n] = c; out = solve_lower(A, b)",
    "f(A[n,n]) -> w, v: w = eigvalsh(A); v = eigh_vectors(A)",
    "f(A[m,n]) -> u, s: u = svd_u(A); s = svdvals(A)",
    "f(A[m,n]) -> q, r: q = qr_q(A); r = qr_r(A)",
    "f(x[b,n])[i] = sort(x)[i,0] - sort(x)[i,1]**2",
    "f(A[b,n,n])[i] = logdet(A)[i] + slogdet_sign(A)[i]",
    "f(x[n], y[n], l, s, e): K[i,j] = s**2*exp(-(x[i]-x[j])**2/(2*l**2)) + where(i == j, e**2, 0); a = solve(K, y); "
    "out = -sum[i](y[i]*a[i])/2 - logdet(K)/2 for l, s, e > 0",  # elements of exp(-1e30)
]


@pytest.mark.parametrize("text", CHECKED)
@pytest.mark.in_turn
def test_the_check_agrees(text):
    report = sg.check(sg.parse(text))
    assert report.ok and not report.failures, str(report)


SORTED = [
    "f(x[n]) = sort(x)[0]",
    "f(x[b,n])[i] = sort(x)[i,0] - sort(x)[i,1]**2",
    "f(x[m,n])[i,j] = sort(x)[j,i]",  # the result is transposed
    "f(x[n], y[n]): p[i] = x[i]*y[i]; o = argsort(p); out[i] = y[o[n-1-i]]*x[i]",
    "f(x[n], w[n]?): o = argsort(x); out[i] = x[o[i]]*given(w, w[o[i]], 1)",
    "f(x[n], y[m]) -> a, b: a = sort(x); b = sort(y)",  # two calls, and memory for both
    "f(x[n]): o = argsort(x); h[0] = 1.0; h[i+1] = h[i]*x[o[i]]; out[i:n] = h[i]",
    "f(x[..., 3])[..., i] = sort(x)[..., i]*x[..., i]",
    # places that are saved, and may be NULL
    "f(x[n,m], y[n]): p[i] = argmax[j](x[i,j]); q[i:n,l:n] = y[i]*x[l,p[i]]; out[l] = sum[i](x[i,p[l]]*q[i,l])",
]


@pytest.mark.parametrize("text", SORTED)
def test_c_sorts_by_itself(text):
    report = sg.check(sg.parse(text), to="c")
    assert report.ok and not report.failures, str(report)


def test_c_gives_a_permutation_also_of_nan():
    artefact = sg.load(sg.parse("f(x[n]): o = argsort(x); out[i] = x[o[i]]"), to="c", check=False)
    values = np.array([np.nan, 2.0, -np.inf, np.nan, 2.0, np.inf, -0.0, 0.0, 1.0] * 5)
    out, (order,) = artefact.forward(values)
    np.testing.assert_array_equal(order, np.argsort(values, kind="stable"))
    np.testing.assert_array_equal(out, np.sort(values))


def test_the_oracle_differentiates_on_the_side_of_a_jump():
    """The sign of a column of q is LAPACK's, and changes where the first element is 0; the solution does not."""
    inputs = {"a": np.array([[0.0, 0.0], [2.0, 1.0], [1.0, -1.0]]), "b": np.array([-1.0, 0.0, 0.0])}
    seed = np.array([1.4, 3.1])
    found = truth(Declaration(least_squares.function), Case(inputs, {}, {"out": seed})).gradients["a"]
    artefact = sg.load(least_squares, check=False)
    _, saved = artefact.forward(*inputs.values())
    np.testing.assert_allclose(artefact.backward(saved, seed)[0], found.astype(float), atol=1e-14)


def test_the_rounding_of_a_matrix_whose_elements_are_far_apart():
    """NumPy drops a singular value of 1e154 beside one of 1e200: there is nothing that the result must be near to."""
    with rounding(DOUBLE, 200):
        found = whole("pinv", np.array([[1e200, 0.0, 0.0], [0.0, -1e154, 1e154]]))
    assert all(x.err == np.inf for x in found.ravel().tolist())


@pytest.mark.parametrize("kind", REAL)
@pytest.mark.parametrize("element", [np.inf, np.nan])
def test_the_rounding_of_a_matrix_that_has_overflowed(kind, element):
    operands = drawn(kind).values()
    for which in operands:
        with rounding(DOUBLE, 200):
            found = whole(kind, *(np.where(a is which, element, a) for a in operands))
        assert all(x.err == np.inf for x in found.ravel().tolist())


def test_several_results_are_one_call():
    text = sg.generate(sg.parse("f(A[n,n]) -> w, v: w = eigvalsh(A); v = eigh_vectors(A)"), check=False)["f_numpy.py"]
    assert "w, eigenvectors = np.linalg.eigh(A)" in text and text.count("linalg") == 1


def test_what_forward_factors_backward_does_not_factor_again():
    text = sg.generate(sg.parse("f(A[n,n]) = sum[i](log(eigvalsh(A)[i]))"), check=False)["f_numpy.py"]
    assert text.count("linalg") == 1


REFUSED = [
    ("f(A[n,m]) = inv(A)", "inv takes a square matrix"),
    ("f(A[n]) = inv(A)", "inv takes a matrix, and A has 1 axis"),
    ("f(A[n,n]) = solve(A)", "solve takes 2 arrays, not 1"),
    ("f(A[n,n])[i] = inv(A[i,i])", "takes A by its name"),
    ("f(A[n,n])[i] = inv(A)[i]", "inv(...) has 2 axes here. Write 2 subscripts"),
    ("f(A[n,n]): B = inv(C); C = inv(A)", "C is defined behind this place"),
    ("f(A[n,n])[i] = inv[k](A[i,k])", "inv is a function of whole arrays"),
]


@pytest.mark.parametrize(("text", "said"), REFUSED)
def test_text_that_makes_no_sense_is_refused(text, said):
    with pytest.raises(SymgradError) as refusal:
        sg.parse(text)
    assert said in str(refusal.value)


def test_c_has_no_factorisations():
    with pytest.raises(UnsupportedError, match=r"f: c has no inv, which gives out\[i,j\]"):
        sg.generate(sg.parse("f(A[n,n]) = inv(A)"), to="c", check=False)


def refused_by_python(declare, said):
    with pytest.raises(SymgradError) as refusal:
        _ = sg.function(declare).function
    assert said in str(refusal.value)


def test_python_refuses_what_is_not_square():
    def wrong(a: sg.Tensor["n m"]):
        return sg.inv(a)

    refused_by_python(wrong, "sg.inv takes square matrices, not n by m")


def test_python_refuses_a_vector():
    def wrong(a: sg.Tensor["... n"]):
        return sg.det(a)

    refused_by_python(wrong, "sg.det takes a matrix or a stack of them")


def test_python_refuses_a_wrong_number_of_equations():
    def wrong(a: sg.Tensor["n n"], b: sg.Tensor["m"]):
        return sg.solve(a, b)

    refused_by_python(wrong, "sg.solve of n equations with m right-hand sides")


def test_numpys_own_names_are_traced():
    @sg.function
    def traced(a: sg.Tensor["n n"], b: sg.Tensor["n"]):
        return np.linalg.solve(a, b), np.linalg.norm(b), np.trace(a), np.sort(b)

    assert [e.reduce for e in traced.function.statements if e.matrix is not None] == ["solve", "argsort"]
