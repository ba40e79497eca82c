"""What goes wrong where somebody edits printed files: kinds of mistakes, for mutants.py to make.

KINDS change a node of Python's syntax tree, PYTHON_PATTERNS and PATTERNS the text of Python and C: rows of (what stands
there, what stands there instead). PYTHON_EDITS and C_EDITS are those that were written down from the printed files
alone, by someone who did not know what the check looks at.
"""

from __future__ import annotations

import ast
import re

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
        (r"(?m)^( +)if not value\.is_floating_point\(\):$", r"\1if False:"),
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


# C: a change of its text

NAME = r"[A-Za-z_]\w*(?:\[[^][]*\])?"
VALUE = r"(?m)^( +(?:double )?\*?[a-z]\w*(?:\[[^=\n]*\])? [-+]?= )(?!0\.0;)((?:[^;\n]|\n(?= +[-+*/?:]))*[\w)\]]);"
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


# Written down from the printed files alone, before anything else was looked at: what a person or a program that edits
# such a file gets wrong. Python, in its code, docstrings apart

PYTHON_EDITS = {
    "keepdims forgotten": [(r", keepdims?=True", "")],
    "keepdims too many": [
        (r"\.(sum|mean|max)\((axis=-?\d)\)", r".\1(\2, keepdims=True)"),
        (r"\.(sum|mean)\((dim=-?\d)\)", r".\1(\2, keepdim=True)"),
    ],
    "a sum over another axis": [(r"(?<=axis=)-1|(?<=dim=)-1", "-2"), (r"(?<=axis=)0|(?<=dim=)0", "-1")],
    "a sum over everything": [(r"\.(sum|mean|max)\((?:axis|dim)=[^()]*\)", r".\1()")],
    "a sum forgotten": [(r"\.(?:sum|mean)\((?:axis|dim)=[^()]*(?:\([^()]*\))?\)", "")],
    "one axis of two": [(r"(?:axis|dim)=\((\d), \d(?:, \d)*\)", r"axis=\1")],
    "the unbiased divisor": [(r"/ (n|d|m|batch)\b", r"/ (\1 - 1)"), (r"/ (\w+\.shape\[-?\d\])", r"/ (\1 - 1)")],
    "** for *": [(r"\b(\w+)\*\*2\b", r"\1 * 2"), (r"\b(\w+) \*\* 2\b", r"\1 * 2")],
    "@ for *": [(r" @ ", " * ")],
    "and for or": [
        (r"(needs_input_grad\[\d\]) or ", r"\1 and "),
        (r"(needs_input_grad\[\d\]) or (?:ctx\.)?needs_input_grad\[\d\]", r"\1"),
        (r" and (?=has_|\w+ is not)", " or "),
        (r"(?<=\)) & (?=\()", " | "),
        (r"(?<=\)) \| (?=\()", " & "),
    ],
    "a gradient nobody asked for": [(r"if (?:ctx\.)?needs_input_grad\[\d\](?: and \w+)?:", "if True:")],
    "another filler": [
        (r", 0\)(?=$|[,)\n -/*])", ", 1)"),
        (r", 1\)(?=$|[,)\n -/*])", ", 0)"),
        (r"=-(?:np|jnp)\.inf", "=0"),
    ],
    "a guard left out": [
        (r"(?:np|jnp|torch)\.where\((?:[^(),]|\([^()]*\))+, (?:0|1), ([\w.]+)\)", r"\1"),
        (r"(?:np|jnp|torch)\.where\((?:[^(),]|\([^()]*\))+, ([\w.]+(?:\[[^][]*\])?), (?:0|1)\)", r"\1"),
    ],
    "a mask as a product": [
        (
            r"(?:np|jnp|torch)\.where\((\w+(?:\[[^][]*\])?), ((?:[^(),]|\((?:[^()]|\([^()]*\))*\))+), 0\)",
            r"(\1 * (\2))",
        ),
        (r"(?:np|jnp)\.maximum\((\w+), 0\)", r"(\1 * (\1 > 0))"),
    ],
    "eps outside of the root": [(r"sqrt\((.*) \+ eps\)", r"sqrt(\1) + eps")],
    "eps left out": [(r" \+ eps\b", "")],
    "1e-12 for safety": [
        (r" / (\w+)(?=[)\n])", r" / (\1 + 1e-12)"),
        (r"\b(log|sqrt)\((\w+)\)", r"\1(\2 + 1e-12)"),
        (r" / (\w+\.sum\([^()]*\))", r" / (\1 + 1e-8)"),
    ],
    "a clip for safety": [(r"\b(np|jnp)\.exp\((-?\w+)\)", r"\1.exp(\1.clip(\2, -500, 500))")],
    "an option baked in": [
        (r"\+ eps\b", "+ 1e-5"),
        (r"(?<=[*/ ,(])stride(?= [*)]|\))", "1"),
        (r"(?<=[-+ (])padding(?= \+|,)", "0"),
        (r"!= ignore_index", "!= -100"),
        (r"!= ignore_index", ">= 0"),
    ],
    "another default": [
        (r"=1e-05\b", "=1e-06"),
        (r"(?<=ignore_index=)-100", "-1"),
        (r"\b(stride|size|dilation)=\d(?=[,)])", r"\1=3"),
    ],
    "the wrong thing saved": [
        (r"save_for_backward\(output\)", "save_for_backward(inputs[0])"),
        (r"(?m)^( +return out, \()(\w+), (\w+)(?=[,)])", r"\1\3, \2"),
        (r"(?m)^( +return out, \()x(?=[,)])", r"\1out"),
        (r"(?m)^( +return out, \()out(?=[,)])", r"\1x"),
        (r"save_for_backward\((\w+), (\w+)", r"save_for_backward(\2, \1"),
        (r"(?m)^( +)(save_for_backward\(\n +)(\w+),\n( +)(\w+),", r"\1\2\5,\n\4\3,"),
    ],
    "an input overwritten": [
        (r"(?m)^( +)(\w+) = (x|logits|grad_output) ([-+*/]) (?!.*[(,]$)(.+)$", r"\1\3 \4= \5\n\1\2 = \3"),
        (r"(?m)^( +)(exp_\w+) = (np|torch)\.exp\((x|logits) - (.*)\)$", r"\1\4 -= \5\n\1\2 = \3.exp(\4)"),
        (r"(?m)^( +)(\w+) = (\w+) \+ (\w+)$", r"\1\3 += \4\n\1\2 = \3"),
    ],
    "a view for a copy": [(r"\.(?:copy|clone)\(\)", ""), (r"np\.array\(", "np.asarray("), (r"\.contiguous\(\)", "")],
    "a type of zeros": [
        (r", dtype=\w+\.dtype(?=\))", ""),
        (r"\w+\.new_zeros\(", "torch.zeros("),
        (r"\w+\.new_empty\(", "torch.empty("),
        (r"\.to\(\w+\.dtype\)", ".float()"),
        (r"\.astype\(\w+\.dtype\)", ""),
        (r"dtype=\w+\.dtype(?=\))", "dtype='float32'"),
    ],
    "memory that is not set": [
        (r"np\.zeros\(", "np.empty("),
        (r"\.new_zeros\(", ".new_empty("),
        (r"(?m)^( +)(padded_\w+) = np\.zeros\(", r"\1\2 = np.empty("),
    ],
    "a narrower number": [
        (r"(?m)^( +\w+ = )(j?np\..*\))$", r'\1(\2).astype("float32")'),
        (r"(?m)^( +\w+ = )(torch\..*\))$", r"\1(\2).float()"),
        (r"(?m)^( +grad_\w+ = )(\w+ [-+*/] .*[\w)])$", r"\1(\2) + 1e-9"),
    ],
    "repeated subscripts": [
        (r"np\.add\.at\(\n? *(\w+),\s+(\([^()]*(?:\([^()]*\))*[^()]*\)|[^,\n]+),", r"\1[\2] += ("),
        (r"accumulate=True", "accumulate=False"),
        (r"\.index_add_?\(", ".index_copy("),
    ],
    "the shape": [
        (r"\.shape\[0\]", ".shape[-1]"),
        (r"\.shape\[-1\]", ".shape[0]"),
        (r"\.shape\[:-1\]", ".shape[:1]"),
        (r"math\.prod\((\w+)\)", r"\1[0]"),
        (r"reshape\(math\.prod\((\w+)\), ", "reshape(-1, "),
        (r"reshape\((\w+(?:\(\w+\))?), (\w+)\)", r"reshape(\2, \1)"),
    ],
    "the division": [(r" // ", " / "), (r"\b0\.5\b", "(1 // 2)"), (r" // stride \+ 1", " // stride")],
    "an unstable form": [
        (r"\b(np|jnp|torch)\.log1p\(", r"\1.log(1 + "),
        (r"\b(np|jnp|torch)\.expm1\(([^()]*)\)", r"(\1.exp(\2) - 1)"),
        (r"\b(np|jnp|torch)\.logaddexp\((\w+), (\w+)\)", r"\1.log(\1.exp(\2) + \1.exp(\3))"),
        (r"\b(np|jnp|torch)\.hypot\((\w+), (\w+)\)", r"\1.sqrt(\2**2 + \3**2)"),
        (r"(exp\(\w+) - (?:\w+\.max\([^()]*\)|max_\w+(?:\[[^][]*\])?|_amax\([^()]*\))\)", r"\1)"),
        (r"jax\.nn\.softplus\((\w+)\)", r"jnp.log(1 + jnp.exp(\1))"),
        (r"1 - (\w+) \*\* 2", r"1 / \1 ** 2"),
    ],
    "an absolute value forgotten": [
        (r"(?:np|jnp|torch)\.abs\((\w+)\)", r"\1"),
        (r"(?:np|jnp|torch)\.sign\((\w+)\)", r"\1"),
    ],
    "None": [
        (r"is not None", "is None"),
        (r"(\w+) is not None(?=:)", r"\1"),
        (r"return (\w+), None", r"return None, \1"),
    ],
    "a broadcast": [(r"\[:, None\]", "[None, :]"), (r"\[:, None\]", ""), (r"\[None, :\]", "[:, None]")],
    "a wrapped subscript": [(r"\[t\]", "[t - 1]"), (r"\[t \+ 1\]", "[t]"), (r"\[:-1\]", "[1:]"), (r"\[1:\]", "[:-1]")],
    "the order of a loop": [
        (r"reversed\((range\([^()]*\))\)", r"\1"),
        (r"(?m)^ +t = n - 1 - t\n", ""),
        (r"fori_loop\(\n? *0, ", "fori_loop(1, "),
    ],
    "an einsum": [
        (r"einsum\(\s*\"(\w+),(\w+)->(\w)(\w)", r'einsum("\1,\2->\4\3'),
        (r"einsum\(\s*\"(\w)(\w)(\w*),", r'einsum("\2\1\3,'),
    ],
    "the padding": [
        (r"\(padding, padding\)", "(padding, 0)"),
        (r"padding : padding \+", "0 :"),
        (r"constant_values=-np\.inf", "constant_values=0"),
    ],
    "a swap of axes": [
        (r"\.swapaxes\(-1, -2\)", ""),
        (r"\.permute\((\d), (\d)", r".permute(\2, \1"),
        (r"\.transpose\((\d), (\d)", r".transpose(\2, \1"),
    ],
    "the bounds of a subscript": [
        (r"0 <= (\w+)\.min\(\)", r"-1 <= \1.min()"),
        (r"\.max\(\) < ", ".max() <= "),
        (r"\.max\(\) >= extent", ".max() > extent"),
        (r"\(places >= extent\)", "(places > extent)"),
        (r"\(places < 0\) \| ", ""),
        (r"values\.min\(\) < 0 or ", ""),
    ],
    "another exception": [
        (r"raise IndexError\(", "raise ValueError("),
        (r"raise TypeError\(", "raise ValueError("),
        (r"raise ValueError\(", "raise RuntimeError("),
    ],
    "what is taken as an array": [
        (r"= np\.asarray\(value\)", "= value"),
        (r"np\.asarray\(value\)", "np.array(value, dtype=np.float64)"),
        (r"jnp\.asarray\(value\)", "value"),
    ],
    "a gradient too few": [
        (r"(?m)^( +return grad_\w+(?:, \w+)*), \w+$", r"\1"),
        (r"\(None,\) \* (\d)", r"(None,) * (\1 - 1)"),
    ],
    "NumPy in a trace": [
        (r"\bjnp\.(exp|log|sqrt|where|sum|zeros|sin|cos|abs)\(", r"np.\1("),
        (r"isinstance\(subscripts, jax\.core\.Tracer\) or ", ""),
    ],
    "custom_vjp": [
        (r"nondiff_argnums=\((\d+),", r"nondiff_argnums=(\1 - 1,"),
        (r"def backward\((\w+), saved,", r"def backward(saved, \1,"),
        (r"defvjp\(forward, backward\)", "defvjp(backward, forward)"),
        (r"(?m)^@jax\.ensure_compile_time_eval\(\)\n", ""),
        (r"(?m)^( +return \(?grad_.*)None(?=[,)])", r"\1jnp.zeros(())"),
        (r"if n > 0:", "if True:"),
    ],
    "an autograd.Function": [
        (r"(?m)^ +with _no_autocast\((\w+)\):\n +return", "    return"),
        (r"(?m)^ +ctx\.set_materialize_grads\(False\)\n", ""),
        (r"\]\[0\]|\)\[0\](?=$)", ")"),
        (r"(?<=\w)\.apply\(([^()]*)\)\[0\]", r".apply(\1)"),
        (r"(?<=ctx\.options = \()(\w+), (\w+)", r"\2, \1"),
        (r"(?<=ctx\.sizes = \()([^,]+), ([^,]+)", r"\2, \1"),
        (r"zero = _zero\([^()]*\)", "zero = torch.zeros(())"),
        (r" if (?:ctx\.)?needs_input_grad\[\d\] else None", " if False else None"),
        (r"torch\.promote_types", "lambda a, b: a"),
        (r"(?m)^ +_, (\w+), (\w+) = (\w+)\.forward", r"            _, \2, \1 = \3.forward"),
    ],
    "a call of C": [
        (r"return torch\.float64", "return torch.float32"),
        (r"else torch\.int64", "else torch.int32"),
        (r"return out\.to\(\w+\.dtype\)", "return out"),
        (r"(?m)^( +)(mean_x|x|gain|grad_x[^\n]*),\n( +)(rstd|gain|bias|grad_gain[^\n]*),", r"\1\4,\n\3\2,"),
        (r"a\.data_ptr\(\)", "a.storage_offset()"),
        (r"(?m)^@(_\w+)\.register_fake\n", ""),
        (r"new_empty\(\((\*?\w+), d\)", r"new_empty((d, \1)"),
        (r"mutates_args=\(\)", "mutates_args=('x',)"),
        (r"register_autograd\(_refuse\)", "register_autograd(lambda ctx, *g: g)"),
        (r"ctypes\.c_size_t\]", "ctypes.c_int]"),
        (r"not in \(\"cpu\", \"meta\"\)", "in ()"),
        (r"new_empty\(batch\)", "new_empty(())"),
    ],
    "SciPy": [
        (r"float\(value\)", "value"),
        (r"_flat\(grad_(\w+), grad_(\w+)\)", r"_flat(grad_\2, grad_\1)"),
        (r"return \((\w+) \+ \w+\.T\) / 2", r"return \1"),
        (r"needs_input_grad=\(True, False", "needs_input_grad=(False, True"),
        (r"flat\.astype\(np\.float64\)", "flat"),
        (r"(?m)^ +flat = flat\.astype.*\n", "        pass\n"),
        (r"if flat\.size != ", "if flat.size < "),
        (r"\* direction_(\w)\b", r"* direction_x"),
        (r"hessian\[(\d), (\d)\] =", r"hessian[\2, \2] ="),
    ],
    "the cotangent": [
        (r"return np\.ones\(shape, dtype=dtype\)", "return np.ones(shape)"),
        (r"return np\.ones\(", "return np.zeros("),
        (r"shape != \(\)", "False"),
        (r"(?m)^( +)grad_output = _cotangent\(.*\)$", r"\1grad_output = grad_output"),
        (r"grad_output = np\.asarray\(grad_output\)", "grad_output = np.array(grad_output, dtype=np.float32)"),
        (r"zeros_like\(\w+\) if (\w+) is None", r"ones_like(\1) if \1 is None"),
    ],
}

C_EDITS = {
    "a loop one too long": [(r"; (\w+) < ([\w *+]+); \+\+", r"; \1 <= \2; ++")],
    "a countdown": [
        (r"for \(size_t (\w+) = (\w+); \1-- > 1;\)", r"for (size_t \1 = \2 - 1; \1 >= 1; --\1)"),
        (r"-- > 0;", "-- > 1;"),
        (r"-- > 1;", "-- > 0;"),
        (r"for \(size_t (\w+) = (\w+); \1-- > \d;\)", r"for (size_t \1 = 1; \1 < \2; ++\1)"),
    ],
    "a total that is not set": [
        (r"\b(double \w+) = 0\.0;", r"\1;"),
        (r"\b(double \w+ = (?:0\.0|-INFINITY);)", r"static \1"),
    ],
    "memory that is not set": [(r"(?m)^ +\w+(?:\[[^]]*\])? = 0\.0;\n", "")],
    "a narrower number": [
        (r"(?<=const )double (?=\w+ =)", "float "),
        (r"\bdouble (?=\w+ = 0\.0)", "float "),
        (r"\b(exp|log|sqrt|sin|cos|tanh|fabs)\(", r"\1f("),
    ],
    "a float literal": [(r"\b(\d+\.\d{7,}(?:e-?\d+)?)(?=[ ;)])", r"\1f")],
    "division of integers": [
        (r"\b1\.0 / (?=\(double\))", "1 / "),
        (r"\b0\.5 \* ", "1 / 2 * "),
        (r"\(double\)(?=\w)", "(double)(int)"),
        (r" / \(double\)(\w+)", r" / (double)(\1 - 1)"),
    ],
    "an integer's absolute value": [(r"\bfabs\(", "abs("), (r"\bfabs\((\w+)\)", r"\1")],
    "a subscript narrowed": [
        (r"\(size_t\)(?=\w+\[)", "(unsigned char)"),
        (r"\(size_t\)(?=\w+\[)", "(size_t)(int)"),
        (r"const size_t (?=\w+ = )", "const int "),
    ],
    "a stride": [
        (r"\[(\w+) \* (\w+) \+ (\w+)\]", r"[\1 + \2 * \3]"),
        (r"\((\w) \* (\w) \+ (\w)\) \* (\w)\b", r"(\1 * \4 + \3) * \2"),
        (r"\b(\w) \* (\w) \* (\w)\b(?=[,; +\]])", r"\1 * \2"),
    ],
    "a place in work": [(r"= work \+ [^;]+;", "= work;"), (r"\? \w+ : work\b", "? work : work")],
    "NULL": [
        (r"if \((\w+)\) \{(?=\n +(?:for|\w+\[|\*))", r"if (!\1) {"),
        (r"(?m)^( +)(\w+) = \2 \? \2 : work;\n", ""),
        (r"if \((\w+) \|\| (\w+)\)", r"if (\1 && \2)"),
    ],
    "contract": [
        (r"\b(contract\()(\w+), (\w+),", r"\1\3, \2,"),
        (r"(?<=, )(\w), 1(?=[,)])", r"1, \1"),
        (r"(?<=, )1, (\w)(?=[,)])", r"\1, 1"),
        (r"(?<=\bcontract\()([^,]+), ([^,]+), ([^,]+), 1\.0", r"\1, \2, \3, -1.0"),
    ],
    "a return": [
        (r"return 1;", "return 0;"),
        (r"return 2;", "return 0;"),
        (r"\b\w+\[\w+\] < 0 \|\| ", ""),
        (r">= (\w)\)", r"> \1)"),
        (r"(?m)^ +return [12];\n", ""),
    ],
    "NaN not seen": [
        (r"isnan\((\w+)\) \? \1 : ", ""),
        (r"isnan\((\w+)\) \? (\S+) : ", ""),
        (r"(?m)^ +nan_seen \+=.*\n", ""),
    ],
    "a guard left out": [
        (r"\b(?:\w+|\([^()]*\)) \? ([^:?;\n]+) : (?:0|1)\.0", r"\1"),
        (r"if \(counts\) \{", "{"),
        (r"if \(n > 0\) \{", "{"),
    ],
    "|| for &&": [(r" && ", " || "), (r" \|\| ", " && ")],
    "a clause of OpenMP": [
        (r" reduction\(\+:\w+, (\w+)\)", r" reduction(+:\1)"),
        (r"(?m)^ +(#pragma omp simd) reduction\(max:", r"\1 reduction(min:"),
    ],
    "1e-12 for safety": [
        (r" / ((?:sum|norm|total|count|rstd)\w*)(?=[;\n )])", r" / (\1 + 1e-12)"),
        (r"\b(log|sqrt)\((\w+)\)", r"\1(\2 + 1e-12)"),
    ],
    "a clip for safety": [
        (r"vector_exp\((\w[^()]*)\)", r"vector_exp(fmax(\1, -500.0))"),
        (r"746\.0", "700.0"),
        (r"746\.0", "708.0"),
    ],
    "an unstable form": [
        (r"vector_log1p\(", "log(1.0 + "),
        (r"\blog1p\(", "log(1.0 + "),
        (r"\bexpm1\(([^()]*)\)", r"(exp(\1) - 1.0)"),
        (r"\bhypot\((\w+), (\w+)\)", r"sqrt(\1 * \1 + \2 * \2)"),
        (r" - max_\w+\)", ")"),
    ],
    "eps left out": [(r" \+ eps\b", "")],
    "an option baked in": [
        (r"\beps\b", "1e-5"),
        (r"(?<=\))stride \*|\bstride \*", "1 *"),
        (r"- \(size_t\)padding", "- 0"),
        (r"!= ignore_index", "!= -100"),
        (r"!= ignore_index", ">= 0"),
    ],
    "another element": [
        (r"\[([^][]*)\](?= = | \+= )", r"[0]"),
        (r"\(t \+ 1\) \*", "t *"),
        (r"\(\((\w) \* (\w) \+ (\w)\) \* (\w) \+ (\w)\)", r"((\1 * \2 + \3) * \4)"),
    ],
    "a result that is not asked for": [(r"(?m)^( +)if \((\w+)\) \{\n( +)(\w+\[[^]]*\] = \w+;)\n +\}", r"\1\4")],
}
