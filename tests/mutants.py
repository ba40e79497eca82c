"""Printed text with one mistake in it: what the check must refuse, and where it may not.

`mutants` gives them for a function in a language, of the kinds of mistakes.py. `caught` loads a mutant and asks the
ordinary check, as `symgrad check` does.
"""

from __future__ import annotations

import ast
import random
import re
from dataclasses import dataclass, replace
from itertools import islice, zip_longest

from mistakes import C_EDITS, KINDS, PATTERNS, PYTHON_EDITS, PYTHON_PATTERNS

import symgrad as sg
from symgrad import library
from symgrad.derivatives import as_function
from symgrad.errors import CompilerError
from symgrad.kinds import DERIVED
from symgrad.pipeline import printed, verified

TEXTS = {
    "branches": "branches(x, y) = where(x > y, x**2*y, sin(x)/y)",
    "edges": "edges(x, y) = maximum(x, 2*y)*abs(y) + sqrt(1 + x**2)",
    "saturated": "saturated(x) = 0.7978845608028654*tanh(x)/(1 + exp(-x))",
    "window": "window(x[n], w[k])[i] = sum[r](x[2*i+r]*w[r])",
    "rnn": "rnn(x[n,d], u[m,d], w[m,m], start[m]) -> h: h[0,j] = start[j]; "
    "h[t+1,j] = tanh(sum[i](u[j,i]*x[t,i]) + sum[k](w[j,k]*h[t,k]))",
    "curved": "curved(x, y, z) = x**2*y + exp(y*z)*x",
    "turned": "turned(p[..., 3]) -> out: out[..., 0] = p[..., 0]*cos(p[..., 2]) - p[..., 1]; "
    "out[..., 1] = sin(p[..., 2])*p[..., 0]",
    "chain": "chain(x[n]) = sum[i:n-1]((x[i+1] - x[i]**2)**2)",
    "gathered": "gathered(x[n], t[m]: int)[e] = x[t[e]]**2",
    "scatter": "scatter(x[m,d], t[m]: int, y[n,d]) -> out: out[i,j] = y[i,j]; out[t[k],j] += x[k,j]**2",
}
BESIDE = (  # of which that function alone is printed
    *("squares.jacobian", "squares.gauss_newton", "squares.jvp", "curved.hessian", "curved.hvp"),
    *("turned.jacobian", "turned.gauss_newton", "chain.hessian", "softmax.jacobian", "gathered.jacobian"),
)
LIBRARY = (
    *("squares", "polynomial", "sine_and_double", "linear", "linear_mse", "mlp", "softmax", "cross_entropy"),
    *("layer_norm", "batch_norm", "gelu"),
)
FUNCTIONS = (*LIBRARY, *(name for name in TEXTS if all(name != b.partition(".")[0] for b in BESIDE)))
LANGUAGES = ("numpy", "c", "torch", "jax")
ADAPTERS = {"scipy": ("rosenbrock", "linear_mse", "cross_entropy"), "torch_c": ("squares", "layer_norm", "embedding")}
LONGER = (  # in docs/trust.md alone
    *("max_pool2d", "conv2d", "attention", "masked_softmax", "lstm", "cumprod", "embedding", "group_norm"),
    *("huber_loss", "log_softmax", "cosine_similarity", "median", "causal_attention", "l2_normalize"),
)
MORE = (
    *((f, to) for f in (*FUNCTIONS, *BESIDE) for to in LANGUAGES),
    *((f, to) for to, some in ADAPTERS.items() for f in some),
    *((f, to) for f in LONGER for to in LANGUAGES),
)
SECONDS = 60  # of a check

# Mutants that compute the same (up to rounding, where it is said so): left out, by what stood in their line.
EQUIVALENT = (
    (r">= 0(\.0)?$", r"> 0(\.0)?$", "both forms of sigmoid are 1/2 at 0"),
    (r"[-+=] \d\.\d+e-(0[5-9]|1\d);", r"^\d\.\d+$", "less than the last digit of a polynomial"),
    (r" > max_\w+", " >= ", "the larger of two equal numbers is either"),
)


# Survivors that compute the same: in which languages, of which kinds, by what stood in their line, and why
SAME = (
    (
        r".*",
        r"a factor of 2|0.001 relative|1e-6 relative",
        r"^exp_\w+ = |^sum_exp",
        "what is divided by its own sum may have any factor",
    ),
    (r".*", r"the shape", r"\b(?:bias\d?|weight|t|x)\.shape\[", "the only axis of an array is its first and its last"),
    (
        r"numpy|torch|jax",
        r"memory that is not set|another function",
        r"zeros\(|empty\(",
        "every element is written before it is read: the check fills such memory with what is no number",
    ),
    (
        r"torch",
        r"a gradient nobody asked for",
        r"",
        "torch drops a gradient that it did not ask for, and calls no backward where it asks for none",
    ),
    (
        r"torch|torch_c",
        r"custom_vjp",
        r"needs_input_grad\[\d\] else ",
        "torch calls no backward where it asks for no gradient, as of the only input that has one",
    ),
    (r"torch", r"keepdims too many", r"grad_", "torch adds up a gradient that broadcasts to the shape of its input"),
    (r"torch", r"autocast", r"", "autocast knows none of the functions that are called there"),
    (r"torch|jax", r"an option baked in", r"^ways = ", "the function is called with that value alone"),
    (
        r"torch|jax",
        r"a guard left out",
        r"^out = ",
        "neither framework warns of what a `where` leaves out, and forward is differentiated by backward alone",
    ),
    (
        r"torch|jax|numpy",
        r"another filler",
        r"max\(n - 1, 0\)",
        "the arrays beside it are empty, and so is what it is added to",
    ),
    (r"jax", r"an input overwritten", r"", "an array of JAX does not change: `+=` makes another"),
    (r"jax", r"custom_vjp", r"if n > 0", "jax.lax.scan takes no step over nothing"),
    (r"jax", r"a type of zeros", r"counts|astype", "JAX promotes the truths that it multiplies and adds up"),
    (r"jax", r"another function", r"\.add\(", "what is added to zeros is what is set"),
    (r"c", r".*", r"rows < HEIGHT", "both ways to multiply matrices give the same"),
    (r"c", r"a loop's type", r"r < HEIGHT", "HEIGHT is 4 or 8"),
    (r"c", r"a subscript narrowed", r"later = ", "a prefetch changes no result"),
    (r"c", r"a guard left out", r"^own = counts \? 1", "in backward, where what multiplies it is masked once more"),
    (r"c", r"a comparison", r"> 746\.0", "at the bound it is the bound"),
    (r"c", r"NaN not seen", r"max_\w+ = isnan", "the sum of exponentials is no number, whatever their maximum is"),
    (r"c", r"a comparison", r"n > 1 \? n - 1", "both are 0 where n is 1"),
    (
        r"c",
        r"a literal",
        r"p = |double r = |nearest_integer",
        "the function is as exact as is granted, which the check measures (symgrad/verify/approximations.py)",
    ),
    (r"scipy", r"a view for a copy", r"flat = ", "its elements are taken out of it as numbers"),
    (r"scipy", r"SciPy", r"flat\.size", "reshape refuses the rest, by a ValueError too"),
)
UNSEEN = (  # and the others: why the check cannot tell
    (
        r"numpy|torch|jax",
        r"a where left out",
        r"own \* \(scores - ",
        "own is 0 there: it differs for infinite logits alone, and infinite are drawn what logarithms may be",
    ),
    (
        r"numpy|torch|jax",
        r"a guard left out",
        r"(np|jnp|torch)\.where",
        "NumPy alone warns of a quotient that a `where` leaves out; the check listens to no warnings",
    ),
    (
        r"numpy",
        r"an input overwritten",
        r"out \+ bias",
        "it differs where inputs have two types, of which NumPy's printed code promises nothing",
    ),
    (
        r"numpy",
        r"a type of zeros",
        r"np\.empty\(shape",
        "it is an array without elements, of another type than float32",
    ),
    (
        r"jax",
        r"a narrower number",
        r"subscripts",
        "a float32 has all subscripts up to 16,777,216; the check draws no longer array",
    ),
    (
        r"jax",
        r"a promotion",
        r"",
        "of mixed dtypes JAX is asked for types and shapes, and not for values: they would be compiled once more",
    ),
    (r"scipy", r"a mask as a product", r"counts", "it differs where every target is ignored, where the loss is 0/0"),
    (r"jax", r"a comparison", r"stride >= 1", "JAX compiles for each option: the check asks it for larger ones alone"),
)


def declaration(name):
    """The function of that name: of this table, or of the library; what stands behind a dot is printed of it."""
    name = name.partition(".")[0]
    return sg.parse(TEXTS[name]) if name in TEXTS else getattr(library, name)


def options(name):
    """What is asked for: forward and backward, or the function behind the dot."""
    what = name.partition(".")[2]
    return {"functions": what} if what else {}


@dataclass(frozen=True)
class Mutant:
    """A printed function with one mistake."""

    function: str
    to: str
    kind: str
    before: str
    after: str
    files: dict

    def __str__(self):
        return f"{self.function} in {self.to}, {self.kind}: {self.before} -> {self.after}"


COMPUTES = {
    *("forward", "backward", "setup_context", "_forward", "_backward", "_keep", "_differentiate", "fun_and_grad"),
    *("hessp", "_prepared", "_product", "fun", "jac", "residuals", "matvec", "rmatvec", *DERIVED),
}


def python_mutants(text):
    """(kind, what stood there, what stands there now, text): the text apart from the one place is as printed."""
    lines = text.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line.encode()))
    source = text.encode()
    for function in ast.walk(ast.parse(text)):
        computes = isinstance(function, ast.FunctionDef) and (
            function.name in COMPUTES or function.name.endswith("_kernel")
        )
        if not computes:
            continue
        for node in ast.walk(function):
            if not hasattr(node, "lineno"):
                continue
            begin = starts[node.lineno - 1] + node.col_offset
            end = starts[node.end_lineno - 1] + node.end_col_offset
            for kind, change in KINDS.items():
                changed = change(node)
                if changed is None:
                    continue
                new = ast.unparse(ast.fix_missing_locations(changed))
                old = source[begin:end].decode()
                if isinstance(node, ast.expr) and not isinstance(node, ast.Slice):
                    new = f"({new})"
                if new not in (old, f"({old})"):
                    yield kind, _line(old), _line(new), (source[:begin] + new.encode() + source[end:]).decode()
    code = re.sub(r'"""[\s\S]*?"""|#.*', _blank, text)
    yield from texts(text, code, {**PYTHON_PATTERNS, **PYTHON_EDITS})


def c_mutants(text):
    """As `python_mutants`; comments, declarations and the heads of loops stay, unless the kind is about them."""
    code = re.sub(r"/\*.*?\*/", _blank, text, flags=re.DOTALL)
    bodies = list(re.finditer(r"^\{$.*?^\}$", code, re.DOTALL | re.MULTILINE))
    outside = 0
    for body in bodies:
        code = code[:outside] + _blank(re.match(r"[\s\S]*", code[outside : body.start()])) + code[body.start() :]
        outside = body.end()
        head = text[: body.start()].rpartition(";")[2]
        gradients = list(dict.fromkeys(re.findall(r"\*(?:restrict )?(grad_\w+)", head)))
        if "_backward(" in head and len(gradients) > 1:
            one, other = gradients[-2:]
            swap = {one: other, other: one}
            inside = re.sub(rf"\b({one}|{other})\b", lambda m, swap=swap: swap[m[0]], body[0].replace("\0", " "))
            if one in body[0] or other in body[0]:
                yield "two swapped", one, other, text[: body.start()] + inside + text[body.end() :]
    for kind, before, after, mutated in texts(text, code, PATTERNS):
        if "for (" not in before or kind.startswith("a loop"):
            yield kind, before, after, mutated
    yield from texts(text, code, C_EDITS)


def texts(text, code, kinds):
    """The same by patterns, looked for in the code of a text: what is no code is blank there, all in its place."""
    for kind, patterns in kinds.items():
        for pattern, replacement in patterns:
            for m in re.finditer(pattern, code):
                begin, end = code.rfind("\n", 0, m.start() + 1) + 1, code.find("\n", m.end() - 1)
                new = m.expand(replacement)
                before, after = code[begin:end], code[begin : m.start()] + new + code[m.end() : end]
                if _line(before) != _line(after):
                    yield kind, _line(before), _line(after) or "nothing", text[: m.start()] + new + text[m.end() :]


def _line(text):
    return " ".join(text.replace("\0", "").split())


def _blank(m):
    return re.sub(r"[^\n]", "\0", m[0])


# the mutants of a function, and what comes of them


def mutants(name, to, most):
    """At most `most` mutants, of as many kinds as there are, each at a place drawn at random, always the same."""
    result = printed(declaration(name), to, options(name))
    kinds = {}
    for path, text in result.files.items():
        if path.endswith(".h") or to == "torch_c" and path.endswith(".c"):
            continue  # torch_c calls the C whose mutants are made for "c"
        for kind, before, after, mutated in c_mutants(text) if path.endswith(".c") else python_mutants(text):
            mutant = Mutant(name, to, kind, before, after, {**result.files, path: mutated})
            if not equivalent(mutant):
                kinds.setdefault(kind, []).append(mutant)
    rng = random.Random(f"{name} {to}")
    for places in (rows := [*kinds.values()]):
        rng.shuffle(places)
    rng.shuffle(rows)
    drawn = (mutant for round_ in zip_longest(*rows) for mutant in round_ if mutant)
    yield from islice(drawn, most)


def caught(mutant):
    """Whether the check refuses a mutant; None if it does not even load, which no check is needed for."""
    declared = declaration(mutant.function)
    result = replace(printed(declared, mutant.to, options(mutant.function)), files=mutant.files)
    try:
        artefact = result.load()
    except (CompilerError, SyntaxError, NameError, ValueError):  # torch refuses a wrong operator
        return None
    report = verified(declared, result, artefact, seconds=SECONDS, enough=1)
    return bool(report.failures) or bool(report.losses) and not _plain(mutant.function, mutant.to).losses


_KEPT = {}


def _plain(name, to):
    """The report on what is really printed."""
    if (name, to) not in _KEPT:
        result = printed(declaration(name), to, options(name))
        _KEPT[name, to] = verified(as_function(declaration(name)), result, result.load())
        assert _KEPT[name, to].ok, str(_KEPT[name, to])
    return _KEPT[name, to]


def equivalent(mutant):
    """Why it computes the same; empty if it does not."""
    for before, after, why in EQUIVALENT:
        if re.search(before, mutant.before) and re.search(after, mutant.after.strip("()")):
            return why
    return ""


def judged(name, to, most):
    """How many mutants were looked at, and those that the check does not see, where no row tells why."""
    found = [(mutant, caught(mutant)) for mutant in mutants(name, to, most)]
    unseen = [m for m, seen in found if seen is False]
    return len(found), [str(m) for m in unseen if not why_unseen((m.function, m.to, m.kind, m.before))]


def why_unseen(words, rows=(*SAME, *UNSEEN)):
    """Why (function, language, kind, before, ...) is not caught; empty if no row tells."""
    _, to, kind, before, *_ = words
    fit = (why for t, k, b, why in rows if re.fullmatch(t, to) and re.fullmatch(k, kind) and re.search(b, before))
    return next(fit, "")
