"""Explanations: what must stand in them, their numbers beside NumPy's, and three of them as committed Markdown."""

from __future__ import annotations

import ast
import re
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from click.testing import CliRunner

import symgrad as sg
from symgrad import library
from symgrad.backends.c_print import Printer
from symgrad.cli import main
from symgrad.derivatives import derivation, derive
from symgrad.errors import CompilerError, TargetError, UnsupportedError
from symgrad.explanation import build, html
from symgrad.explanation.build import Explained
from symgrad.explanation.document import Code, Formulas
from symgrad.explanation.inputs import read_point
from symgrad.explanation.lines import assigned
from symgrad.ir import noted
from symgrad.pipeline import printed
from symgrad.simplify import forward
from symgrad.simplify.reasons import REASONS

ROOT = Path(__file__).parent.parent
GOLDEN = Path(__file__).parent / "data" / "explanations"
ULPS = re.compile(r"worst error \S+ ulps")  # the last digits of a machine's own exp
SLOW = ("accuracy", "check")  # sections that run the whole of what others test

SOFTMAX = "softmax(x[n]): out[i] = exp(x[i]) / sum[j](exp(x[j]))"
RNN = "rnn(x[n], w) -> h: h[0] = 0; h[t+1] = tanh(w*h[t] + x[t])"
CONV = "conv(x[n], w[k])[i:n-k+1] = sum[p](x[i+p] * w[p])"


def softmax(x):
    e = np.exp(x - x.max())
    return e / e.sum()


def rnn(x, w):
    h = [0.0]
    for a in x:
        h.append(np.tanh(w * h[-1] + a))
    return np.array(h)


def layer_norm(x, gain, bias, eps):
    return (x - x.mean()) / np.sqrt(x.var() + eps) * gain + bias


TABLE = [  # a function, the same in NumPy, where it is explained, and what must stand there
    (
        "f(x, y) = x*y",
        lambda x, y: x * y,
        {"x": 2, "y": 3},
        ["d out / d x = y", "grad_x = 3 * 2 = 6", "v = dL/dout = 1"],
    ),
    (
        library.linear,
        lambda x, weight, bias: x @ weight.T + bias,
        {},
        [
            "d out[i,j] / d x[p,l] = delta[i, p] * weight[j, l]",
            "grad_x = grad_output @ weight",
            "grad can be implicitly created only for scalar outputs",
            "J would have 4,096 * 8,256 = 33,816,576 entries (258 MiB of float64)",
            "`bias` is not saved: no gradient reads it",
        ],
    ),
    (
        SOFTMAX,
        softmax,
        {"x": [1, 2, 3]},
        [
            "d out[i] / d x[j] = out[i] * (delta[i, j] - out[j])",
            "d exp(u) / d u = exp(u)",
            "every exponent is at most 0",
            "grad_x[i] = out[i] * (grad_output[i] - sum_grad_output_out)",
            "`out` (n,): an output, which is there anyway",
        ],
    ),
    (
        "mm(a[n,k], b[k,m])[i,j] = sum[l](a[i,l] * b[l,j])",
        lambda a, b: a @ b,
        {"a": [[1, 1, 1]] * 2, "b": [[1] * 4] * 3, "grad_output": [[1, 2, 3, 4], [5, 6, 7, 8]]},
        ["grad_a = [[10, 10, 10], [26, 26, 26]]", "grad_a[1,2] = 1 * 5 + 1 * 6 + 1 * 7 + 1 * 8 = 26"],
    ),
    (
        CONV,
        lambda x, w: np.correlate(x, w, "valid"),
        {"x": [1, 2, 3, 4], "w": [1, -1]},
        ["d out[i] / d x[j] = sum[p](delta[j, i + p] * w[p])", "out[0]  x x . . x x"],
    ),
    (
        "choice(x, y) = where(x > y, x**2, x*y)",
        lambda x, y: x**2 if x > y else x * y,
        {"x": 2, "y": 3},
        ["d out   where(x > y, 2 * x, y)   where(x > y, 0, x)"],
    ),
    (RNN, rnn, {"x": [0.5, -1, 0.25], "w": 0.5}, ["d h[t + 1] / d h[t] =", "is the derivative by a value on the way"]),
    (
        "lse(x[n]) = log(sum[i](exp(x[i])))",
        lambda x: np.log(np.exp(x).sum()),
        {"x": [1, 2, 3]},
        ["d out / d x[i] = exp(x[i] - out)", "`out.backward()`"],
    ),
    (
        library.layer_norm,
        layer_norm,
        {"x": [1, 2, 4]},
        ["d out[j] / d gain[i] = delta[j, i] * xhat[j]", "eps = 1e-05"],
    ),
    ("scaled(x; a=2.0) = a*x**3", lambda x, a: a * x**3, {"x": 2, "a": 0.5}, ["a = 0.5", "`a`: an option, 2.0"]),
    (
        "two(x[n]) -> a, b: a[i] = x[i]**2; b = sum[i](x[i])",
        lambda x: (x**2, x.sum()),
        {},
        [
            "(grad_a, grad_b)",
            "torch.autograd.backward([a, b], [grad_a, grad_b])",
            "d a[i] / d x[j] = 2 * delta[i, j] * x[i]",
        ],
    ),
    ("largest(x[n]) = max[i](x[i])", lambda x: x.max(), {"x": [1, 3, 2]}, ["the largest term alone moves a maximum"]),
    ("steps(x) = floor(x) + x", lambda x: np.floor(x) + x, {"x": 2.5}, ["grad_x = 1 * 2 = 2"]),
    ("bounded(x) = sqrt(x) for x > 1", np.sqrt, {}, ["declared for x > 1"]),
    (
        "soft(x) = log(1 + exp(x))",
        lambda x: np.log(1 + np.exp(x)),
        {"x": 2},
        ["At x = 800 the first is inf in float64"],
    ),
    (
        "chol(A[n,n]): out = cholesky(A)",
        lambda a: np.linalg.cholesky((a + a.T) / 2),
        {"A": [[4, 1], [1, 3]]},
        [
            "two elements are one, and each has half of the gradient",
            "Here J is not written as equations: the derivative through",
        ],
    ),
    (
        "weighted(x[n], g[n]?) = sum[i](x[i]*g[i])",
        lambda x, g: (x * g).sum(),
        {},
        [
            "d out / d x[i] = g[i]  when g is given",
            "d out / d x[i] = 1  when g is absent",
            "the output has 1 number and the inputs have 128",
        ],
    ),
    ("masked(x) = where(x > 5, x, -1e30)", lambda x: x if x > 5 else -1e30, {"x": 6}, ["grad_x = 1 * 2 = 2"]),
    ("inverse(A[n,n]): out = inv(A)", np.linalg.inv, {"A": [[2, 1], [1, 3]]}, ["`inv` takes whole matrices"]),
]
NAMED = [(sg.parse(f) if isinstance(f, str) else f, *rest) for f, *rest in TABLE]


def explained(f, at):
    return Explained(f, at, "numpy")


def results(f, inputs, options):
    """All outputs of a NumPy function in one row."""
    found = f(*inputs, **options)
    return np.concatenate([np.ravel(a) for a in (found if isinstance(found, tuple) else (found,))])


@pytest.mark.parametrize(("f", "f_numpy", "at", "said"), NAMED, ids=[f.name for f, *_ in NAMED])
def test_says(f, f_numpy, at, said):
    e = explained(f, at)
    text = str(sg.explain(f, at, only=[n for n in e.sections if n not in SLOW]))
    flowing = " ".join(text.split())
    missing = [s for s in said if s not in text and s not in flowing]
    assert not missing, text


@pytest.mark.parametrize(("f", "f_numpy", "at", "said"), NAMED, ids=[f.name for f, *_ in NAMED])
def test_numbers_are_those_of_numpy(f, f_numpy, at, said):
    """J column by column by differences of a function that symgrad has not seen; J^T v of that, and of the code."""
    point = explained(f, at).point
    inputs, v = (
        [np.asarray(a, float) for a in point.inputs.values()],
        np.concatenate([np.ravel(a) for a in point.v.values()]),
    )
    columns = []
    for k, a in enumerate(inputs):
        for place in np.ndindex(a.shape):
            sides = []
            for sign in (1, -1):
                moved = [np.array(b) for b in inputs]
                moved[k][place] += sign * 1e-5
                sides.append(results(f_numpy, moved, point.options))
            columns.append((sides[0] - sides[1]) / 2e-5)
    jacobian = np.array(columns).T
    assert np.allclose(
        results(f_numpy, inputs, point.options), np.concatenate([np.ravel(a) for a in point.outputs.values()])
    )
    assert np.allclose(point.jacobian, jacobian, rtol=1e-6, atol=1e-7)
    for found in (point.product, point.printed, point.differences):
        assert np.allclose(np.concatenate([np.ravel(a) for a in found.values()]), v @ jacobian, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("to", ["numpy", "torch", "jax", "c"])
@pytest.mark.parametrize("f", [f for f, *_ in NAMED if f.name not in ("inverse", "chol")], ids=lambda f: f.name)
def test_each_formula_has_its_lines(f, to):
    document = Explained(f, {}, to).document(["code"])
    (code,) = (b for b in document.sections[0].blocks if isinstance(b, Code))
    formulas = [x for b in document.sections[0].blocks if isinstance(b, Formulas) for x in b.items]
    assert formulas
    lines = code.text.splitlines()
    for formula in formulas:
        procedure, name = formula.key.split()
        at = code.of(formula.key)
        assert at, formula
        text = " ".join(lines[n - 1] for n in at)
        assert name in text or "return" in text or procedure == "backward" or "=" in text, formula


def test_lines_are_told_by_what_is_assigned():
    text = "def forward(x):\n    a = None\n    a, b = x\n    c[0] = (\n        1\n    )\n    c += 1\n"
    text += "    f(d[1], 2)\n    return a\n"
    assert assigned(text)["forward"] == {"a": (3,), "b": (3,), "c": (4, 5, 6, 7), "d": (8,), "return": (9,)}


STATEMENTS = {  # what the first line of each has in it
    "Comment": r"/\*",
    "Loop": r"for \(|#pragma omp",
    "If": r"if \(",
    "Return": r"return",
    "Local": r"\w+ =",
    "Store": r" [-+*/]?=",
}


@pytest.mark.parametrize("name", ["conv2d", "max_pool2d", "attention", "cross_entropy", "gru", "smooth_l1_loss"])
def test_statements_of_c_are_where_they_are_printed(name):
    found = printed(getattr(library, name), "c")
    write, text = Printer(), found.files[f"{name}.c"].splitlines()
    functions = [one.function for one in found.backend.functions(found.program)]
    assert functions
    for f in functions:
        lines = write.function(f)
        start = text.index(write.head(f)[0])
        assert text[start : start + len(lines)] == lines
        at = list(write.located(f.body, 1, start + len(write.head(f)) + 2))
        assert max(last for _, _, last, _ in at) == start + len(lines) - 1
        for node, first, last, end in at:
            kind = type(node).__name__
            assert first <= last <= end
            assert re.search(STATEMENTS.get(kind, ""), text[first - 1]), (kind, text[first - 1])


# rewrites


def names_of_rewrites():
    """Those that are told to `rewritten` and `noted`, and those of `stable`."""
    found = {name for name, _ in forward._rewrites(sg.parse("f(x) = x"))}
    for path in sorted((ROOT / "symgrad" / "simplify").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ("rewritten", "noted"):
                if isinstance(node.args[0], ast.Constant):
                    found.add(node.args[0].value)
    return found


def test_each_rewrite_has_a_reason():
    assert names_of_rewrites() == REASONS.keys()
    assert all(reason.endswith(".") for reason in REASONS.values())


@pytest.mark.parametrize("f", [f for f, *_ in NAMED], ids=lambda f: f.name)
def test_recording_changes_nothing(f):
    derivative, rewrites = derivation(f)
    assert derivative == derive(f)
    own = {e.target for e in derivative.equations}
    last = [e for r in rewrites for e in (r.after if r is rewrites[-1] else ()) if e.target in own]
    assert not rewrites or not last or set(derivative.equations) >= set(last)
    again, none = derivation(f)
    assert (again, none) == (derivative, rewrites), "what is recorded is not kept for others"
    assert noted("nobody records this", (), ()) == ()


IDENTITIES = {
    "f(x) = log(1 + exp(x))": ["softplus"],
    "f(x) = sqrt(1 + x**2) - 1": ["hypot with 1"],
    "f(x) = tanh(x)**2": ["slope of tanh"],
    "f(r, e, s) = e*((s/r)**12 - (s/r)**6) for r > 0, s > 0": ["slope of a power"] * 2,
    "f(x, y) = x*y": [],
}


@pytest.mark.parametrize("text", IDENTITIES)
def test_identities_are_those_that_made_the_result(text):
    """A search tries many rows of the tables, and keeps few."""
    _, rewrites = derivation(sg.parse(text))
    assert [name for r in rewrites for name, *_ in r.identities] == IDENTITIES[text]


# points


POINTS = {
    "": {},
    "x=2": {"x": 2},
    "x=2,y=-0.5": {"x": 2, "y": -0.5},
    " x = [1, 2] , w=[[1e-3,0],[0,1]]": {"x": [1, 2], "w": [[1e-3, 0], [0, 1]]},
}


@pytest.mark.parametrize("text", POINTS)
def test_a_point_is_read(text):
    assert read_point(text) == POINTS[text]


@pytest.mark.parametrize("text", ["x", "x=", "=1", "x=1 y=2", "x=1;y=2", "x=os", "x=[1", "1=2", "x=__import__('os')"])
def test_what_is_no_point_is_refused(text):
    with pytest.raises(TargetError, match=r"cannot be read.* x=2,y=-0.5"):
        read_point(text)


REFUSED = [
    ("f(x) = x", {"y": 1}, "f has no input y: it has x, grad_output."),
    ("f(x) = log(x)", {"x": -1}, "f has no finite value at x = -1.0. Say where it has one: --at x=2."),
    ("f(x) = x for x > 0", {"x": -1}, "f: x = -1.0, declared for x > 0."),
    ("f(x) = x", {"x": [1, 2]}, "f: x is one number, and [1, 2] has 1 axes."),
    ("f(x; k=2) = k*x", {"k": 0.5}, "f: k is a whole number, and not 0.5."),
    ("f(x; a=2.0) = a*x", {"a": "b"}, "f: a is a number, and not 'b'."),
    ("f(x) = x", {"grad_output": "b"}, "f: grad_output is a number or a list of numbers, and not 'b'."),
    ("f(x[n])[i] = x[i]", {"x": [[1], [1, 2]]}, "f: x is a number or a list of numbers, and not [[1], [1, 2]]."),
    ("f(x[n])[i] = x[i]", {"x": "a"}, "f: x is a number or a list of numbers, and not 'a'."),
    (
        "f(x[n])[i] = x[i]",
        {"x": [1], "grad_output": 2},
        "f: out has the shape (1,), and what is given as its grad_output has ().",
    ),
]


@pytest.mark.parametrize(("text", "at", "message"), REFUSED)
def test_says_what_is_wrong_with_a_point(text, at, message):
    with pytest.raises(TargetError) as error:
        sg.explain(sg.parse(text), at)
    assert str(error.value) == message


def test_says_that_there_is_no_gradient():
    with pytest.raises(UnsupportedError, match="has no gradient to be explained"):
        sg.explain(sg.parse("f(x: int) = x + 1"))


def test_a_kink_is_told():
    text = str(sg.explain(sg.parse("f(x) = where(x > 0, x, 0)"), {"x": 0}, only="numbers"))
    assert "at a kink or a jump of the formula" in " ".join(text.split())


# renderers


@pytest.mark.parametrize("name", ["squares", "softmax", "conv"])
def test_markdown_is_what_is_committed(name, request):
    texts = {"squares": "squares(x, y) = x**2, x*y, y**2", "softmax": SOFTMAX, "conv": CONV}
    found = sg.explain(sg.parse(texts[name])).markdown()
    path = GOLDEN / f"{name}.md"
    if request.config.getoption("--update") and not (
        path.exists() and ULPS.sub("", found) == ULPS.sub("", path.read_text())
    ):
        path.parent.mkdir(exist_ok=True)
        path.write_text(found, encoding="utf-8")
    assert ULPS.sub("", found) == ULPS.sub("", path.read_text(encoding="utf-8"))


class Page(HTMLParser):
    """What a page is made of: it ends what it begins, names each thing once, and needs nothing from elsewhere."""

    VOID = frozenset({"meta", "link", "br", "img", "input", "path", "rect", "hr"})

    def __init__(self, text):
        super().__init__()
        self.open, self.ids, self.links, self.keys, self.rows = [], [], [], set(), set()
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.open += [] if tag in self.VOID else [tag]
        self.ids += [given["id"]] if "id" in given else []
        self.links += [given["href"]] if "href" in given else []
        self.keys |= {given["data-key"]} if "data-key" in given else set()
        self.rows |= {*given.get("data-keys", "").split("|")} - {""}
        assert "src" not in given
        assert tag != "svg" or given["role"] == "img" and given["aria-labelledby"]

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in self.VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag):
        if tag not in self.VOID:
            assert self.open.pop() == tag


@pytest.mark.parametrize("to", ["numpy", "c"])
@pytest.mark.skipif(not all(map(find_spec, html.NEEDED)), reason="symgrad[html] is not installed")
@pytest.mark.parametrize(
    "f",
    [library.linear, sg.parse(RNN), sg.parse("least(x, y) = where(x < y & x > 0, log(1 + exp(x)), y)")],
    ids=lambda f: f.name,
)
@pytest.mark.in_turn
def test_the_page_stands_alone(f, to):
    text = sg.explain(f, to=to).html()
    page = Page(text)
    assert len({*page.ids}) == len(page.ids)
    own = [link for link in page.links if link != "data:,"]  # an icon that is empty: no browser asks for one
    assert {link[1:] for link in own} <= {*page.ids} and all(link[0] == "#" for link in own)
    assert page.keys and page.keys <= page.rows
    assert "<math " in text and "prefers-color-scheme: dark" in text and 'lang="en"' in text
    for picture in re.findall(r"<svg .*?</svg>", text, re.DOTALL):
        ElementTree.fromstring(picture)
    assert "http" not in text.replace("http://www.w3.org/1998/Math/MathML", "").replace("http-equiv", "")


def test_without_a_compiler_it_says_so(monkeypatch):
    def refuse(*given, **how):
        raise CompilerError("there is no C compiler here.")

    monkeypatch.setattr(build, "verified", refuse)
    assert "It was not checked here: there is no C compiler" in str(sg.explain(sg.parse("f(x) = x"), only="check"))


def test_says_what_a_page_takes(monkeypatch):
    monkeypatch.setattr(html, "find_spec", lambda name: None)
    with pytest.raises(TargetError, match=r"takes latex2mathml and Pygments, .* pip install 'symgrad\[html\]'"):
        sg.explain(sg.parse("f(x) = x"), only="local").html()


def command(*words):
    result = CliRunner().invoke(main, ["explain", *words])
    return result.exit_code, result.output


def test_the_command():
    code, steps = command("f(x) = log(1 + exp(x))", "--steps")
    assert code == 0 and "stable form: softplus" in steps and "In numbers" not in steps
    assert command("f(x) = log(1 + exp(x))", "--only", "rewrites") == (0, steps)
    code, text = command("f(x, y) = x*y", "--at", "x=2,y=5", "--only", "numbers", "--markdown")
    assert code == 0 and "| `grad_x` | 10 | 10 | 10 |" in text
    code, text = command("f(x) = x", "--only", "number")
    assert code == 2 and "has no section 'number'; choose from function, local" in text
    code, text = command("f(x) = x", "g(x) = x", "--html", "a.html")
    assert code == 2 and "one page of one function" in text


def test_a_network_is_worked_out_by_its_code():
    """The oracle would take minutes: J is left out, and what the code returns stands beside differences."""
    text = str(sg.explain(library.lenet, only="numbers"))
    assert "J is 30 x 64,778 here: too large to be worked out" in text and "The same two ways (11 of 64,778)" in text
