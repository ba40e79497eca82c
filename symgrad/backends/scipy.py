"""SciPy: what its solvers call. One file, with the NumPy functions as they are printed for `numpy`.

One scalar output: `fun_and_grad` for minimize(..., jac=True), `hess` and `hessp`. Others: `residuals`, and `jac`, which
gives the Jacobian as an array, or as a LinearOperator. The unknown comes flat; every result is a new array, because a
solver keeps what it was given (BFGS and Newton-CG stop silently where a gradient is written over).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType, ModuleType

from ..plan import Program
from ..source import python as py
from .python_names import PythonLanguage
from .scipy_solvers import FILES


class SciPy(PythonLanguage):
    """The target `scipy`."""

    name = "scipy"
    dialect = "numpy"
    executed = "scipy"
    products = True
    takes = ("save", "matrix", "solver")
    instead = MappingProxyType(
        {
            "functions": "What its solvers call is said by matrix and solver.",
            "wrt": "The unknown is named with the language, as in --to scipy:w+b.",
        }
    )
    style = "arrays"

    def module(self, program: Program, header: Sequence[str]) -> py.Module:
        """The file as a tree."""
        return FILES[self.options.solver](program, self.options.matrix).module(header)

    def load(self, program: Program, files: Mapping[str, str]) -> ModuleType:
        """Import the printed text as a module; it says what its unknowns are."""
        module = self.module_of(program, files)
        called = {"unknowns": program.unknowns, "ahead": program.ahead, "solver": self.options.solver}
        module.__dict__["solved"] = called
        return module
