"""NumPy's operators and reductions as methods of a symbolic array."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Union

if TYPE_CHECKING:
    from .values import Absent, Array

Operand = Union["Array", "Absent", int, float, Fraction]
Axis = int | Sequence[int] | None


class Operators:
    """The methods of an Array that are written with a sign, and those that reduce it."""

    __slots__ = ()

    if TYPE_CHECKING:  # what an Array has

        def _elementwise(self, op: str, *args: Any) -> Array: ...
        def _combined(self, op: str, *args: Any) -> Array: ...
        def _matmul(self, a: Any, b: Any) -> Array: ...
        def _reduced(self, kind: str, axis: Axis, keepdims: bool) -> Array: ...
        def _counted(self, axis: Axis) -> Array: ...

    # operators

    def __add__(self, other: Operand) -> Array:
        return self._elementwise("add", self, other)

    def __radd__(self, other: Operand) -> Array:
        return self._elementwise("add", other, self)

    def __sub__(self, other: Operand) -> Array:
        return self._elementwise("sub", self, other)

    def __rsub__(self, other: Operand) -> Array:
        return self._elementwise("sub", other, self)

    def __mul__(self, other: Operand) -> Array:
        return self._elementwise("mul", self, other)

    def __rmul__(self, other: Operand) -> Array:
        return self._elementwise("mul", other, self)

    def __truediv__(self, other: Operand) -> Array:
        return self._elementwise("div", self, other)

    def __rtruediv__(self, other: Operand) -> Array:
        return self._elementwise("div", other, self)

    def __floordiv__(self, other: Operand) -> Array:
        return self._elementwise("floordiv", self, other)

    def __rfloordiv__(self, other: Operand) -> Array:
        return self._elementwise("floordiv", other, self)

    def __mod__(self, other: Operand) -> Array:
        return self._elementwise("mod", self, other)

    def __rmod__(self, other: Operand) -> Array:
        return self._elementwise("mod", other, self)

    def __pow__(self, other: Operand) -> Array:
        return self._elementwise("pow", self, other)

    def __rpow__(self, other: Operand) -> Array:
        return self._elementwise("pow", other, self)

    def __matmul__(self, other: Operand) -> Array:
        return self._matmul(self, other)

    def __rmatmul__(self, other: Operand) -> Array:
        return self._matmul(other, self)

    def __neg__(self) -> Array:
        return self._elementwise("neg", self)

    def __abs__(self) -> Array:
        return self._elementwise("abs", self)

    def __lt__(self, other: Operand) -> Array:
        return self._elementwise("lt", self, other)

    def __le__(self, other: Operand) -> Array:
        return self._elementwise("le", self, other)

    def __gt__(self, other: Operand) -> Array:
        return self._elementwise("gt", self, other)

    def __ge__(self, other: Operand) -> Array:
        return self._elementwise("ge", self, other)

    def __eq__(self, other: object) -> Array:  # type: ignore[override]  # a comparison of symbols is a symbol
        return self._elementwise("eq", self, other)

    def __ne__(self, other: object) -> Array:  # type: ignore[override]  # as above
        return self._elementwise("ne", self, other)

    def __and__(self, other: Operand) -> Array:
        return self._combined("and", self, other)

    def __rand__(self, other: Operand) -> Array:
        return self._combined("and", other, self)

    def __or__(self, other: Operand) -> Array:
        return self._combined("or", self, other)

    def __ror__(self, other: Operand) -> Array:
        return self._combined("or", other, self)

    def __invert__(self) -> Array:
        return self._combined("not", self)

    # reductions

    def sum(self, axis: Axis = None, keepdims: bool = False) -> Array:
        """The sum over `axis`, a tuple of axes, or everything."""
        return self._reduced("sum", axis, keepdims)

    def mean(self, axis: Axis = None, keepdims: bool = False) -> Array:
        """The mean over `axis`."""
        return self._reduced("mean", axis, keepdims)

    def max(self, axis: Axis = None, keepdims: bool = False) -> Array:
        """The largest element over `axis`."""
        return self._reduced("max", axis, keepdims)

    def min(self, axis: Axis = None, keepdims: bool = False) -> Array:
        """The smallest element over `axis`."""
        return self._reduced("min", axis, keepdims)

    def prod(self, axis: Axis = None, keepdims: bool = False) -> Array:
        """The product over `axis`."""
        return self._reduced("prod", axis, keepdims)

    def logsumexp(self, axis: Axis = None, keepdims: bool = False) -> Array:
        """log(sum(exp(x))) over `axis`."""
        return self._reduced("logsumexp", axis, keepdims)

    def argmax(self, axis: Axis = None, keepdims: bool = False) -> Array:
        """The position of the largest element over `axis`, the first one at a tie."""
        return self._reduced("argmax", axis, keepdims)

    def var(self, axis: Axis = None, ddof: int = 0, keepdims: bool = False, correction: int | None = None) -> Array:
        """The mean square of the distance from the mean over `axis`; the count is lessened by `ddof` (`correction`)."""
        less = ddof if correction is None else correction
        squares = (self - self.mean(axis, keepdims=axis is not None)) ** 2
        if not less:
            return squares.mean(axis, keepdims)
        return (squares / (self._counted(axis) - less)).sum(axis, keepdims)

    def std(self, axis: Axis = None, ddof: int = 0, keepdims: bool = False, correction: int | None = None) -> Array:
        """The square root of `var`."""
        return self._elementwise("sqrt", self.var(axis, ddof, keepdims, correction))
