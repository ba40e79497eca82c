"""Printed text with one mistake in it: what the check must refuse, and where it may not.

`mutants` gives them for a function in a language: a mistake is made in what computes, saves or returns, by kinds, KINDS
for Python and PATTERNS for C, or in what is asked beside the values, PYTHON_PATTERNS. `caught` loads a mutant and asks
the ordinary check, as `symgrad check` does.
"""

from __future__ import annotations

import ast
import random
import re
from dataclasses import dataclass, replace

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
ADAPTERS = {"scipy": ("rosenbrock", "linear_mse"), "torch_c": ("squares", "layer_norm")}
MORE = (
    *((f, to) for f in (*FUNCTIONS, *BESIDE) for to in LANGUAGES),
    *((f, to) for to, some in ADAPTERS.items() for f in some),
)
SECONDS = 60  # of a check

# Mutants that compute the same (up to rounding, where it is said so): left out, by what stood in their line.
EQUIVALENT = (
    (r"max_\w+ =|\.amax\(|\.max\(|fmax\(|- max_|- \w+\.max\(", "", "softmax and logsumexp are the same with any shift"),
    (r">= 0(\.0)?$", r"> 0(\.0)?$", "both forms of sigmoid are 1/2 at 0"),
    (r"(zeros|empty)\(", "", "every element is written afterwards"),
    (r"[-+=] \d\.\d+e-(0[5-9]|1\d);", r"^\d\.\d+$", "less than the last digit of a polynomial"),
    (r" > max_\w+", " >= ", "the larger of two equal numbers is either"),
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


# Python: a change of a node of the syntax tree, or None


def _binary(*kinds):
    return lambda node: isinstance(node, ast.BinOp) and isinstance(node.op, kinds)


_sum, _product, _quotient, _power = _binary(ast.Add, ast.Sub), _binary(ast.Mult), _binary(ast.Div), _binary(ast.Pow)


def _sign(node):
    if _sum(node):
        return ast.BinOp(node.left, ast.Sub() if isinstance(node.op, ast.Add) else ast.Add(), node.right)
    return node.operand if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) else None


def _wrong_operand(node):
    if isinstance(node, ast.BinOp) and _numeric(node.left) and _numeric(node.right):
        return ast.BinOp(node.left, node.op, node.left)
    return None


def _numeric(node):
    return isinstance(node, ast.Name) and len(node.id) > 1 or isinstance(node, ast.Subscript)


def _computed(node, change):
    """The value of an assignment to a result or to what one is computed from, changed."""
    if isinstance(node, (ast.Assign, ast.AugAssign)) and isinstance(node.value, (ast.BinOp, ast.Call)):
        text = ast.unparse(node.value)
        if not re.search(r"_inputs|_cotangent|shape|zero|range|_parts|empty|forward\(|_results|_promoted", text):
            return change(node)
    return None


def _times(factor):
    def change(node):
        value = ast.BinOp(ast.Constant(factor), ast.Mult(), node.value)
        return _with_value(node, value)

    return lambda node: _computed(node, change)


def _with_value(node, value):
    if isinstance(node, ast.Assign):
        return ast.Assign(node.targets, value)
    return ast.AugAssign(node.target, node.op, value)


def _axis(node):
    if isinstance(node, ast.keyword) and node.arg in ("axis", "dim"):
        if isinstance(node.value, (ast.Constant, ast.UnaryOp)):
            return ast.keyword(node.arg, ast.Constant(0 if ast.literal_eval(node.value) else 1))
    return None


def _swapped(node):
    """Two gradients of a return; two of what was saved."""
    if isinstance(node, ast.Return) and isinstance(node.value, ast.Tuple) and len(node.value.elts) > 1:
        first, second, *rest = node.value.elts
        if all(isinstance(e, ast.Name) and e.id.startswith("grad_") for e in (first, second)):
            return ast.Return(ast.Tuple([second, first, *rest], ast.Load()))
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple) and "saved" in ast.unparse(node.value):
        first, second, *rest = node.targets[0].elts if len(node.targets[0].elts) > 1 else (None, None)
        if first is not None:
            return ast.Assign([ast.Tuple([second, first, *rest], ast.Store())], node.value)
    return None


OTHERS = {
    **{"exp": "expm1", "log": "log1p", "sin": "cos", "cos": "sin", "tanh": "sinh", "sum": "mean", "mean": "sum"},
    **{"maximum": "minimum", "minimum": "maximum", "max": "min", "amax": "amin", "sqrt": "cbrt", "abs": "square"},
    **{"zeros_like": "ones_like", "zeros": "ones", "erf": "erfc", "add": "set"},
}


def _function(node):
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in OTHERS:
        other = OTHERS[node.func.attr]
        return ast.Call(ast.Attribute(node.func.value, other, ast.Load()), node.args, node.keywords)
    return None


def _comparison(node):
    pairs = {ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq}
    if isinstance(node, ast.Compare) and type(node.ops[0]) in pairs:
        return ast.Compare(node.left, [pairs[type(node.ops[0])]()], node.comparators)
    return None


def _region(node):
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "where":
        if len(node.args) == 3:
            return ast.Call(node.func, [node.args[0], node.args[2], node.args[1]], node.keywords)
    return None


def _unselected(node):
    """A where that is left out: its first branch everywhere."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "where":
        return node.args[1] if len(node.args) == 3 and not isinstance(node.args[1], ast.Constant) else None
    return None


def _off_by_one(node):
    if isinstance(node, ast.Slice):
        for name in ("lower", "upper"):
            bound = getattr(node, name)
            if isinstance(bound, (ast.Constant, ast.Name, ast.BinOp)):
                moved = ast.BinOp(bound, ast.Sub(), ast.Constant(1))
                return ast.Slice(*(moved if n == name else getattr(node, n) for n in ("lower", "upper", "step")))
        return None
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.BinOp) and _sum(node.slice):
        return ast.Subscript(node.value, node.slice.left, node.ctx)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "range" and node.args:
        return ast.Call(node.func, [*node.args[:-1], ast.BinOp(node.args[-1], ast.Sub(), ast.Constant(1))], [])
    return None


def _literal(node):
    """A number to 15 digits, where it has more; another number."""
    if isinstance(node, ast.Constant) and isinstance(node.value, float):
        short = float(f"{node.value:.15g}")
        return ast.Constant(short if short != node.value else node.value * 1.001)
    return None


def _exponent(node):
    if _power(node) and isinstance(node.right, ast.Constant):
        return ast.BinOp(node.left, ast.Pow(), ast.Constant(node.right.value + 1))
    return None


def _missing(node):
    """An element, or a contribution, that is not written."""
    if isinstance(node, ast.AugAssign) or isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
        return ast.Pass()
    return None


def _place(change):
    """Another place for an element whose place is numbers, or a block whose two last axes are indices."""

    def changed(node):
        stored = isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store)
        if not stored or not isinstance(node.slice, ast.Tuple) or len(node.slice.elts) < 2:
            return None
        *before, row, column = node.slice.elts
        if ast.unparse(row) == ast.unparse(column) or isinstance(row, (ast.Slice, ast.Starred)):
            return None
        return ast.Subscript(node.value, ast.Tuple([*before, *change(row, column)], ast.Load()), node.ctx)

    return changed


def _question(node):
    """What is asked before a gradient is computed."""
    if isinstance(node, ast.Subscript) and ast.unparse(node.value).endswith("needs_input_grad"):
        if isinstance(node.slice, ast.Constant):
            return ast.Subscript(node.value, ast.Constant(0 if node.slice.value else 1), node.ctx)
    return None


KINDS = {
    "a sign": _sign,
    "a term dropped": lambda node: node.left if _sum(node) else None,
    "the first term dropped": lambda node: node.right if _sum(node) and isinstance(node.op, ast.Add) else None,
    "a factor dropped": lambda node: node.left if _product(node) or _quotient(node) else None,
    "a quotient inverted": lambda node: ast.BinOp(node.left, ast.Mult(), node.right) if _quotient(node) else None,
    "a power dropped": lambda node: node.left if _power(node) else None,
    "an exponent": _exponent,
    "a wrong operand": _wrong_operand,
    "a factor of 2": _times(2),
    "0.001 relative": _times(1.001),
    "1e-6 relative": _times(1.000001),
    "a transpose": lambda node: node.value if isinstance(node, ast.Attribute) and node.attr == "T" else None,
    "an axis": _axis,
    "= for +=": lambda node: ast.Assign([node.target], node.value) if isinstance(node, ast.AugAssign) else None,
    "two swapped": _swapped,
    "another function": _function,
    "a comparison": _comparison,
    "two regions swapped": _region,
    "a where left out": _unselected,
    "off by one": _off_by_one,
    "a literal": _literal,
    "an element missing": _missing,
    "a transposed block": _place(lambda row, column: (column, row)),
    "the place before": _place(lambda row, column: (row, ast.BinOp(column, ast.Sub(), ast.Constant(1)))),
    "the wrong gradient asked for": _question,
}
# Python: a change of its text, wherever it stands: what is asked beside the values, which no arithmetic tells

PYTHON_PATTERNS = {
    "a graph that is cut": [
        (r"(?m)^( +\(?[\w, ]+\)? = )ctx\.saved_tensors$",
         r"\1(t if t is None else t.detach() for t in ctx.saved_tensors)"),
        (r"(?m)^( +\(?[\w, ]+\)? = )saved$(?=[^#]*defvjp)", r"\1jax.lax.stop_gradient(saved)"),
        (r"(?m)^( +)@staticmethod\n +def backward", r"\1@staticmethod\n\1@torch.autograd.function.once_differentiable"
         r"\n\1def backward"),
    ],
    "what is computed again": [(r" +if torch\.is_grad_enabled\(\):\n.*\n.*\n", "")],
    "a vmap rule": [(r"generate_vmap_rule = True", "generate_vmap_rule = False")],
    "autocast": [(r"with _no_autocast\((?:grad_output\):|\w+\):(?=[\s\S]*_no_autocast\(grad_output\):))", "if True:")],
    "a promotion": [(r"(?m)^    .* = _promoted\([^()]*\)\n", "")],
    "a result that is not used": [
        (r" +if grad_output is None:\n +return .*\n", ""),
        (r"(?m)(?<!\(False\)\n)^( +)(ctx\.save_for_backward\()", r"\1ctx.set_materialize_grads(False)\n\1\2"),
    ],
    "a device": [
        (r"device=\w+\.device", 'device="cpu"'), (r'"cpu" if tensor\.is_meta else ', ""),
        (r'places\.device\.type == "cpu" and ', ""), (r" and not torch\.compiler\.is_compiling\(\)", ""),
        (r"except RuntimeError", "except KeyError"),
    ],
    "integers of another type": [(r"return value\.long\(\)", "return value")],
    "a check of shapes": [(r"(?m)^( +)if \w+\.(?:ndim|shape)\b.*:$(?=\n +raise)", r"\1if False:")],
    "a check of types": [
        (r"(?m)^( +)if not j?np\.issubdtype\(.*\):$", r"\1if False:"),
        (r"(?m)^( +)if not \(torch\.is_tensor.*\):$", r"\1if False:"),
    ],
    "a flag that may be missing": [
        (r"if (needs_input_grad\[(\d+)\])(?=:)(?![\s\S]*needs_input_grad\[)", r"if len(needs_input_grad) > \2 and \1"),
    ],
    "where a maximum begins": [
        (r"initial=-jnp\.inf", "initial=0.0"), (r"initial=-jnp\.inf", "initial=-1e30"),
        (r"\b(\w+)\.max\((axis=-?\d(?:, keepdims=True)?)\)", r"np.maximum(0.0, \1.max(\2))"),
        (r"\b(\w+)\.max\((axis=-?\d(?:, keepdims=True)?)\)", r"np.maximum(-1e30, \1.max(\2))"),
        (r"return x\.amax\(dim, keepdim\)", "return x.amax(dim, keepdim).clamp(min=0.0)"),
    ],
}  # fmt: skip

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
        if not (isinstance(function, ast.FunctionDef) and function.name in COMPUTES):
            continue
        again = set()  # torch: what is computed once more where J^T v itself is differentiated, which no check asks for
        for node in ast.walk(function):
            if isinstance(node, ast.If) and "is_grad_enabled" in ast.unparse(node.test):
                again |= {id(n) for n in ast.walk(node)}
        for node in ast.walk(function):
            if not hasattr(node, "lineno") or id(node) in again:
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


    yield from texts(text)


def texts(text):
    """The same by PYTHON_PATTERNS."""
    for kind, patterns in PYTHON_PATTERNS.items():
        for pattern, replacement in patterns:
            for m in re.finditer(pattern, text):
                new = m.expand(replacement)
                yield kind, _line(m[0]), _line(new) or "nothing", text[: m.start()] + new + text[m.end() :]


def _line(text):
    return " ".join(text.split())


# C: a change of its text

NAME = r"[A-Za-z_]\w*(?:\[[^][]*\])?"
VALUE = r"(?m)^( +(?:double )?\*?[a-z]\w*(?:\[[^=\n]*\])? [-+]?= )((?:[^;\n]|\n(?= +[-+*/?:]))*[\w)\]]);"
PATTERNS = {
    "a sign": [(r" \+ (?!=)", " - "), (r"(?<=[\w)\]]) - ", " + "), (r"(?<=[=(] )-(?=[a-z(])", "")],
    "a term dropped": [(rf" [+-] {NAME}(?=[;)\n])", "")],
    "a factor dropped": [(rf" [*/] {NAME}(?=[;) ])", ""), (r"\b2\.0 \* ", "")],
    "a quotient inverted": [(r" / (?=[\w(])", " * ")],
    "a wrong operand": [(rf"({NAME}) ([-+*/]) ({NAME})(?=[;) \n])", r"\1 \2 \1")],
    "a factor of 2": [(VALUE, r"\g<1>2.0 * (\2);")],
    "0.001 relative": [(VALUE, r"\g<1>1.001 * (\2);")],
    "1e-6 relative": [(VALUE, r"\g<1>1.000001 * (\2);")],
    "a transpose": [(r"\[(\w) \* (\w+) \+ (\w)\]", r"[\3 * \2 + \1]")],
    "a loop's start": [(r"(\w+) = 0; \1 <", r"\1 = 1; \1 <")],
    "a loop's type": [(r"for \(size_t ", "for (unsigned short "), (r"for \(size_t ", "for (int ")],
    "where a maximum begins": [(r"= -INFINITY", "= 0.0"), (r"= -INFINITY", "= -1e30")],
    "a loop's end": [(r"; (\w+) < (\w+);", r"; \1 + 1 < \2;")],
    "= for +=": [(r" \+= ", " = ")],
    "+= for =": [(r"(?m)^( +\*?grad_\w+(?:\[[^=\n]*\])?) = ", r"\1 += ")],
    "another function": [
        (r"\bexp\(", "expm1("), (r"\blog\(", "log1p("), (r"\bsin\(", "cos("), (r"\bcos\(", "sin("),
        (r"\btanh\(", "sinh("), (r"\bsqrt\(", "cbrt("), (r"\bfmax\(", "fmin("), (r"\berf\(", "erfc("),
    ],
    "a comparison": [
        (r"(?<=[\w)\]]) > (?=[\w(])", " >= "), (r"(?<=[\w)\]]) >= (?=[\w(])", " > "), (r" == (?!NULL)", " != "),
        (r"(?<=[\w)\]]) < (?=0\.0|[a-z]\w*\[)", " <= "),
    ],
    "two regions swapped": [(r"\? ([^:?;]+) : ([^:?;]+)(?=[;)])", r"? \2 : \1")],
    "off by one": [(r"\[([ij])\]", r"[\1 + 1]"), (r"\[(\w+ \* \w+) \+ (\w+)\]", r"[\1 + \2 + 1]")],
    "a literal": [(r"\b(\d\.\d{12})\d{3,}", r"\1"), (r"\b(\d+)\.(?=5\b)", r"\1.00")],
    "the place before": [(r"(?m)^( +[a-z]\w*\[)([1-9]\d*)\] = ", r"\g<1>\2 - 1] = ")],
    "an element missing": [(r"(?m)^ +\*?[a-z]\w*(?:\[[^=\n]*\])? [-+]?= [^;\n]*;\n", "")],
    "the wrong gradient asked for": [
        (r"if \((\w+)\) \{", "if (1) {"), (r"if \((\w+) \|\| \w+\) \{", r"if (\1) {"),
    ],
}  # fmt: skip


def c_mutants(text):
    """As `python_mutants`; comments, declarations and the heads of loops stay, unless the kind is about them."""
    code = re.sub(r"/\*.*?\*/", lambda m: re.sub(r"[^\n]", "\0", m[0]), text, flags=re.DOTALL)
    for body in re.finditer(r"^\{$.*?^\}$", code, re.DOTALL | re.MULTILINE):
        start, end = body.span()
        for kind, patterns in PATTERNS.items():
            for pattern, replacement in patterns:
                for m in re.finditer(pattern, code[start:end]):
                    first, last = start + m.start(), start + m.end()
                    line = code[code.rfind("\n", 0, first + 1) + 1 : code.find("\n", last - 1)]
                    if "for (" in line and not kind.startswith("a loop") or "const " in line:
                        continue
                    new = m.expand(replacement)
                    if new == m[0] or m.re.pattern == VALUE and m[2] == "0.0":
                        continue
                    yield kind, _line(line.replace("\0", "")), _line(new) or "nothing", text[:first] + new + text[last:]
        head = code[: start].rpartition(";")[2]
        gradients = list(dict.fromkeys(re.findall(r"\*(?:restrict )?(grad_\w+)", head)))
        if "_backward(" in head and len(gradients) > 1:
            one, other = gradients[-2:]
            swap = {one: other, other: one}
            inside = re.sub(rf"\b({one}|{other})\b", lambda m, swap=swap: swap[m[0]], text[start:end])
            if inside != text[start:end]:
                yield "two swapped", one, other, text[:start] + inside + text[end:]


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
    names = list(kinds)
    rng.shuffle(names)
    for round_ in range(most):
        for kind in names:
            if len(kinds[kind]) > round_ and most > 0:
                most -= 1
                yield rng.choice(kinds[kind]) if round_ == 0 else kinds[kind][round_]


def caught(mutant):
    """Whether the check refuses a mutant; None if it does not even load, which no check is needed for."""
    declared = declaration(mutant.function)
    result = replace(printed(declared, mutant.to, options(mutant.function)), files=mutant.files)
    try:
        artefact = result.load()
    except (CompilerError, SyntaxError, NameError):
        return None
    report = verified(declared, result, artefact, seconds=SECONDS)
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
    if mutant.kind == "where a maximum begins":
        return ""
    for before, after, why in EQUIVALENT:
        if re.search(before, mutant.before) and re.search(after, mutant.after.strip("()")):
            return why
    return ""
