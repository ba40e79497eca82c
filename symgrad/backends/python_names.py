"""The names of a printed Python file: the interface's are fixed, the user's are kept, all others yield to them.

While a file is printed, a user's name that Python or the file itself may use for something else is written in letters
of its own (`quoted`), one for each letter, so that lines break where they would. In the text every name has one owner
then. `linked` writes all of them in plain letters: an import, a private function or a local of the file that has the
name of something of the user's gets another one; a builtin is taken from the module `builtins`. Only where a parameter
of the interface is in the way (`saved` in backward) does the user's name yield, inside of that function.
"""

from __future__ import annotations

import ast
import builtins
import io
import keyword
import re
import sys
import tokenize
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from string import ascii_lowercase, ascii_uppercase, digits

from ..expr import Expr, Index, Ref, index, ref, transform
from ..ir import Equation, Function
from ..source.names import Scope, refuse_keywords
from .base import Language

_PLAIN = ascii_lowercase + ascii_uppercase + digits + "_"
_LETTERS = [chr(0x1D5BA + k) for k in range(26)] + [chr(0x1D5A0 + k) for k in range(26)]  # mathematical, without serifs
_OTHERS = [chr(0x1D7E2 + k) for k in range(10)] + ["\u01c0"]
_QUOTE = str.maketrans(_PLAIN, "".join([*_LETTERS, *_OTHERS]))
_UNQUOTE = {to: plain for plain, to in _QUOTE.items()}
_BUILTINS = frozenset(dir(builtins))
_WORDS = _BUILTINS | frozenset(  # what printed Python has besides: interface, modules, locals
    """forward backward saved grad_output needs_input_grad ctx inputs output jvp setup_context
    np jnp jax torch math special linalg functools LinearOperator builtins primals tangents
    dtype places zero batch state fun_and_grad hessp residuals jac matvec rmatvec""".split()
)
_MADE = re.compile(r"_.*|(has|count|grad|step)_.*|.*_(rows|part)")
_IN_BRACES = re.compile(r"(?<!\{)\{([^{}]*)\}")
_NAME = re.compile(r"(?<![\w.])[^\W\d]\w*")
_STRING = re.compile(r'''(?<![\w"'])(f?)("""[\s\S]*?"""|"[^"\n]*")''')


def names_in(text: str) -> frozenset[str]:
    """The names that lines of Python speak of, no attributes among them: each has one owner, so these are all uses."""
    return frozenset(_NAME.findall(_STRING.sub(_holes, text)))


def _holes(string: re.Match[str]) -> str:
    """What is computed in a string."""
    return ", ".join(_IN_BRACES.findall(string[2])) if string[1] else ""


class PythonLanguage(Language):
    """A language whose files are Python: printed with `quoted` names, and `linked`."""


def quoted(function: Function) -> Function:
    """The function, with other letters for the names that a printed file may use for something else.

    Raises UnsupportedError for keywords.
    """
    refuse_keywords(function, "Python", keyword.kwlist, inside=True)
    names = [t.name for t in function.tensors] + [d.name for d in function.dims] + [o.name for o in function.options]
    names += [i.name for e in function.statements for i, _ in e.box]
    found = {n: n.translate(_QUOTE) for n in names if n.lstrip("*") in _WORDS or _MADE.fullmatch(n.lstrip("*"))}
    return _respelled(function, found) if found else function


def _respelled(function: Function, names: Mapping[str, str]) -> Function:
    """The function with other names for tensors, sizes, options and indices."""

    def new(name: str) -> str:
        return names.get(name, name)

    def leaf(node: Expr) -> Expr:
        if isinstance(node, Ref):
            return ref(new(node.name), *node.subscripts)
        return index(new(node.name)) if isinstance(node, Index) else node

    def put(node: Expr) -> Expr:
        return transform(node, leaf)

    def written(e: Equation) -> Equation:
        box = []
        for i, extent in e.box:
            renamed = put(i)
            assert isinstance(renamed, Index)
            box.append((renamed, put(extent)))
        return replace(
            e,
            target=new(e.target),
            subscripts=tuple(map(put, e.subscripts)),
            body=put(e.body),
            box=tuple(box),
            where=None if e.where is None else put(e.where),
            when=tuple((new(n), given) for n, given in e.when),
        )

    return replace(
        function,
        dims=tuple(replace(d, name=new(d.name)) for d in function.dims),
        tensors=tuple(replace(t, name=new(t.name), shape=tuple(map(put, t.shape))) for t in function.tensors),
        statements=tuple(map(written, function.statements)),
        inputs=tuple(map(new, function.inputs)),
        outputs=tuple(map(new, function.outputs)),
        options=tuple(replace(o, name=new(o.name)) for o in function.options),
        constraints=tuple(map(put, function.constraints)),
    )


@dataclass(frozen=True)
class _Token:
    """A name in the text: where it stands, and how.

    keyword    it is that of an argument, and stands for nothing
    parameter  it is in the head of a function
    statement  what the line begins with, if it is an import
    """

    start: int
    text: str
    region: int
    keyword: bool = False
    parameter: bool = False
    imported: str = ""

    @property
    def user(self) -> bool:
        """Whether it is the user's, and not made of such a one, as `grad_x` is."""
        return all(ord(letter) in _UNQUOTE for letter in self.text)

    @property
    def plain(self) -> str:
        """The name in plain letters."""
        return self.text.translate(_UNQUOTE)


@dataclass
class _Region:
    """A function of the file, with those inside of it."""

    public: bool
    users: set[str] = field(default_factory=set)
    ours: set[str] = field(default_factory=set)
    made: set[str] = field(default_factory=set)  # of the user's, as they are written
    parameters: set[str] = field(default_factory=set)
    given: set[str] = field(default_factory=set)  # the user's among the parameters


def linked(text: str) -> str:
    """The text of a file in plain letters, in which each name has one meaning in each function."""
    if not any(chr(letter) in text for letter in _UNQUOTE):
        return text
    tree = ast.parse(text)
    functions = list(_functions(tree))
    public = _exported(tree)
    regions = [_Region(True)] + [_Region(f.name in public or inner) for f, inner in functions]
    spans = [(min([f.lineno, *(d.lineno for d in f.decorator_list)]), f.end_lineno or 0) for f, _ in functions]
    tokens = list(_tokens(text, spans))
    for t in tokens:
        region = regions[t.region]
        if t.user:
            region.users.add(t.plain)
            region.given |= {t.plain} if t.parameter else set()
        elif t.plain != t.text:
            region.made.add(t.text)
        elif not t.keyword:
            region.ours.add(t.text)
            region.parameters |= {t.text} if t.parameter else set()
    modules = {t.text for t in tokens if t.imported and not t.user}
    own = {s.name for s in tree.body if isinstance(s, (ast.FunctionDef, ast.ClassDef))}
    names = _Names(Scope({t.plain for t in tokens}, _BUILTINS), modules, own - public, own & public)
    for number, region in enumerate(regions[1:], 1):
        for name in sorted(region.users & (region.ours | modules)):
            names.separate(name, number, region)
        names.yield_all(sorted(region.made), number, region.users | region.ours)
    return names.written(text, tokens)


def _functions(tree: ast.Module) -> Iterator[tuple[ast.FunctionDef, bool]]:
    """The functions of the file, and those of its classes."""
    for s in tree.body:
        if isinstance(s, ast.FunctionDef):
            yield s, False
        elif isinstance(s, ast.ClassDef):
            yield from ((f, True) for f in s.body if isinstance(f, ast.FunctionDef))


def _exported(tree: ast.Module) -> set[str]:
    values = [s.value for s in tree.body if isinstance(s, ast.Assign) and ast.unparse(s.targets[0]) == "__all__"]
    return {name for value in values for name in ast.literal_eval(value)}


def _tokens(text: str, spans: Collection[tuple[int, int]]) -> Iterator[_Token]:
    """The names of a text that stand for something, in f-strings too; `spans` are the lines of the functions."""
    lines = text.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    before, depth, statement, head = "", 0, "", False
    found = list(tokenize.generate_tokens(io.StringIO(text).readline))
    for number, token in enumerate(found):
        (row, column), kind, string = token.start, token.type, token.string
        region = next((k for k, (first, last) in enumerate(spans, 1) if first <= row <= last), 0)
        start = starts[row - 1] + column
        if kind == tokenize.STRING and "f" in string[: string.index(string[-1])].lower():
            for hole in _IN_BRACES.finditer(string):
                for name in _NAME.finditer(hole[1]):
                    yield _Token(start + hole.start(1) + name.start(), name[0], region)
        elif kind == tokenize.NAME:
            if not before:
                statement = string if string in ("import", "from") else ""
            head = head or string == "def"
            after = found[number + 1].string
            source = statement and (before == "from" or after == "." or (before == "import" and after == "as"))
            if before != "." and string not in ("as", "import", "from", "def", "class") and not source:
                parameter = head and depth == 1 and before in ("(", ",", "*")
                keyword = depth > 0 and after == "=" and not head
                imported = "as" if statement and before == "as" else statement
                yield _Token(start, string, 0 if before in ("def", "class") else region, keyword, parameter, imported)
        elif kind == tokenize.OP:
            depth += (string in "([{") - (string in ")]}")
            head = head and not (string == ":" and not depth)
        if kind in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT):
            before = ""
        elif kind not in (tokenize.NL, tokenize.COMMENT):
            before = string


class _Names:
    """Who is called how.

    everywhere  the new names of imports and private functions
    inside      those of the file's locals, and builtins, in one function
    yielding    those of the user's in one function
    """

    def __init__(self, scope: Scope, modules: set[str], private: set[str], public: set[str]) -> None:
        self.scope, self.modules, self.private, self.public = scope, modules, private, public
        self.everywhere: dict[str, str] = {}
        self.inside: dict[tuple[int, str], str] = {}
        self.yielding: dict[tuple[int, str], str] = {}
        self.aliases: dict[str, str] = {}
        self.builtins = ""

    def separate(self, name: str, number: int, region: _Region) -> None:
        """A name that is the user's and the file's in one function."""
        if name in self.modules | self.private:
            if name not in self.everywhere:
                self.everywhere[name] = self.scope.new(f"{name}_")
        elif name in region.parameters or (name in self.public and not (region.public and name in region.given)):
            self.yielding[number, name] = self.scope.new(f"{name}_")
        elif name in self.public:
            if name not in self.aliases:
                self.aliases[name] = self.scope.new(f"_{name}")
            self.inside[number, name] = self.aliases[name]
        elif name in _BUILTINS:
            self.builtins = self.builtins or self.scope.new("builtins", "builtins_")
            self.inside[number, name] = f"{self.builtins}.{name}"
        else:
            self.inside[number, name] = self.scope.new(f"{name}_")

    def yield_all(self, made: Sequence[str], number: int, taken: Collection[str]) -> None:
        """Names that are made of the user's in one function."""
        for name in made:
            plain = name.translate(_UNQUOTE)
            self.inside[number, name] = self.scope.new(f"{plain}_") if plain in taken else plain

    def written(self, text: str, tokens: Collection[_Token]) -> str:
        """The text with these names."""
        pieces, end = [], 0
        for t in tokens:
            if t.user:
                name = t.plain if t.keyword else self.yielding.get((t.region, t.plain), t.plain)
            else:
                name = self.inside.get((t.region, t.text)) or self.everywhere.get(t.text, t.plain)
                name = t.plain if t.keyword else name
                if t.imported in ("import", "from") and name != t.text:
                    name = f"{t.text} as {name}"
            pieces += [text[end : t.start], name]
            end = t.start + len(t.text)
        result = "".join([*pieces, text[end:]]).translate(_UNQUOTE)
        result += "".join(f"\n\n{alias} = {name}\n" for name, alias in self.aliases.items())
        return _with_builtins(result, self.builtins) if self.builtins else result


def _with_builtins(text: str, name: str) -> str:
    """The text with `import builtins` among its imports."""
    line = "import builtins\n" if name == "builtins" else f"import builtins as {name}\n"
    first = [s for s in ast.parse(text).body if isinstance(s, (ast.Import, ast.ImportFrom))]
    own = [s for s in first if isinstance(s, ast.Import) and s.names[0].name in sys.stdlib_module_names]
    place = next((s for s in own if s.names[0].name > "builtins"), None)
    lines = text.splitlines(keepends=True)
    if place is not None or not own:
        at = (place or first[0]).lineno - 1
        lines[at:at] = [line] + ([] if own else ["\n"])
    else:
        lines.insert(own[-1].lineno, line)
    return "".join(lines)
