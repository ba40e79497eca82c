"""A printed NumPy file, executed on Numbers: its text, not its floating point.

Literals are lifted (an int is exact, a decimal the nearest double), `/` and `**` of two ints stay exact, and `np` is
the shim. Everything else is Python.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Collection, Iterator, Mapping, Sequence
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from ..ir import Function
from ..ops import OPS
from ..ops.primitive import ASSUMED, Primitive
from ..source.tree import Function as Head
from .approximations import APPROXIMATED, approved
from .numpy_linalg import SCIPY, UnknownName
from .numpy_shim import MATH, NP, SPECIAL, Elementwise, Shim
from .primitives import functions
from .rounding import DOUBLE, lift, literal, power
from .rounding.array import Exact, exact
from .series import NEAR, Choice
from .text import Fault, Kinds, Steps, Valued, Values, has_backward, written_out

EITHER = "symgrad either"
SLICE = "_SLICE"  # how many elements of an array are computed at a time, in a file that does so
_BUILTINS = """abs all any bool dict divmod enumerate float int isinstance len list map max min print range
    reversed round set slice sorted str sum tuple type zip ValueError TypeError IndexError
    RuntimeError NotImplementedError AssertionError Exception property object None True False
    hasattr getattr""".split()


class _Operator:
    """SciPy's LinearOperator, as far as it is asked for here."""

    def __init__(self, shape: Any, matvec: Any, rmatvec: Any, dtype: Any) -> None:
        self.shape, self.matvec, self.rmatvec = shape, matvec, rmatvec


class _Rows:
    """SciPy's csr_array, as far as it is asked for here."""

    def __init__(self, parts: tuple[Any, Any, Any], shape: tuple[int, int]) -> None:
        (self.data, self.indices, self.indptr), self.shape = map(np.asarray, parts), shape

    @property
    def T(self) -> Any:
        return written_out(self).T

    def __add__(self, other: Any) -> Any:
        return written_out(self) + other


def _exactly(value: Any = 0) -> Any:
    """`float` that does not round: what a library computes of plain numbers stays exact."""
    return value.item() if hasattr(value, "item") else value


_MODULES: Mapping[str, Any] = {
    "__future__": Shim("__future__", {"annotations": True}),
    "numpy": Shim("np", NP),
    "scipy": Shim(
        "scipy",
        {
            "special": Shim("special", SPECIAL),
            "linalg": Shim("linalg", SCIPY),
            "sparse": Shim("sparse", {"csr_array": _Rows}),
        },
    ),
    "scipy.sparse.linalg": Shim("scipy.sparse.linalg", {"LinearOperator": _Operator}),
    "math": Shim("math", MATH),
    "builtins": Shim("builtins", {**{name: getattr(builtins, name) for name in _BUILTINS}, "float": _exactly}),
}


class _Lift(ast.NodeTransformer):
    """Exact literals, operators that keep two ints exact, and, in the functions `near` that print a series,
    a choice that can be asked for either part."""

    def __init__(self, near: Collection[str]) -> None:
        self.near, self.series = near, False

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        return _call(node, "symgrad literal", node) if isinstance(node.value, float) else node

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        name = {ast.Div: "symgrad quotient", ast.Pow: "symgrad power"}.get(type(node.op))
        return node if name is None else _call(node, name, node.left, node.right)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:
        if isinstance(node.op, (ast.Div, ast.Pow)) and isinstance(node.target, ast.Name):
            value = ast.copy_location(ast.BinOp(ast.Name(node.target.id, ast.Load()), node.op, node.value), node)
            return ast.copy_location(ast.Assign([node.target], self.visit_BinOp(value)), node)
        self.generic_visit(node)
        return node

    def visit_While(self, node: ast.While) -> ast.stmt:
        self.generic_visit(node)
        node.test = ast.copy_location(ast.BoolOp(ast.And(), [_call(node.test, "symgrad tick"), node.test]), node.test)
        return node

    def visit_For(self, node: ast.For) -> ast.stmt:
        self.generic_visit(node)
        node.body.insert(0, ast.copy_location(ast.Expr(_call(node, "symgrad tick")), node))
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.func, ast.Attribute) and node.func.attr == "astype":
            return _call(node, "symgrad converted", node)
        if self.series and isinstance(node.args[0], ast.Name) and node.args[0].id == NEAR:
            near, *branches = node.args
            return _call(node, EITHER, near, *(_later(b) for b in branches))
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.stmt:
        self.series = node.name in self.near
        self.generic_visit(node)
        return node


def _call(place: ast.AST, name: str, *args: ast.expr) -> ast.expr:
    """A call of a function of ours: no name in the text has a space."""
    function = ast.copy_location(ast.Name(name, ast.Load()), place)
    return ast.copy_location(ast.Call(function, list(args), []), place)


def _later(value: ast.expr) -> ast.expr:
    """`lambda: value`."""
    none = ast.arguments([], [], None, [], [], None, [])
    return ast.copy_location(ast.Lambda(none, value), value)


def _quotient(a: Any, b: Any) -> Any:
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return (a if isinstance(a, Exact) else exact(a)) / b
    return lift(a) / lift(b)


def _converted(found: Any) -> Any:
    """What `astype` gives: integers as real numbers are Numbers."""
    return exact(found) if found.dtype.kind == "f" else found


def _power(a: Any, b: Any) -> Any:
    if isinstance(a, (int, np.integer)) and isinstance(b, (int, np.integer)) and b >= 0:
        return a**b
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return NP["power"](a, b)
    return power(a, b)


def argument(value: Any) -> Any:
    """An input for the text, read-only: writing to it raises."""
    if value is None:
        return None
    plain = np.asarray(value)
    array = plain.copy() if plain.dtype.kind in "iub" else exact(plain).copy()
    array.flags.writeable = False
    return array


class NumpyText:
    """The module of a printed NumPy file; see `Text`.

    heads  its functions, without bodies: those of the interface and those that print a series, by their roles
    own    functions of the user's that it may import

    Where a file computes long arrays in slices, it is executed once more, with slices that are shorter than the arrays.
    """

    given = staticmethod(argument)  # for a function of `module`

    def __init__(
        self, function: Function, files: Mapping[str, str], heads: Sequence[Head], own: Sequence[Primitive] = ()
    ) -> None:
        self.function = function
        self.users: dict[str, dict[str, Elementwise]] = {}
        for op, called in functions(own).items():
            for place in (op.place("numpy"), f"{ASSUMED}:{op.about.name}"):
                name, _, word = place.partition(":")
                self.users.setdefault(name, {})[word] = Elementwise(called, len(op.about.arguments))
        self.called = dict(zip(*[("forward", "backward")[: 1 + has_backward(function)]] * 2, strict=True))
        self.called |= {head.role: head.name for head in heads if head.role in self.called}
        near = {head.name for head in heads if head.role == "series"}
        self.approximate = {head.name: head.stands_for for head in heads if head.stands_for in APPROXIMATED}
        sources = {name: text for name, text in files.items() if name.endswith(".py")}
        if len(sources) != 1:
            raise Fault(f"expected one Python file, got {', '.join(files) or 'none'}")
        ((self.file, source),) = sources.items()
        try:
            tree = ast.parse(source)
        except (SyntaxError, RecursionError, MemoryError) as error:
            raise Fault(f"{self.file} is not Python: {error}") from error
        self.steps = Steps(function)
        code = compile(ast.fix_missing_locations(_Lift(near).visit(tree)), self.file, "exec")
        self.module = self._execute(code, source)
        self.lengths = {"": self.module.get(SLICE)} | ({" in slices": 2} if SLICE in self.module else {})
        self.variants = (*self.lengths,)

    def _import(self, name: str, known: Any = None, local: Any = None, members: Any = (), level: int = 0) -> Any:
        """What the text imports."""
        if name in self.users and members:
            return Shim(name, self.users[name])
        if name not in _MODULES:
            raise Fault(f"imports {name}")
        return _MODULES[name]

    def _execute(self, code: CodeType, source: str) -> dict[str, Any]:
        choice = Choice()
        known: dict[str, Any] = {name: getattr(builtins, name) for name in _BUILTINS}
        module: dict[str, Any] = {
            EITHER: choice,
            "__builtins__": known | {"__import__": self._import},
            "__name__": self.file.removesuffix(".py"),
            "symgrad literal": literal,
            "symgrad quotient": _quotient,
            "symgrad power": _power,
            "symgrad converted": _converted,
            "symgrad tick": self.steps.tick,
            "float": _exactly,
        }
        try:
            exec(code, module)
        except (Fault, UnknownName) as error:
            raise Fault(f"{self.file}: {error}") from error
        # NumPy's own methods import what they need through the builtins of whoever calls them
        module["__builtins__"]["__import__"] = __import__
        for name, function in list(module.items()):
            if isinstance(function, FunctionType) and EITHER in function.__code__.co_names:
                module[name] = Elementwise(choice.parts(name, function), 1)
        for name, word in self.approximate.items():
            called = approved(word, module[name], DOUBLE, (source,))
            module[name] = Elementwise(called, OPS[APPROXIMATED[word].operator].arity)
        for name in self.called.values():
            if name not in module:
                raise Fault(f"{self.file} has no function {name}")
        return module

    def forward(self, variant: str, inputs: Values, options: Mapping[str, Any]) -> tuple[dict[str, Any], Any]:
        given = [argument(inputs.get(name)) for name in self.function.inputs]
        # an option at its default is left to the signature of the text
        defaults = {o.name: float(o.default) for o in self.function.options}
        changed = {k: v for k, v in options.items() if v != defaults[k]}
        numbers = {k: v if isinstance(v, int) else literal(v) for k, v in changed.items()}
        outputs = self.function.outputs
        result = self._call(variant, "forward", *given, **numbers)
        function = self.function
        out, saved = (function.results(result, inputs, options), None) if isinstance(function, Valued) else result
        results = (out,) if len(outputs) == 1 and has_backward(self.function) else out
        if not isinstance(results, tuple) or len(results) != len(outputs):
            raise Fault(f"forward returns {type(out).__name__}, not {len(outputs)} outputs")
        return dict(zip(outputs, results, strict=True)), saved

    def backward(self, variant: str, saved: Any, seeds: Values, needs: tuple[bool, ...]) -> dict[str, Any]:
        given = tuple(argument(seeds[name]) for name in self.function.outputs)
        grads = self._call(variant, "backward", saved, given[0] if len(given) == 1 else given, needs)
        if not isinstance(grads, tuple) or len(grads) != len(self.function.inputs):
            raise Fault(f"backward returns {type(grads).__name__}, not {len(self.function.inputs)} gradients")
        return dict(zip(self.function.inputs, grads, strict=True))

    def partial(self, variant: str, inputs: Values, options: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        yield from ()  # Python saves what it saves

    def refusal(
        self, variant: str, inputs: Values, options: Mapping[str, Any], saved: Any, seeds: Values, kinds: Kinds
    ) -> str | None:
        said = " or ".join(k.__name__ for k in kinds)
        try:
            self.forward(variant, inputs, options)
        except Fault as fault:
            return None if type(fault.__cause__) in kinds else f"{fault}, not {said}"
        return f"forward does not raise {said}"

    def _call(self, variant: str, name: str, *args: Any, **options: Any) -> Any:
        self.steps.count = 0
        self.module[SLICE] = self.lengths[variant]
        try:
            with np.errstate(all="ignore"):
                return self.module[self.called[name]](*args, **options)
        except Fault as fault:
            raise type(fault)(f"{name}: {fault}") from fault
        except UnknownName as error:
            raise Fault(f"{name} uses what the check cannot run: {error}") from error
        except Exception as error:
            raise Fault(f"{name} raises {type(error).__name__}: {error}") from error
