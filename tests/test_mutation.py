"""The check itself: printed text with one mistake in it is refused, in both targets.

Mistakes are made everywhere in the two functions of a file, a few of each kind: a sign flipped, a term or a factor
dropped, a transpose forgotten, a wrong axis, two gradients swapped, a loop that is one short, `+=` written as `=`.
"""

from __future__ import annotations

import ast
import copy
import re
import subprocess

import pytest
from mathematics import COMPILER, both

from symgrad import library
from symgrad.backends.python_file import module_from
from symgrad.pipeline import as_function, printed
from symgrad.verify import check

FUNCTIONS = (
    "squares",
    "polynomial",
    "sine_and_double",
    "linear",
    "linear_mse",
    "mlp",
    "softmax",
    "cross_entropy",
    "layer_norm",
    "batch_norm",
)
EACH = 2  # mutants of one kind

# What does not change the result: softmax is the same with any shift, so a mistake in the maximum costs accuracy at
# most; arrays in `work` may share memory where one dies as the other is born; the first `+=` into zeros is a `=`.
SAME = re.compile(r"max_|\.max\(|fmax|= work")


def some(sites):
    """A few of many, evenly from the first to the last."""
    return sites if len(sites) <= EACH else [sites[k * (len(sites) - 1) // (EACH - 1)] for k in range(EACH)]


# Python, by its syntax tree


def _sign(node):
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
        return ast.BinOp(node.left, ast.Sub() if isinstance(node.op, ast.Add) else ast.Add(), node.right)
    return node.operand if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) else None


def _term(node):
    return node.left if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)) else None


def _first_term(node):
    return node.right if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add) else None


def _factor(node):
    return node.left if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Mult, ast.Div)) else None


def _power(node):
    return node.left if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow) else None


def _transpose(node):
    return node.value if isinstance(node, ast.Attribute) and node.attr == "T" else None


def _axis(node):
    if isinstance(node, ast.keyword) and node.arg == "axis" and isinstance(node.value, (ast.Constant, ast.UnaryOp)):
        value = ast.literal_eval(node.value)
        return ast.keyword("axis", ast.Constant(0 if value else 1))
    return None


def _update(node):
    return ast.Assign([node.target], node.value) if isinstance(node, ast.AugAssign) else None


def _swap(node):
    if isinstance(node, ast.Return) and isinstance(node.value, ast.Tuple) and len(node.value.elts) > 1:
        first, second, *rest = node.value.elts
        if all(isinstance(e, ast.Name) and e.id.startswith("grad_") for e in (first, second)):
            return ast.Return(ast.Tuple([second, first, *rest], ast.Load()))
    return None


KINDS = {
    "a sign": _sign,
    "a term": _term,
    "the first term": _first_term,
    "a factor": _factor,
    "a power": _power,
    "a transpose": _transpose,
    "an axis": _axis,
    "+=": _update,
    "two gradients": _swap,
}


class _Change(ast.NodeTransformer):
    """Changes the node with that number, counted in the order of the walk."""

    def __init__(self, number, change):
        self.number, self.change, self.seen = number, change, 0

    def generic_visit(self, node):
        mine, self.seen = self.seen, self.seen + 1
        node = super().generic_visit(node)
        if mine == self.number:
            node = ast.copy_location(self.change(node), node)
        return node


def python_mutants(files):
    """(what was done, files) for each mutant of a printed NumPy file."""
    ((path, text),) = files.items()
    tree = ast.parse(text)
    for place, function in enumerate(tree.body):
        if not (isinstance(function, ast.FunctionDef) and function.name in ("forward", "backward")):
            continue
        for kind, change in KINDS.items():
            sites = []
            for number, node in enumerate(_walk(function)):
                if change(node) is not None and not SAME.search(ast.unparse(node)):
                    sites.append((number, node))
            for number, node in some(sites):
                mutant = copy.deepcopy(tree)
                mutant.body[place] = _Change(number, change).visit(mutant.body[place])
                source = ast.unparse(ast.fix_missing_locations(mutant))
                yield f"{kind} of {ast.unparse(node)}", {path: f'"""{function.name}"""\n{source}'}


def _walk(node):
    """The nodes in the order in which `_Change` counts them."""
    yield node
    for child in ast.iter_child_nodes(node):
        yield from _walk(child)


# C, by its text

NAME = r"[A-Za-z_]\w*(?:\[[^][]*\])?"
PATTERNS = {
    "a sign": [(r" \+ (?!=)", " - "), (r"(?<=[\w)\]]) - ", " + ")],
    "a term": [(rf" [+-] {NAME}(?=[;)\n])", "")],
    "a factor": [(rf" [*/] {NAME}(?=[;) ])", ""), (r"\b2\.0 \* ", "")],
    "a loop's start": [(r"(\w+) = 0; \1 <", r"\1 = 1; \1 <")],
    "a loop's end": [(r"; (\w+) < (\w+);", r"; \1 + 1 < \2;")],
    "+=": [(r" \+= ", " = ")],
    "a transpose": [(r"\[(\w) \* (\w+) \+ (\w)\]", r"[\3 * \2 + \1]")],
}


def c_mutants(files):
    """(what was done, files) for each mutant of the printed C."""
    (path,) = (name for name in files if name.endswith(".c"))
    text = files[path]
    code = re.sub(r"/\*.*?\*/", lambda m: "\0" * len(m[0]), text, flags=re.DOTALL)  # comments stay as they are
    for start, end in _functions(code):
        for kind, patterns in PATTERNS.items():
            sites = []
            for pattern, replacement in patterns:
                for m in re.finditer(pattern, code[start:end]):
                    line = code[code.rfind("\n", 0, start + m.start()) : code.find("\n", start + m.end())]
                    header = "for (" in line and not kind.startswith("a loop")
                    if not SAME.search(line) and not header:
                        sites.append((start + m.start(), start + m.end(), m.expand(replacement), line.strip()))
            for first, last, new, line in some(sorted(sites)):
                yield f"{kind} of {line}", {**files, path: text[:first] + new + text[last:]}
        gradients = list(
            dict.fromkeys(re.findall(r"\*(?:restrict )?(grad_\w+)", code[:start].rpartition("\nvoid ")[2]))
        )
        if len(gradients) > 1 and "_backward(" in code[:start].rpartition("\nvoid ")[2]:
            one, other = gradients[-2:]
            swap = {one: other, other: one}
            body = re.sub(rf"\b({one}|{other})\b", lambda m, swap=swap: swap[m[0]], text[start:end])
            if body != text[start:end]:
                yield f"two gradients: {one} and {other}", {**files, path: text[:start] + body + text[end:]}


def _functions(code):
    """The bodies of the functions, from brace to brace."""
    for m in re.finditer(r"^\{$.*?^\}$", code, re.DOTALL | re.MULTILINE):
        yield m.start(), m.end()


def compiles(files, folder):
    for name, text in files.items():
        (folder / name).write_text(text)
    (source,) = (name for name in files if name.endswith(".c"))
    line = [COMPILER, "-std=c99", "-fsyntax-only", source]
    return subprocess.run(line, cwd=folder, capture_output=True, check=False).returncode == 0


@both
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.filterwarnings("ignore")  # a mutant may divide by zero
def test_every_mutant_is_caught(name, to, tmp_path):
    declaration = getattr(library, name)
    function = as_function(declaration)
    correct = printed(declaration, to)
    library_of_the_correct = correct.load()
    plain = check(function, correct.files, to, library_of_the_correct)
    assert plain.ok, str(plain)
    count, survivors = 0, []
    for done, files in python_mutants(correct.files) if to == "numpy" else c_mutants(correct.files):
        if to == "numpy":
            ((path, text),) = files.items()
            artefact = module_from(path, text)
        elif not compiles(files, tmp_path):
            continue
        else:
            artefact = library_of_the_correct  # the text alone must tell
        count += 1
        report = check(function, files, to, artefact)
        if report.ok and not (report.losses and not plain.losses):
            survivors.append(done)
    assert count >= 3
    assert not survivors, f"{len(survivors)} of {count} mutants survived:\n" + "\n".join(survivors)
