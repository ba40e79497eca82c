"""What callers of a printed file rely on: C prototypes, Python signatures, the order of what is saved.

It is read from the text, and not from what prints it.
"""

from __future__ import annotations

import ast
import re
from typing import Any

from pycparser import CParser, c_ast
from pycparser.c_generator import CGenerator

_TYPES = "typedef unsigned long size_t; typedef long ptrdiff_t; typedef long int64_t; typedef int int32_t;\n"
_CPLUSPLUS = re.compile(r"#ifdef __cplusplus\n.*?#endif\n", re.DOTALL)
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_MACRO = re.compile(r"#define (\w+\(.*?\))")
_DIRECTIVE = re.compile(r"#(?:.*\\\n)*.*\n")


def of_header(text: str) -> list[str]:
    """The exported prototypes, and the macros with their parameters; what a macro computes may change."""
    text = _CPLUSPLUS.sub("", _COMMENT.sub(" ", text))
    macros = [f"#define {found}" for found in _MACRO.findall(text)]
    declared = CParser().parse(_TYPES + _DIRECTIVE.sub("", text)).ext
    return [CGenerator().visit(d) for d in declared if not isinstance(d, c_ast.Typedef)] + macros


def of_python(text: str) -> list[str]:
    """The signatures of what a file exports, what backward is handed, and which gradients it returns."""
    tree = ast.parse(text)
    assigned = [s for s in tree.body if isinstance(s, ast.Assign)]
    (names,) = (ast.literal_eval(s.value) for s in assigned if ast.unparse(s.targets[0]) == "__all__")
    facts = []
    for s in tree.body:
        if isinstance(s, ast.FunctionDef) and s.name in names:
            facts.append(f"{s.name}({ast.unparse(s.args)})")
            if s.name == "backward":
                facts += _handed(s)
        elif isinstance(s, ast.ClassDef) and s.name in names:
            methods = [f for f in s.body if isinstance(f, ast.FunctionDef) and f.name in ("forward", "jvp")]
            facts += [f"{s.name}.{f.name}({ast.unparse(f.args)})" for f in methods]
    missing = [n for n in names if not any(f.startswith((f"{n}(", f"{n}.")) for f in facts)]
    return facts + [f"{n}: no function" for n in missing]


def _handed(backward: ast.FunctionDef) -> list[str]:
    """What is read from `saved`, and returned."""
    body: Any = backward.body
    first = [ast.unparse(a.targets[0]) for a in body if ast.unparse(getattr(a, "value", a)) == "saved"]
    results = [ast.unparse(r.value) for r in body if isinstance(r, ast.Return) and r.value is not None]
    return [f"    saved {names}" for names in first] + [f"    gives {results[0]}"]
