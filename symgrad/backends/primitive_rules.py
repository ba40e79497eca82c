"""Functions of the user's in torch and JAX: each with a rule that says its derivative as it is declared, whatever the
framework would make of what the function does."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ..expr import ZERO, Expr, postorder, ref, total
from ..ops.primitive import RESULT, Primitive, argument
from ..source import python as py
from ..source.python import (
    Assign,
    Attribute,
    Class,
    Def,
    Definition,
    Element,
    Expression,
    Given,
    If,
    Name,
    Return,
    Splat,
    Word,
    bare,
    call,
    integer,
    method,
)
from . import primitives
from .python_expressions import TRUE, Expressions
from .python_statements import is_given, named, read_only, unpacked
from .series import as_array

CTX = Word("ctx")


def rules(own: Sequence[Primitive], tree: Callable[[str], Expressions]) -> dict[str, tuple[Definition, ...]]:
    """What stands for each of them in a file, by the word that the file calls.

    tree  what spells expressions of arrays of the type of the one that is named
    """
    language = tree("x").target
    made = {"torch": _Torch, "jax": _Jax}[language]
    there = [op for op in own if language in op.about.places]
    return {primitives.word(op, language).partition(".")[0]: made(op, tree).definitions() for op in there}


class _Rule:
    """The rule of one function.

    value    what its value is called
    moves    what its arguments move by
    """

    language: str

    def definitions(self) -> tuple[Definition, ...]:
        """What stands in the file."""
        raise NotImplementedError

    def __init__(self, op: Primitive, tree: Callable[[str], Expressions]) -> None:
        self.op, self.tree = op, tree
        self.arguments = op.about.arguments
        self.value = op.about.result or ("value" if "value" not in self.arguments else "value_there")
        self.moves = [f"tangent_{a}" for a in self.arguments]
        self.reads_value = any(RESULT in postorder(p) for p in op.partials if p is not None)
        place = op.about.places[self.language].partition(":")[0]
        self.about = (f"{op.about.name} of {place}, with its derivative as it is declared.",)

    def called(self) -> Expression:
        """The function itself."""
        return call(primitives.imported(self.op), *named(self.arguments))

    def given(self) -> tuple[Given, ...]:
        """The arguments as parameters."""
        return tuple(Given(Name(a)) for a in self.arguments)

    def slope(self, along: Mapping[int, str], before: str = "") -> Expression | None:
        """The sum of what is called so, times the derivative in the argument of that number, and of what is called
        `before`; None of no terms: a derivative that is not declared is refused before."""
        names: dict[Expr, str] = {**{argument(a): a for a in self.arguments}, RESULT: self.value}
        names |= {ref(f"?{name}?"): name for name in (before, *along.values()) if name}
        partials = {k: self.op.partials[k] for k in along}
        terms = [ref(f"?{along[k]}?") * p for k, p in partials.items() if p is not None]
        found = total([*([ref(f"?{before}?")] if before else []), *terms])
        return None if total(terms) is ZERO else self.tree(along[min(along)])(as_array(found, names, self.language))

    def refusals(self) -> list[tuple[int, py.Raise]]:
        """What is said of the arguments in which no derivative is declared."""
        several = len(self.arguments) > 1
        return [
            (k, py.Raise("NotImplementedError", py.text(
                f"no derivative is declared for {self.op.about.name}{f' in {self.arguments[k]}' if several else ''}"
            )))
            for k, p in enumerate(self.op.partials)
            if p is None
        ]  # fmt: skip


class _Torch(_Rule):
    language = "torch"

    def definitions(self) -> tuple[Definition, ...]:
        """A `torch.autograd.Function`; of several arguments, a function that gives it those in one shape."""
        own = Word(primitives.rule(self.op))
        vmap = Assign(Word("generate_vmap_rule"), TRUE)
        functions = (self._forward(), self._setup(), self._backward(), self._jvp())
        made = Class(own, Word("torch.autograd.Function"), self.about, [vmap], functions)
        if len(self.arguments) == 1:
            return (made,)
        spread = call("torch.broadcast_tensors", *named(self.arguments))
        body = [Return(call(Attribute(own, "apply"), Splat(spread)))]
        return made, Def(Word(primitives.word(self.op, "torch")), self.given(), body, self.about)

    def _method(self, name: str, given: Sequence[Given], body: py.Block) -> Def:
        return Def(Word(name), tuple(given), body, decorators=(Word("staticmethod"),))

    def _forward(self) -> Def:
        first = Name(self.arguments[0])
        return self._method("forward", self.given(), [Return(method(self.called(), "to", Attribute(first, "dtype")))])

    def _setup(self) -> Def:
        kept: list[Expression] = [Splat(Word("inputs")), *[Word("output")] * self.reads_value]
        body = [py.Do(call(f"ctx.save_for_{way}", *kept)) for way in ("backward", "forward")]
        return self._method("setup_context", [Given(w) for w in (CTX, Word("inputs"), Word("output"))], body)

    def _read(self, *results: object) -> list[py.Statement]:
        """What was kept, as far as the results speak of it."""
        kept = read_only(named([*self.arguments, *[self.value] * self.reads_value]), *results)
        return [unpacked(kept, Word("ctx.saved_tensors"))] if any(isinstance(k, Name) for k in kept) else []

    def _backward(self) -> Def:
        refused = [If(Element(Word("ctx.needs_input_grad"), (integer(k),)), [said]) for k, said in self.refusals()]
        results = [self.slope({k: "grad_output"}) or py.NONE for k in range(len(self.arguments))]
        body = [*refused, *self._read(results), Return(bare(results))]
        return self._method("backward", [Given(CTX), Given(Name("grad_output"))], body)

    def _jvp(self) -> Def:
        """An argument that does not move has no tangent."""
        refused = [If(is_given(self.moves[k]), [said]) for k, said in self.refusals()]
        if len(self.moves) == 1:
            zero = call("torch.zeros_like", Name(self.moves[0]))
            body: list[py.Statement] = [Return(self.slope({0: self.moves[0]}) or zero)]
        else:
            own = "tangent"
            sums = {k: self.slope({k: move}, own) for k, move in enumerate(self.moves)}
            read = Name(self.arguments[0])
            body = [Assign(Name(own), call("torch.zeros_like", read))]
            body += [If(is_given(self.moves[k]), [Assign(Name(own), s)]) for k, s in sums.items() if s is not None]
            body.append(Return(Name(own)))
        given = [Given(CTX), *(Given(Name(m)) for m in self.moves)]
        return self._method("jvp", given, [*refused, *self._read(body), *body])


class _Jax(_Rule):
    language = "jax"

    def definitions(self) -> tuple[Definition, ...]:
        """A `jax.custom_jvp`, which JAX transposes."""
        own, about = Word(primitives.word(self.op, "jax")), self.about
        first: Expression = call("jnp.result_type", *named(self.arguments))
        value = call("jnp.asarray", self.called(), first)
        function = Def(own, self.given(), [Return(value)], about, (Word("jax.custom_jvp"),))
        tangent = self.slope(dict(enumerate(self.moves))) or call("jnp.zeros_like", Name(self.value))
        body: list[py.Statement] = []
        body += [said for _, said in self.refusals()][:1]
        if not body:
            body = [
                unpacked(named(self.arguments), Word("primals")),
                unpacked(read_only(named(self.moves), tangent), Word("tangents")),
                Assign(Name(self.value), call(own, *named(self.arguments))),
                Return(bare([Name(self.value), tangent])),
            ]
        given = (Given(Word("primals")), Given(Word("tangents")))
        return function, Def(Word(f"{own.name}_jvp"), given, body, decorators=(Attribute(own, "defjvp"),))
