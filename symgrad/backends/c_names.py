"""What everything is called in a C file.

Parameters are passed by their place, so that a name in the declaration which C cannot have, a macro of its headers
or the function that is called beside it, is another one in print: `NULL_input`. Only keywords are refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType

from ..errors import UnsupportedError
from ..expr import Expr, Index, Ref, index, operator, operators, postorder, ref, transformer
from ..ir import Function
from ..ops import OPS
from ..plan.loops import Call, Nest, Note, Rewriter, expressions
from ..records import replace
from ..source.names import Scope, refuse_keywords
from .c_print import LIBM
from .c_threads import FROM

KEYWORDS = frozenset(
    """auto break case char const continue default do double else enum extern float for goto if inline int long
    register restrict return short signed sizeof static struct switch typedef union unsigned void volatile
    while""".split()
)
CPP = frozenset(
    """alignas alignof and and_eq asm bitand bitor bool catch char8_t char16_t char32_t class co_await co_return
    co_yield compl concept consteval constexpr constinit const_cast decltype delete dynamic_cast explicit export false
    friend mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected public
    reinterpret_cast requires static_assert static_cast template this thread_local throw true try typeid typename
    using virtual wchar_t xor xor_eq""".split()
)  # the header is C++, too
STANDARD = frozenset(
    """size_t ptrdiff_t int64_t lapack_int NULL INFINITY NAN HUGE_VAL HUGE_VALF HUGE_VALL I complex main errno assert
    offsetof math_errhandling MATH_ERRNO MATH_ERREXCEPT""".split()
)  # types, and macros that may be known where the header is included
HEADERS = frozenset(
    """assert cblas complex ctype errno fenv float inttypes iso646 lapacke limits locale math setjmp signal stdarg
    stdbool stddef stdint stdio stdlib string tgmath time wchar wctype""".split()
)  # whose names a file in the user's folder must not have
_LIMITS = re.compile(r"(U?INT(8|16|32|64|PTR|MAX|_LEAST\d+|_FAST\d+)|SIZE|PTRDIFF|WCHAR|WINT|SIG_ATOMIC|FP)_[A-Z]+")


def reserved(name: str) -> bool:
    """Whether nothing in a C file, or in the header, can have this name."""
    return name in KEYWORDS or name in CPP or name in STANDARD or _LIMITS.fullmatch(name) is not None


def refuse_words(function: Function) -> None:
    """Raise UnsupportedError if who calls the function would need a keyword of C."""
    refuse_keywords(function, "C", KEYWORDS)


def refuse_header(name: str) -> None:
    """Raise UnsupportedError if who includes the header of that name could not read C's own."""
    if name in HEADERS:
        raise UnsupportedError(
            f"{name}: the header {name}.h would hide C's own. Choose another name for this function, or for the file "
            f"(--file), or print another language."
        )


class File:
    """The names that a whole file knows: its local functions and constants, which yield to everything that is said in
    the functions of the interface.

    symbols  what it exports
    guard    the macro by which its header is read once
    externs  functions of the user's: the operators, and what they are called
    """

    def __init__(
        self,
        nests: Iterable[Nest],
        symbols: Iterable[str],
        guard: str,
        externs: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.guard, self.externs = guard, externs
        nests = [*nests]
        inside = (*(nest.symbols for nest in nests), *(nest.counters for nest in nests))
        self._scope = Scope(symbols, LIBM, externs.values(), *inside)
        self._given: dict[str, str] = {}

    def reserved(self, name: str) -> bool:
        """Whether nothing in the file, or in the header, can have this name."""
        return reserved(name) or name in (self.guard, FROM) or name in self.externs.values()

    def local(self, word: str) -> str:
        """What a function or constant of the file is called, or a function of the user's."""
        if word in self.externs:
            return self.externs[word]
        if word not in self._given:
            self._given[word] = self._scope.new(word)
        return self._given[word]

    def words(self, names: Iterable[str]) -> Iterator[str]:
        """The words of those names that are of the file."""
        of = {name: word for word, name in self._given.items()}
        return (of[name] for name in names if name in of)


class Names:
    """The names of one function: what each tensor, size, option and index of its nest is called in print.

    fixed     the interface's: the tensor, and what it is called
    wishes    what else is declared: its name, and what it is called where that is taken
    calls     functions of the interface that are called
    """

    def __init__(
        self, nest: Nest, fixed: Mapping[str, str], wishes: Mapping[str, str], file: File, calls: Iterable[str] = ()
    ) -> None:
        self.local = file.local
        symbols, loops = nest.symbols, nest.counters
        own = (*symbols, *loops, *fixed.values(), *wishes)
        self._scope = Scope(filter(file.reserved, own), called(nest), calls)
        self._refs = {name: self._scope.new(wish) for name, wish in fixed.items()}
        for name, other in wishes.items():
            self._refs[name] = self._scope.new(name, other)
        self._indices = {name: self._scope.new(name, f"{name}_index") for name in loops}
        for name in symbols:
            if name not in self._refs:
                self._refs[name] = self._scope.new(name)
        self._flags: dict[str, str] = {}
        self._works: dict[str, str] = {}
        names = {**self._refs, **self._indices}
        self._changed = any(old != new for old, new in names.items())

    def of(self, node: Index | Ref) -> str:
        """What it is called."""
        return (self._indices if isinstance(node, Index) else self._refs).get(node.name, node.name)

    def new(self, *wishes: str) -> str:
        """A name for something that only the printed code knows."""
        return self._scope.new(*wishes)

    def flags(self, inputs: Iterable[str]) -> None:
        """Whether these inputs are there is told by a number."""
        self._flags = {name: self._scope.new(f"has_{name}") for name in inputs}

    def presence(self, name: str) -> str:
        """What tells whether an input is there: its pointer, or the number."""
        return self._flags.get(name) or self._refs[name]

    def work(self, name: str) -> str:
        """What a workspace is called."""
        if name not in self._works:
            self._works[name] = self._scope.new(name, f"{name}space")
        return self._works[name]

    def inside(self, wish: str, taken: Iterable[str]) -> str:
        """A name for a part of the function, where these are `taken`: another part may have it, too."""
        return Scope(taken, outer=self._scope).new(wish)

    def counter(self, wish: str) -> str:
        """A name for an index of a loop of its own."""
        return wish if wish in self._indices.values() else Scope(outer=self._scope).new(wish)

    def note(self, note: Note) -> Note:
        """The equations in the names that are printed."""
        if not self._changed:
            return note
        shown = Rewriter(transformer(self._printed), notes=True).node(note)
        assert isinstance(shown, Note)
        equations = tuple(replace(e, target=self._refs.get(e.target, e.target)) for e in shown.equations)
        return replace(shown, equations=equations, added=frozenset(self._refs.get(name, name) for name in note.added))

    def _printed(self, node: Expr) -> Expr:
        if isinstance(node, Index):
            return index(self.of(node))
        return ref(self.of(node), *node.subscripts) if isinstance(node, Ref) else node


def called(nest: Nest) -> set[str]:
    """The functions of math.h that a nest calls."""
    found: set[str] = set()
    for node in nest.nodes:
        for root in () if isinstance(node, Call) else expressions(node):
            own = operators(root)
            found.update(OPS[op].spell.get("c", op) if op in OPS else op for op in own)
            if "ne" in own and any(operator(n) == "ne" and n.args[0] is n.args[1] for n in postorder(root)):
                found.add("isnan")
    return found & (LIBM | {"isnan"})
