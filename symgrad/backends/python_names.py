"""The names of a printed Python file: the interface's are fixed, the user's are kept, all others yield to them.

A tree says which names are the declaration's (`Name`) and which are the file's (`Word`). Where one name is both in a
function, an import, a private function or a local of the file gets another one; a builtin is taken from the module
`builtins`. Only where a parameter of the interface is in the way (`saved` in backward) does the user's name yield,
inside of that function.
"""

from __future__ import annotations

import builtins
import keyword
import linecache
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any
from weakref import ref as weak

from ..plan import Program
from ..records import replace
from ..source.names import Scope, refuse_keywords
from ..source.python import Assign, Class, Def, Import, Module, Name, Space, Verbatim, Word, mapped, spoken, words_in
from ..source.tree import Function
from . import primitives
from .base import Backend
from .handwritten import respelled
from .loaded import LoadedModule, of_module
from .options import DEFAULT, Options
from .python_print import module as printed

_BUILTINS = frozenset(dir(builtins))


class PythonLanguage(Backend):
    """A language whose files are Python."""

    def __init__(self, options: Options = DEFAULT) -> None:
        super().__init__(options)
        # printed, and checked then; who has the program keeps it
        self._last: tuple[weak[Program], tuple[Function, ...]] | None = None

    @abstractmethod
    def module(self, program: Program, header: Sequence[str]) -> Module:
        """The file as a tree."""

    def render(self, program: Program, header: Sequence[str]) -> dict[str, str]:
        """Return {file name: text}."""
        refuse_keywords(program.derivative.primal, "Python", keyword.kwlist, inside=True)
        module = resolved(self.module(program, header))
        self._last = weak(program), _heads(module)
        return {f"{program.derivative.primal.name}_{self.name}.py": printed(module)}

    def module_of(self, program: Program, files: Mapping[str, str]) -> ModuleType:
        """The printed text as a module, without writing it anywhere; it knows its heads."""
        ((path, text),) = files.items()
        with primitives.importable(program):
            module = module_from(path, text)
        module.__dict__["heads"] = self.heads(program)
        module.__class__ = LoadedModule
        module.__dict__["_said"] = of_module(program, self.name, module)
        return module

    def heads(self, program: Program) -> tuple[Function, ...]:
        """What each function is called, stands for and takes."""
        if self._last is None or self._last[0]() is not program:
            self._last = weak(program), _heads(resolved(self.module(program, ())))
        return self._last[1]


def _heads(module: Module) -> tuple[Function, ...]:
    return tuple(f.head for f in module.body if isinstance(f, Def))


def module_from(path: str, text: str) -> ModuleType:
    """A module of that text; its lines show up in tracebacks."""
    stem = path.rsplit("/", 1)[-1].removesuffix(".py")
    module = ModuleType(stem)
    module.__file__ = f"<symgrad {path}>"
    linecache.cache[module.__file__] = (len(text), None, text.splitlines(keepends=True), module.__file__)
    exec(compile(text, module.__file__, "exec"), module.__dict__)  # symgrad's own text, of checked names
    return module


def resolved(module: Module) -> Module:
    """The file, in which each name has one meaning in each function."""
    return _Names(module).module()


def _functions(module: Module) -> Iterator[Def]:
    """The functions of the file, and those of its classes."""
    for part in module.body:
        if isinstance(part, Def):
            yield part
        elif isinstance(part, Class):
            yield from part.functions


class _Names:
    """Who is called how.

    everywhere  the new names of what the whole file knows
    inside      those of words in one function
    yielding    those of the user's in one function
    aliases     of what others call by its name, where a function has that name for something else
    """

    def __init__(self, module: Module) -> None:
        self.file = module
        names, words = spoken(module)
        self.scope = Scope(names, words, _BUILTINS)
        self.everywhere: dict[str, str] = {}
        self.inside: dict[int, dict[str, str]] = {}
        self.yielding: dict[int, dict[str, str]] = {}
        self.aliases: dict[str, str] = {}
        self.builtins = ""
        parts = [part for part in module.body if isinstance(part, (Def, Class, Verbatim))]
        self.own = {i.name or i.module for group in module.imports for i in group}
        self.public = {name.name for name in module.exported if isinstance(name, Word)}
        self.own |= {part.name.name for part in parts if isinstance(part.name, Word)} - self.public
        self.functions = {part.name.name for part in parts if isinstance(part.name, Name)}
        for name in sorted(self.functions & (self.own | self.public)):
            self.everywhere[name] = self.scope.new(f"{name}_")
        for name in sorted(self.functions & _BUILTINS & words):
            self.everywhere[name] = self._builtin(name)
        for function in _functions(module):
            names, words = spoken(function.parameters, function.body)
            for name in sorted(names & {*keyword.kwlist}):  # of C, whose arguments are looked at in Python
                self.yielding.setdefault(id(function), {})[name] = self.scope.new(f"{name}_")
            for name in sorted(names & (words | words_in(function.name, function.decorators))):
                self._separate(name, function, name in words)

    def _builtin(self, name: str) -> str:
        self.builtins = self.builtins or self.scope.new("builtins", "builtins_")
        return f"{self.builtins}.{name}"

    def _separate(self, name: str, function: Def, spoken_of: bool) -> None:
        """A name that is the user's and the file's in one function; whether its lines speak of the file's."""
        inside = self.inside.setdefault(id(function), {})
        if any(p.fixed and p.name == Word(name) for p in function.parameters):
            self.yielding.setdefault(id(function), {})[name] = self.scope.new(f"{name}_")
        elif name in self.everywhere:
            return
        elif name in self.own:
            self.everywhere[name] = self.scope.new(f"{name}_")
        elif name in self.public:
            if not spoken_of:
                return  # the function's own name
            if name not in self.aliases:
                self.aliases[name] = self.scope.new(f"_{name}")
            inside[name] = self.aliases[name]
        else:
            inside[name] = self._builtin(name) if name in _BUILTINS else self.scope.new(f"{name}_")

    def module(self) -> Module:
        """The file with these names."""
        if not (self.everywhere or self.inside or self.yielding):
            return self.file
        imports = [tuple(map(self._imported, group)) for group in self.file.imports]
        if self.builtins:
            first = (*imports[0], Import("builtins", self.builtins))
            imports[0] = tuple(sorted(first, key=lambda i: i.module))
        body = [self._part(part) for part in self.file.body]
        for name, alias in self.aliases.items():
            body += [Space(), Space(), Assign(Word(alias), Word(name))]
        exported = tuple(n if isinstance(n, Name) else self._word(n, self.everywhere) for n in self.file.exported)
        return replace(self.file, imports=tuple(imports), body=tuple(body), exported=exported)

    def _imported(self, i: Import) -> Import:
        name = i.name or i.module
        return replace(i, name=self.everywhere.get(name, name))

    def _part(self, part: Any) -> Any:
        """A part of the file with these names."""
        if isinstance(part, Verbatim):
            return respelled(part, self.everywhere)
        if isinstance(part, Class):
            functions = tuple(map(self._function, part.functions))
            rest = mapped(replace(part, functions=()), lambda n: self._renamed(n, self.everywhere, {}))
            return replace(rest, functions=functions)
        return self._function(part)

    def _function(self, part: Any) -> Any:
        words = self.everywhere | self.inside.get(id(part), {})
        names = self.yielding.get(id(part), {})
        if not isinstance(part, Def):
            return mapped(part, lambda n: self._renamed(n, words, names))
        name = self._word(part.name, self.everywhere) if isinstance(part.name, Word) else part.name
        new = {
            which: mapped(value, lambda n: self._renamed(n, words, names))
            for which, value in (("parameters", part.parameters), ("body", part.body), ("decorators", part.decorators))
        }
        return replace(part, name=name, **new)

    def _renamed(self, node: Any, words: Mapping[str, str], names: Mapping[str, str]) -> Any:
        if isinstance(node, Word):
            return self._word(node, words)
        return Name(names.get(node.name, node.name)) if isinstance(node, Name) else None

    def _word(self, word: Word, words: Mapping[str, str]) -> Word:
        first, dot, rest = word.name.partition(".")
        return Word(f"{words.get(first, first)}{dot}{rest}")
