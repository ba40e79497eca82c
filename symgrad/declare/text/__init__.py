"""Formula text: `squares(x, y) = x**2, x*y, y**2` to a Function.

One reader, in layers; each file adds to the one before:

tokenizer.py    characters to tokens, and every limit on size: no later layer sees a text that is too large
cursor.py       a place among the tokens, and the errors that show it
operators.py    operators by precedence, and the limits on numbers
names.py        what a name stands for, subscripts, indices
expression.py   numbers, brackets, reductions, calls
header.py       inputs and options
domain.py       what the inputs are declared for
declaration.py  statements, and what they tell the Draft

Nothing here evaluates text: no `eval`, no `sympify`, no `ast`. The names are those of the declaration and of
`ops.NAMES`. The reader of whole arrays, which `sg.parse` calls, is above this one: formulas.py.
"""

from .declaration import ALONE, DeclarationReader, declare_inputs, is_formula_alone, read_formula
from .domain import interval_of
