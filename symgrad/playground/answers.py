"""A question about one formula -> its answer, both as data that JSON can hold.

A question is a mapping of strings: `ask`, a row of ASKS; `formula`, which is formula text and nothing else, or
`library`, the name of a function in `symgrad.library`; `to`, a language. An answer has `html`, sections of an
explanation, and what else the row says; or `error`, with `at`, the place in the text, where there is one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .. import library
from ..backends import BACKENDS
from ..derivatives import Declaration, as_function
from ..errors import FormulaError, SymgradError, TargetError
from ..explanation.build import LANGUAGES, Explained, check_blocks, checked
from ..explanation.code import code_blocks
from ..explanation.document import Code, Document, Section
from ..explanation.html import sections
from ..explanation.rewrites import result_blocks
from ..formulas import parse
from ..pipeline import printed

Answer = dict[str, Any]
LONGEST = 2_000  # characters of a formula: some hundred times what people type
DERIVATION = ("local", "why", "numbers", "rewrites", "saved", "graph", "accuracy")  # sections of an explanation


def answer(question: Any) -> Answer:
    """The answer, whatever the question is."""
    try:
        asked = _read(question)
        if asked["ask"] == "library":
            return {"groups": {topic: names for topic, (_, names) in library.topics().items()}}
        return ASKS[asked["ask"]](_declaration(asked), asked["to"])
    except FormulaError as error:
        return {"error": error.said, "at": error.at}
    except SymgradError as error:
        return {"error": str(error)}
    except MemoryError:
        return {"error": "this takes more memory than a page may. Ask for it by the command, symgrad explain."}
    except Exception as error:
        return {"error": f"this is a mistake in symgrad, and not in the formula: {type(error).__name__}: {error}"}


def _read(question: Any) -> dict[str, str]:
    """The question with all of its words. Raises TargetError for what is none."""
    if not isinstance(question, dict) or not all(isinstance(v, str) for v in question.values()):
        raise TargetError("a question is a JSON object of strings.")
    asked = {"ask": "", "formula": "", "library": "", "to": "numpy", **question}
    if len(asked) > 4 or asked["ask"] not in (*ASKS, "library"):
        raise TargetError(f"a question has ask, formula, library and to; ask is {', '.join(ASKS)} or library.")
    if asked["to"] not in BACKENDS:
        raise TargetError(f"{asked['to']!r} is no language that symgrad prints; choose from {', '.join(BACKENDS)}.")
    if len(asked["formula"]) > LONGEST:
        raise TargetError(
            f"the formula has {len(asked['formula']):,} characters, and a page reads {LONGEST:,}. Longer ones are for "
            f"the command: symgrad explain."
        )
    return asked


def _declaration(asked: Mapping[str, str]) -> Declaration:
    name = asked["library"]
    if not name:
        return parse(asked["formula"])
    if name not in library.__all__:
        raise TargetError(f"there is no {name} in the library.")
    found: Declaration = getattr(library, name)
    return found


def _derived(declaration: Declaration, to: str) -> Answer:
    """The function, J and J^T v; `text` is the function as formula text has it."""
    found = Explained(declaration, {}, "numpy")
    of = found.sections
    shown = [Section(name, of[name][0], of[name][1]()) for name in ("function", "jacobian")]
    product = result_blocks(found.single, found.derivative)
    shown.append(Section("product", f"The product J^T v, with v = `{found.v}`", product))
    return {"html": _html(*shown), "name": found.function.name, "text": str(as_function(declaration))}


def _explained(declaration: Declaration, to: str) -> Answer:
    """What leads to J^T v."""
    found = Explained(declaration, {}, to if to in LANGUAGES else "numpy")
    return {"html": sections(found.document(DERIVATION))}


def _printed(declaration: Declaration, to: str) -> Answer:
    """The files of a language; of those with a forward and a backward, beside the formulas."""
    found = printed(declaration, to)
    plain = tuple(Code(path, text, ()) for path, text in found.files.items())
    if to not in LANGUAGES:
        return {"html": _html(Section("files", "The files", plain[::-1]))}  # what is called stands before who calls
    return {"html": _html(Section("files", "Each formula, and its line of code", (*code_blocks(found), *plain[1:])))}


def _checked(declaration: Declaration, to: str) -> Answer:
    """What the check says of a language; `ok` is None where it could not be made here."""
    outcome = checked(declaration, printed(declaration, to))
    ok, said = (None, outcome) if isinstance(outcome, str) else (outcome.ok, str(outcome))
    return {"html": _html(Section("report", "What was checked", check_blocks(outcome))), "ok": ok, "said": said}


ASKS: Mapping[str, Callable[[Declaration, str], Answer]] = {
    "derive": _derived,
    "explain": _explained,
    "code": _printed,
    "check": _checked,
}


def _html(*some: Section) -> str:
    return sections(Document("", (), tuple(s for s in some if s.blocks)))
