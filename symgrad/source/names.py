"""The names of a file, given once: the interface's are fixed, the user's come next, everything else yields."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from ..errors import UnsupportedError
from ..expr.names import Names
from ..ir import Function


class Scope(Names):
    """The names that mean something in a part of a file; what is inside sees what is outside.

    Who is to keep a name claims it first: the interface's `grad_output`, then the inputs, sizes, options, indices and
    locals that the user named, then what the printed code calls from elsewhere; `new` gives what is left to temporaries
    and functions of the file.
    """

    def __init__(self, *taken: Iterable[str], outer: Scope | None = None) -> None:
        super().__init__(*taken)
        self._outer = outer

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or (self._outer is not None and name in self._outer)


def refuse_keywords(function: Function, language: str, keywords: Collection[str], inside: bool = False) -> None:
    """Raise UnsupportedError if what is called in a language would need one of its keywords.

    inside  also for names that no caller sees: of locals and indices, and of the function itself
    """
    named = {
        "input": function.inputs,
        "output": function.outputs,
        "option": tuple(o.name for o in function.options),
        "size": tuple(d.name for d in function.dims),
    }
    if inside:
        named["local"] = tuple(t.name for t in function.tensors)
        named["index"] = tuple(i.name for e in function.statements for i, _ in e.box)
        named["function"] = (function.name,)
    for what, names in named.items():
        for name in names:
            if name in keywords:
                raise UnsupportedError(
                    f"{function.name}: {what} {name!r} is a keyword of {language}. "
                    f"Choose another name for this {what}, or print another language."
                )
