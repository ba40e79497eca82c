"""Formula text: `squares(x, y) = x**2, x*y, y**2` to a Function.

tokenizer.py    characters to tokens, and every limit on size; no later stage sees a text that is too large
expression.py   tokens to expressions, by precedence
declaration.py  the header, the statements, and what they tell the Draft

Nothing here evaluates text: no `eval`, no `sympify`, no `ast`. The names are those of the declaration and of `ops.NAMES`.
"""

from .declaration import declare_inputs, parse

__all__ = ["declare_inputs", "parse"]
