"""What the parameters of a declared Python function are: tensors, options, and what is fixed when generating."""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any

from ...errors import DeclarationError
from ...expr import show
from ...expr.names import is_pack
from ...ir import REALS, Dtype, Interval
from ...records import dataclass, replace
from ..draft import Draft
from ..names import check_name
from ..text import declare_inputs, interval_of
from .sizes import read_size, split_sizes

_MISSING = inspect.Parameter.empty


@dataclass(frozen=True, slots=True)
class TensorType:
    """The annotation of one tensor: its dims as they were written. `sg.Tensor["n k"]` makes it, and `sg.Real` one that
    has none: the shape of a parameter without annotation.

    interval  that of its numbers
    called    what the interval calls it: the name of the parameter
    bare      it has no dims of its own
    chosen    what gives the dims for static options, instead of them
    """

    dims: tuple[str, ...]
    dtype: Dtype = Dtype.REAL
    optional: bool = False
    interval: Interval = REALS
    called: str = ""
    bare: bool = False
    chosen: Callable[..., str] | None = None

    def __or__(self, other: object) -> TensorType:
        if other is not None:
            return NotImplemented
        return replace(self, optional=True)

    __ror__ = __or__

    def __repr__(self) -> str:
        name = "Real" if self.bare else {Dtype.REAL: "Tensor", Dtype.INT: "Int", Dtype.BOOL: "Bool"}[self.dtype]
        words = [] if self.bare else [" ".join(self.dims)]
        words += [self.interval.show(self.called).strip()] * self.interval.bounded
        given = ", ".join(f'"{word}"' for word in words)
        return f"sg.{name}" + f"[{given}]" * bool(given) + " | None" * self.optional

    def __call__(self) -> None:  # an annotation in a Union must be callable for `typing`
        raise TypeError("an annotation makes no tensors")


def _interval(text: object, what: str) -> tuple[Interval, str]:
    if not isinstance(text, str):
        raise DeclarationError(f'{what}[...] takes the domain as a string: {what}["> 0"].')
    try:
        return interval_of(text)
    except DeclarationError as error:
        raise DeclarationError(f"{what}[...]: the domain {text!r} cannot be read. {error}") from None


def _dims(text: object, what: str) -> tuple[str, ...]:
    if not isinstance(text, str):
        raise DeclarationError(f'{what}[...] takes the sizes as one string: {what}["n k"].')
    parts = split_sizes(text)
    for place, part in enumerate(parts):
        if is_pack(part) and place:
            raise DeclarationError(f'{what}["{text}"]: {part} stands for leading axes; it comes first.')
        if is_computed(part):
            try:
                read_size(part)
            except DeclarationError as error:
                raise DeclarationError(f'{what}["{text}"]: the size {part} cannot be read. {error}') from None
        elif not part.isdecimal() and part != "...":
            for name, kind in zip(part.removeprefix("*").split("*"), ("size", "option"), strict=False):
                check_name(name, kind)
        if part.isdecimal() and int(part) == 0:
            raise DeclarationError(f'{what}["{text}"]: an axis of size 0 holds nothing.')
    return parts


def is_computed(part: str) -> bool:
    """Whether a size is told by others, `4*k` or `n+1`; `w*places` is a size and how often it stands there."""
    size, _, times = part.partition("*")
    if is_pack(part) or size.isidentifier() and times.isidentifier():
        return False
    return any(c in part for c in "+-*/%(") or part[0].isdigit() and not part.isdecimal()  # 4k is read, and refused


class Tensor:
    """An array of real numbers: `sg.Tensor["n k"]`, `sg.Tensor["... 2"]`, `sg.Tensor["*batch d"]`, `sg.Tensor[""]`; of
    those that are in a domain: `sg.Tensor["n", "> 0"]`, `sg.Tensor["n", ">= 0, < 1"]`.

    A size may be told by others: `sg.Tensor["4*k n+1"]`, where k and n are sizes of other axes, or options.

    Static options say how many axes there are, `sg.Tensor["n c w*places"]`, or choose the sizes:
    `sg.Tensor[lambda groups: "o c" if groups == 1 else "o d"]`.
    """

    dtype = Dtype.REAL

    def __class_getitem__(cls, given: Any) -> TensorType:
        return cls.of(given)

    @classmethod
    def of(cls, given: str | tuple[str, ...] | Callable[..., str]) -> TensorType:
        """What the brackets say."""
        if callable(given):
            return TensorType((), cls.dtype, chosen=given)
        if not isinstance(given, tuple):
            return TensorType(_dims(given, cls.__name__), cls.dtype)
        dims, *domain = given
        if len(domain) != 1 or not isinstance(domain[0], str) or not {*"<>"} & {*domain[0]}:
            raise DeclarationError(
                f"{cls.__name__}[...] takes the sizes as one string, and a domain as a second one: "
                f'{cls.__name__}["n k"], {cls.__name__}["n k", ">= 0, < 1"]; integers are Int["n k"], truth values '
                'Bool["n k"].'
            )
        return TensorType(_dims(dims, cls.__name__), cls.dtype, False, *_interval(domain[0], cls.__name__))


class Int(Tensor):
    """An array of integers: `sg.Int["n"]`."""

    dtype = Dtype.INT


class Bool(Tensor):
    """An array of truth values, 0 and 1 in arithmetic: `sg.Bool["n"]`."""

    dtype = Dtype.BOOL


class Real:
    """A parameter as it is without annotation, a number or an array of the one shape of all, with a domain:
    `sg.Real["> 0"]`."""

    def __class_getitem__(cls, domain: str) -> TensorType:
        interval, called = _interval(domain, cls.__name__)
        return TensorType((), Dtype.REAL, False, interval, called, bare=True)


_KINDS: Mapping[object, type[Tensor]] = {int: Int, bool: Bool}  # of Annotated[int, "n"]


class Static:
    """The annotation of a keyword that is fixed when code is generated: it may steer Python code."""


@dataclass(frozen=True, slots=True)
class Signature:
    """tensors by parameter; run-time options and static ones by keyword, with their defaults."""

    tensors: Mapping[str, TensorType]
    options: Mapping[str, int | float]
    static: Mapping[str, Any]
    bare: bool


def read_signature(function: Callable[..., Any], text: str | None) -> Signature:
    """Read the annotations of `function`, or `text` instead: `x[n,k], bias[m]?, t[n]: int`."""
    name = function.__name__
    try:
        parameters = inspect.signature(function, eval_str=True).parameters.values()
    except NameError as error:
        raise DeclarationError(
            f"{name}: the annotation {error.name!r} is not defined where the function stands."
        ) from error
    written = None if text is None else _written(text, name)
    tensors: dict[str, TensorType | None] = {}
    options: dict[str, int | float] = {}
    static: dict[str, Any] = {}
    for p in parameters:
        if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
            raise DeclarationError(f"{name}: the number of inputs is fixed; name them instead of *{p.name}.")
        kind = tensor_type(p.annotation)
        chosen = p.kind is p.KEYWORD_ONLY or p.default not in (_MISSING, None) or p.annotation is Static
        if chosen and kind is None and (written is None or p.name not in written):
            number = isinstance(p.default, (int, float)) and not isinstance(p.default, bool)
            if p.annotation is Static or not number:
                static[p.name] = p.default
            else:
                options[check_name(p.name, "option")] = p.default
            continue
        if p.kind is p.KEYWORD_ONLY and kind is not None and kind.bare:
            raise DeclarationError(f"{name}: {p.name} is an option, and has no domain; an input has one.")
        tensors[p.name] = _tensor(p, kind, name, written)
    if written is not None and set(written) - set(tensors):
        unknown = ", ".join(sorted(set(written) - set(tensors)))
        raise DeclarationError(f"{name}: the signature names {unknown}, which the function does not take.")
    if not tensors:
        raise DeclarationError(f"{name} has no inputs; a declared function has at least one.")
    for n, t in tensors.items():
        if t is not None and t.called not in ("", n):
            raise DeclarationError(f"{name}: the domain of {n} speaks of {t.called}. Write {n}, or leave it out: > 0.")
    bare = all(t is None or t.bare for t in tensors.values()) if text is None else "[" not in text
    scalar = TensorType(("...",) if bare else ())
    known = {n: scalar if t is None else t for n, t in tensors.items()}
    known = {n: replace(t, dims=scalar.dims) if t.bare else t for n, t in known.items()}
    return Signature(known, options, static, bare)


def with_fixed(signature: Signature, fixed: Mapping[str, Any]) -> Signature:
    """The signature in which the options of `fixed` are static, and the inputs that are None there are left out."""
    tensors = {name: kind for name, kind in signature.tensors.items() if name not in fixed}
    options = {name: default for name, default in signature.options.items() if name not in fixed}
    static = {**signature.static, **{name: fixed[name] for name in fixed if name in signature.options}}
    return replace(signature, tensors=tensors, options=options, static=static)


def with_chosen_axes(signature: Signature, static: Mapping[str, Any], function: str) -> Signature:
    """The signature with the axes that static options choose: as many `w` for each `w*places` as `places` says.

    Of `x: sg.Tensor["n c w*places"]` that are `x[n, c]` for places=0, `x[n, c, w]` for 1, `x[n, c, w1, w2]` for 2.
    """
    tensors: dict[str, TensorType] = {}
    for name, kind in signature.tensors.items():
        if kind.chosen:
            wanted = {option: static.get(option) for option in inspect.signature(kind.chosen).parameters}
            kind = replace(kind, dims=_dims(kind.chosen(**wanted), f"{function}: {name}"))
        parts = (_counted(part, static, f"{function}: {name}") for part in kind.dims)
        tensors[name] = replace(kind, dims=tuple(d for part in parts for d in part))
    return replace(signature, tensors=tensors)


def _counted(part: str, static: Mapping[str, Any], where: str) -> tuple[str, ...]:
    size, _, option = part.partition("*")
    if not size or not option or is_computed(part):
        return (part,)
    count = static.get(option)
    if not isinstance(count, int) or count < 0:
        raise DeclarationError(f"{where} has {part} axes: a static option {option} says how many, not {count!r}.")
    return (size,) if count == 1 else tuple(f"{size}{k + 1}" for k in range(count))


def with_axes_of_pack(signature: Signature, pack: str, more: int) -> Signature:
    """The signature in which `more` axes at the end of a pack have names of their own."""
    taken = {*signature.tensors, *signature.options, *(d for kind in signature.tensors.values() for d in kind.dims)}
    free = [letter for letter in "nmpqrstuvwabcdefgh" if letter not in taken]
    names = tuple(reversed(free[:more]))
    if len(names) < more:
        raise DeclarationError(f"an axis {more} places inside of {pack} is asked for; the signature names no such.")
    tensors = {
        name: replace(kind, dims=(pack, *names, *kind.dims[1:])) if kind.dims[:1] == (pack,) else kind
        for name, kind in signature.tensors.items()
    }
    return replace(signature, tensors=tensors)


def of_numbers(signature: Signature) -> Signature:
    """The signature in which what has no sizes is a number, and no array of such."""
    tensors = {name: replace(kind, dims=()) for name, kind in signature.tensors.items()}
    return replace(signature, tensors=tensors, bare=False)


def tensor_type(annotation: object) -> TensorType | None:
    """What an annotation says of an array: `sg.Tensor["n k"]`, `Annotated[sg.Array, "n k"]`, which type checkers know,
    and jaxtyping's `Float[Array, "n k"]`; None if it says nothing of the kind."""
    if isinstance(annotation, TensorType):
        return annotation
    if isinstance(annotation, types.UnionType) or typing.get_origin(annotation) is typing.Union:
        parts = [a for a in typing.get_args(annotation) if a is not types.NoneType]
        found = tensor_type(parts[0]) if len(parts) == 1 else None
        return None if found is None else found | None
    said = typing.get_args(annotation)[1:] if typing.get_origin(annotation) is typing.Annotated else ()
    for one in said:
        if isinstance(one, TensorType):
            return one
        if isinstance(one, str):
            first = typing.get_args(annotation)[0]
            dims, *domain = said
            return _KINDS.get(first, Tensor).of((dims, *domain) if domain else dims)
    dims, dtypes = getattr(annotation, "dim_str", None), getattr(annotation, "dtypes", ())
    if isinstance(dims, str):  # of jaxtyping
        whole = all("int" in str(d) for d in dtypes) if dtypes else False
        truth = bool(dtypes) and all("bool" in str(d) for d in dtypes)
        return (Bool if truth else Int if whole else Tensor).of(dims)
    return None


def _tensor(
    p: inspect.Parameter, found: TensorType | None, name: str, written: Mapping[str, TensorType] | None
) -> TensorType | None:
    """The type of one parameter, which its annotation or the text gives; None if it is bare."""
    if written is not None and p.name not in written:
        raise DeclarationError(f"{name}: the signature does not say what {p.name} is.")
    if written is not None:
        found = written[p.name]
    elif isinstance(p.annotation, type) and issubclass(p.annotation, Tensor):
        kind = p.annotation.__name__
        raise DeclarationError(f'{name}: {p.name} lacks its sizes: sg.{kind}["n k"], or [""] for a scalar.')
    elif p.annotation in (int, bool, str):
        raise DeclarationError(
            f"{name}: {p.name}: {p.annotation.__name__} is no real number, as inputs without sizes are. With a "
            f"default, {p.name}=2, it is an option of the code; sg.Static is fixed when code is generated, and "
            f'sg.Int[""] is an input.'
        )
    if found is None:
        if p.default is not _MISSING:
            raise DeclarationError(
                f"{name}: {p.name} has the default None. An optional input is a tensor with the default None: "
                f'{p.name}: sg.Tensor["n"] = None.'
            )
        return None
    if p.default is None and not found.bare:
        return replace(found, optional=True)
    if p.default is None:
        raise DeclarationError(f'{name}: an optional number says that it has no sizes: {p.name}: sg.Tensor[""] = None.')
    if p.default is not _MISSING:
        raise DeclarationError(f"{name}: {p.name} is a tensor; its default can only be None, which makes it optional.")
    return found


def _written(text: str, name: str) -> dict[str, TensorType]:
    """The types that a signature in formula text gives to the inputs."""
    draft = Draft("f")
    try:
        declare_inputs(draft, text)
    except DeclarationError as error:
        raise DeclarationError(f"{name}: the signature cannot be read. {error}") from None
    if draft.options:
        option = draft.options[0].name
        raise DeclarationError(f"{name}: an option is a keyword of the function: def {name}(..., *, {option}=...).")
    told = {size: f"({show(value)})" for size, value in draft.lengths}
    return {
        n: TensorType(_dims(" ".join(told.get(e) or show(e) for e in t.shape), name), t.dtype, t.optional, t.interval)
        for n, t in draft.tensors.items()
    }
