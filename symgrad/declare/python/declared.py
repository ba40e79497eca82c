"""`@sg.function`: a Python function that is a declaration. It is run once, on symbols."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import PurePath
from traceback import walk_tb
from types import CodeType, MethodType
from typing import Any, overload

from ...errors import DeclarationError, ShapeError, SymgradError
from ...expr import Expr, ref, refs, show, substitute
from ...expr.names import Names, is_pack
from ...expr.sizes import equal, tidy
from ...ir import Function, show_element
from ...later import np
from ...records import replace
from ..draft import Draft
from .arrays import Array, Input, as_array
from .formula import formula
from .graph import Node, constant, input_of, packs_in, read, value
from .lowering import Lowering
from .scope import Functions, Scope, calls_arrays, current, entered, usable, with_arrays
from .seen import seen
from .signature import (
    Signature,
    TensorType,
    is_computed,
    of_numbers,
    read_signature,
    with_axes_of_pack,
    with_chosen_axes,
    with_fixed,
)
from .sizes import read_size
from .values import Absent, NumbersListed, PackTooShort, Traced, traced

Known = dict[str, tuple[tuple[Expr, ...], str]]  # the extents of a size or a pack, and which argument told them


class Declared:
    """A declaration written in Python.

    `function` is what it declares. Called inside of another declaration, it is traced as a part of that one.
    """

    __wrapped__: Callable[..., Any]
    __name__: str

    def __init__(
        self, python: Callable[..., Any], text: str | None = None, static: Mapping[str, Any] | None = None
    ) -> None:
        name = getattr(python, "__name__", f"<{type(python).__name__}>")
        if not name.isidentifier():
            raise DeclarationError(
                f"a {name.strip('<>')} has no name, which printed functions need: write def name(x): return ..."
            )
        functools.update_wrapper(self, python)
        self._text = text
        signature = with_fixed(read_signature(python, text), static or {})
        self.static: dict[str, Any] = {**signature.static, **(static or {})}
        self._absent = frozenset(inspect.signature(python).parameters) & self.static.keys() - {
            *signature.static,
            *signature.options,
        }
        self.signature: Signature = with_chosen_axes(signature, self.static, python.__name__)

    def __get__(self, instance: object, owner: type | None = None) -> Declared:
        """Of a method that is declared, the one of an object."""
        if instance is None:
            return self
        return Declared(MethodType(self.__wrapped__, instance), self._text, self.static)

    @property
    def name(self) -> str:
        """The name of the function."""
        return self.__wrapped__.__name__

    @cached_property
    def function(self) -> Function:
        """The Function that is declared; the Python function runs when this is first asked for.

        It runs again with more axes where it asks for one that a pack holds, `x.sum(axis=-2)` of `x[..., n]`, and of
        numbers alone where it makes an array of them, `np.array([x, y])`.
        """
        signature = self.signature
        while True:
            try:
                called = functools.wraps(self.__wrapped__)(functools.partial(self.on_arrays))
                return replace(_trace(self, signature), python=called)
            except PackTooShort as short:
                if signature.bare:
                    raise
                signature = with_axes_of_pack(signature, short.pack, short.more)
            except NumbersListed:
                if not signature.bare:
                    raise
                signature = of_numbers(signature)

    def with_static(self, **values: Any) -> Declared:
        """Return the declaration with options fixed to values: `softmax.with_static(axis=-2)`.

        One that is a number given at each call can be fixed, too, and is then no number of the call any more: to
        whatever the Python function takes, as `conv2d.with_static(stride=(2, 1))`. An input that is fixed to None is
        left out, as a call leaves it out: `layer_norm.with_static(gain=None)`.
        """
        absent = {name for name in self.signature.tensors if name in values and values[name] is None}
        fixable = {**self.signature.static, **self.signature.options, **dict.fromkeys(absent)}
        unknown = [k for k in values if k not in fixable]
        if unknown:
            known = ", ".join(fixable) or "none"
            raise DeclarationError(f"{self.name} has no option {unknown[0]}. Known: {known}.")
        return Declared(self.__wrapped__, self._text, {**self.static, **values})

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if current() is None and calls_arrays():
            bound = inspect.signature(self.__wrapped__).bind_partial(*args, **kwargs)
            optional = (name for name, kind in self.signature.tensors.items() if kind.optional)
            absent = {name: Absent(name) for name in optional if bound.arguments.get(name) is None}
            bound.arguments = {**self.keywords(), **bound.arguments, **absent}
            return self.__wrapped__(*bound.args, **bound.kwargs)
        if current() is None:
            raise DeclarationError(
                f"{self.name} is a declaration, and has no values. Call it inside of another one, or print its code: "
                f"sg.generate({self.name}, to='numpy'); sg.load({self.name}) gives forward and backward to call."
            )
        return _inline(self, args, kwargs)

    def keywords(self) -> dict[str, Any]:
        """What the Python function is told of static options, and of inputs that are left out."""
        return {name: Absent(name) if name in self._absent else value for name, value in self.static.items()}

    def on_arrays(self, functions: Functions, /, **arguments: Any) -> Any:
        """What the Python function itself returns for arrays and numbers, given by name, and those that it calls; the
        check asks for it.

        functions  what those of symgrad do to arrays, by name

        Raises whatever the function raises where it is not written for arrays; one of numbers, such as `math.sin`
        takes, is called for each. DeclarationError where it is written for the tensors of torch.
        """
        python = functools.partial(self.__wrapped__, **self.static)
        try:
            with with_arrays(functions):
                return python(**arguments)
        except (TypeError, ValueError) as error:
            if self._calls_torch:
                raise DeclarationError(f"{self.name} is written for torch's tensors.") from error
            arrays = {name: x for name, x in arguments.items() if name in self.signature.tensors}
            if not self.signature.bare:
                raise
            numbers = {name: x for name, x in arguments.items() if name not in arrays}
            points = zip(*(np.ravel(x).tolist() for x in arrays.values()), strict=True)
            with with_arrays(functions):
                found = [python(**dict(zip(arrays, point, strict=True)), **numbers) for point in points]
            several = isinstance(found[0], (tuple, list))
            results = [np.array(r) for r in (zip(*found, strict=True) if several else [found])]
            shaped = [r.reshape(np.shape(next(iter(arrays.values())))) for r in results]
            return tuple(shaped) if several else shaped[0]

    def __repr__(self) -> str:
        try:
            return repr(self.function)
        except Exception:  # an option that has no value yet, or a mistake: the user's own code may raise anything
            return f"<symgrad function {self.name}>"

    def _repr_latex_(self) -> str | None:
        try:
            return self.function._repr_latex_()
        except Exception:  # the same: a notebook then shows what __repr__ says
            return None

    @property
    def _calls_torch(self) -> bool:
        named = (self.__wrapped__.__globals__.get(name) for name in self._code.co_names)
        homes = (getattr(x, "__module__", None) or getattr(x, "__name__", "") for x in named)
        return any(str(home).partition(".")[0] == "torch" for home in homes)

    @property
    def _code(self) -> CodeType:
        code: CodeType = inspect.unwrap(self.__wrapped__).__code__
        return code

    @property
    def _source(self) -> str:
        """The TARGET that prints it again: `package.module:name`, or `layers.py:name` for a file that is no module."""
        module = self.__wrapped__.__module__
        path = PurePath(self._code.co_filename)
        if path.name.startswith("<") or path.parent.name.startswith("ipykernel_"):
            return ""  # a session, or a cell of a notebook: no command finds it
        file = f"{path.name}:{self.name}"
        return file if module == "__main__" or module not in sys.modules else f"{module}:{self.name}"


@overload
def function(python: Callable[..., Any], /) -> Declared: ...
@overload
def function(python: str, /) -> Callable[[Callable[..., Any]], Declared]: ...
def function(python: Callable[..., Any] | str, /) -> Declared | Callable[[Callable[..., Any]], Declared]:
    """Declare a Python function: `@sg.function`, or `@sg.function("x[n,k], weight[m,k], bias[m]?")`."""
    if isinstance(python, str):
        return functools.partial(Declared, text=python)
    return Declared(python)


def _run(
    declared: Declared, scope: Scope, arguments: Mapping[str, Any], keywords: Mapping[str, Any]
) -> tuple[Any, dict[int, str]]:
    """Call the Python function; return what it returns, and its local names of what it has computed."""
    missing = [k for k in declared.signature.static if keywords.get(k) is inspect.Parameter.empty]
    if missing:
        raise DeclarationError(
            f"{declared.name}: the static option {missing[0]} has no value. "
            f"Fix it: {declared.name}.with_static({missing[0]}=...)."
        )
    try:
        with _located(scope), entered(scope):
            result = seen(declared.__wrapped__)(**arguments, **keywords)
        given = {a._node.serial for a in (*arguments.values(), *keywords.values()) if isinstance(a, Array)}
        names: dict[int, str] = {}
        for name, local in scope.locals.items():
            node = local._node if isinstance(local, Array) else None
            if node is not None and not node.constant and node.serial not in given and usable(name):
                names.setdefault(node.serial, name)
        scope.made(None)
        return result, names
    finally:
        scope.frame = None  # its local variables may hold much


@contextmanager
def _located(scope: Scope) -> Iterator[None]:
    """Say of what is refused in which declaration that was and where, if the message does not."""
    try:
        try:
            yield
        except ValueError as error:
            if "setting an array element" not in str(error):
                raise
            raise DeclarationError(
                "a symbol cannot be written into an array of numbers. Start with one that is traced, np.zeros(3) in "
                "the function, or put its elements together: np.array([x, y, 0])."
            ) from error
    except SymgradError as error:
        name, file = scope.draft.name, PurePath(scope.code.co_filename).name
        if not str(error).startswith(f"{name}: "):
            error.args = (f"{name}: {error}",)
        if f"    at {file}:" not in str(error):
            lines = [line for frame, line in walk_tb(error.__traceback__) if frame.f_code is scope.code]
            error.args = (f"{error}\n    at {file}:{lines[-1] if lines else scope.code.co_firstlineno}",)
        raise


def _trace(declared: Declared, signature: Signature) -> Function:
    draft = Draft(declared.name)
    scope = Scope(draft, {}, declared._code)
    with _located(scope):
        sizes: dict[str, Expr] = {}
        arguments: dict[str, Any] = {}
        dims = [dim for kind in signature.tensors.values() for dim in kind.dims]
        sizes.update((dim, draft.dim(dim)) for dim in dims if not dim.isdecimal() and not is_computed(dim))
        for name, kind in signature.tensors.items():
            shape = [_extent(d, {*sizes, *signature.options}, f"{declared.name}: {name}") for d in kind.dims]
            for dim, extent in zip(kind.dims, shape, strict=True):
                if is_computed(dim) and draft.settled(extent) is extent:
                    taken = {*draft.names, *signature.tensors, *signature.options}
                    draft.require(lengths=[(draft.dim(Names(taken).new(f"{name}_length")), extent)])
            draft.input(name, [draft.settled(e) for e in shape], kind.dtype, kind.optional)
            draft.restrict(name, kind.interval)
            arguments[name] = Input(input_of(name, shape), packs_in(shape))
        keywords: dict[str, Any] = declared.keywords()
        for name, default in signature.options.items():
            sizes[name] = draft.option(name, default)
            keywords[name] = Array(constant(sizes[name]))
        scope.sizes = sizes
        result, names = _run(declared, scope, arguments, keywords)
        scope.names.update(names)
        outputs = [_output(declared, x) for x in (result if isinstance(result, (tuple, list)) else [result])]
        if signature.bare:  # a number among the outputs has the one shape of all parameters
            outputs = [value([ref("...")], read(n, ()), [n]) if n.constant else n for n in outputs]
        lowered = Lowering(draft, outputs, scope.names, scope.calls | scope.stored, scope.within).run()
        text = formula(declared.name, tuple(draft.tensors.values()), lowered.outputs, lowered.lines, signature.bare)
        return draft.finish(lowered.outputs, text, declared._source)


def _extent(size: str, numbers: Collection[str], where: str) -> Expr:
    """How long an axis is, of sizes and options."""
    value = ref(size) if is_pack(size) else read_size(size)
    if unknown := [r.name for r in refs(value) if r.name not in numbers]:
        said = f"the size {size}, and nothing tells {unknown[0]}"
        raise DeclarationError(f"{where} has {said}: give it to an axis of its own, or to an option.")
    return tidy(value)


def _output(declared: Declared, x: Any) -> Node:
    if x is None:
        raise DeclarationError(f"{declared.name} returns nothing; return its outputs.")
    node = traced(x)._node
    if node.free:
        loose = node.free[0].name
        raise DeclarationError(
            f"{declared.name} returns a term with the index {loose}. Make it an array, sg.tensor[{loose}](...), "
            f"or reduce it, sg.sum[{loose}](...)."
        )
    return node


def _inline(declared: Declared, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Trace a call inside of another declaration as a part of it."""
    caller = current()
    assert caller is not None
    numbers, order = declared.signature.options, inspect.signature(declared.__wrapped__).parameters.values()
    positional = [p.name for p in order if p.kind is not p.KEYWORD_ONLY and p.name not in declared._absent]
    placed = dict(zip(positional, args, strict=False))
    twice = [k for k in kwargs if k in placed]
    kwargs = {**kwargs, **{k: v for k, v in placed.items() if k not in declared.signature.tensors}}
    fixed = {k: v for k, v in kwargs.items() if k in declared.static or k in numbers and isinstance(v, (str, tuple))}
    if fixed:
        declared = declared.with_static(**fixed)
    signature = declared.signature
    names = list(signature.tensors)
    given = {k: v for k, v in placed.items() if k in signature.tensors}
    extra = [k for k in kwargs if k not in {*names, *signature.options, *declared.static}]
    if len(args) > len(positional) or extra or twice:
        wrong = f"no argument {extra[0]}" if extra else f"{twice[0]} once" if twice else f"{len(positional)} inputs"
        raise DeclarationError(f"{declared.name} takes {wrong}.")
    given |= {k: v for k, v in kwargs.items() if k in signature.tensors}
    known: Known = {}
    arguments: dict[str, Any] = {}
    for name, kind in signature.tensors.items():
        x = given.get(name)
        if x is None and kind.optional or isinstance(x, Absent):
            arguments[name] = Absent(name)
        elif x is None:
            raise DeclarationError(f"{declared.name} needs {name}.")
        else:
            array = traced(x)
            lead = array._lead if signature.bare else _bind(declared, name, kind, array, known)
            arguments[name] = Input(array._node, lead)
    sizes = {dim: extents[0] for dim, (extents, _) in known.items() if len(extents) == 1}
    keywords: dict[str, Any] = declared.keywords()
    for name, default in signature.options.items():
        keywords[name] = as_array(traced(kwargs.get(name, default)))
        if keywords[name]._node.constant:
            sizes[name] = read(keywords[name]._node, ())
    _bind_computed(declared, arguments, sizes)
    scope = replace(caller, sizes=sizes, code=declared._code, frame=None, latest=(-1, None))
    result, found = _run(declared, scope, arguments, keywords)
    scope.names.update(found)
    if isinstance(result, Array):
        scope.calls.setdefault(result._node.serial, declared.name)
        for serial in found.keys() - {result._node.serial}:
            scope.within.setdefault(serial, result._node.serial)
    if isinstance(result, (tuple, list)):
        return type(result)(_returned(x) for x in result)
    return _returned(result)


def _returned(x: Any) -> Any:
    """A value of the inner function where it is again a value of the outer one: only a true pack stands in front."""
    return Array(x._node, packs_in(x._node.shape)) if isinstance(x, Array) else x


def _bind(declared: Declared, name: str, kind: TensorType, x: Traced, known: Known) -> int:
    """Check the shape of one argument against its declaration; return how many of its axes the pack takes."""
    shape, dims = x._node.shape, kind.dims
    packed = sum(map(is_pack, dims[:1]))
    lead = len(shape) - len(dims) + packed
    if lead < 0 or lead and not packed:
        raise ShapeError(
            f"{declared.name}: {name} has the shape ({', '.join(map(show, shape))}), and is declared as "
            f"{show_element(name, tuple(ref(d) for d in dims))}."
        )
    fronts = [(pack, shape[:lead]) for pack in dims[:packed]]
    axes = [(dim, (extent,)) for dim, extent in zip(dims[packed:], shape[lead:], strict=True)]
    for dim, extents in (*fronts, *axes):
        if is_computed(dim):
            continue
        literal = dim.isdecimal()
        before, teller = ((read_size(dim),), "its declaration") if literal else known.setdefault(dim, (extents, name))
        if len(before) != len(extents) or not all(map(equal, before, extents)):
            raise ShapeError(
                f"{declared.name}: {f'an axis of {dim}' if literal else dim} has two sizes\n"
                f"    {', '.join(map(show, before))} in {teller}\n"
                f"    {', '.join(map(show, extents))} in {name}\n"
                f"  Give both axes one name where they are declared, or transpose one."
            )
    return lead


def _bind_computed(declared: Declared, arguments: Mapping[str, Any], sizes: Mapping[str, Expr]) -> None:
    """Check the axes that are as long as others say, `4*k`."""
    told = {ref(name): extent for name, extent in sizes.items()}
    for name, kind in declared.signature.tensors.items():
        here = [n for n, dim in enumerate(kind.dims) if is_computed(dim)]
        for place in here if not isinstance(arguments[name], Absent) else ():
            extent = arguments[name]._node.shape[place - len(kind.dims)]
            wanted = substitute(read_size(kind.dims[place]), told)
            if not equal(extent, wanted):
                raise ShapeError(
                    f"{declared.name}: {name} has {show(extent)} in axis {place}, and is declared with "
                    f"{kind.dims[place]}, which is {show(tidy(wanted))} in this call."
                )
