"""The joint equations of a function and of its derivative, as they are written."""

from __future__ import annotations

from collections.abc import Sequence

from ..expr import Expr, Index
from ..expr.names import fresh
from ..ir import Dtype, Equation, Function, Role, Tensor, names_of, recorded
from ..ops.primitive import refuse_undeclared
from ..records import replace


class Joint:
    """What a rule adds to: tensors and equations, besides those of the function.

    cotangent  tensor -> the tensor that accumulates its cotangent
    """

    def __init__(self, function: Function) -> None:
        self.function = function
        self.taken = names_of(function)
        self.tensors: list[Tensor] = list(function.tensors)
        self.statements: list[Equation] = []
        self.cotangent: dict[str, str] = {}

    def joined(
        self, more: Sequence[Equation], tensors: Sequence[Tensor], inputs: tuple[str, ...], outputs: tuple[str, ...]
    ) -> Function:
        """The function with the equations of its derivative, and their tensors."""
        refuse_undeclared(e.body for e in more)
        return replace(
            self.function,
            tensors=tuple(tensors),
            statements=(*self.function.statements, *recorded("differentiated", (), more)),
            inputs=inputs,
            outputs=outputs,
            python=None,
            derived=None,
        )

    def name(self, wish: str) -> str:
        """A name that nothing has, and that nothing else gets."""
        name = fresh(wish, self.taken)
        self.taken.add(name)
        return name

    def new(self, wish: str, like: str, role: Role) -> str:
        """The name of a new tensor with the shape of another one."""
        name = self.name(wish)
        self.tensors.append(Tensor(name, self.function.table[like].shape, Dtype.REAL, role))
        return name

    def local(self, wish: str, box: Sequence[tuple[Index, Expr]]) -> str:
        """The name of a new tensor with an axis for each index of the box."""
        name = self.name(wish)
        self.tensors.append(Tensor(name, tuple(extent for _, extent in box)))
        return name
