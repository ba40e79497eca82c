"""PyTorch over code of another language: two custom operators, forward and backward, and what torch asks of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence

from ..expr import refs
from ..ir import Dtype, Tensor
from ..plan import Program
from ..source import python as py
from ..source.python import Assign, Def, Do, Expression, Given, Name, Operation, Return, Splat, Word, bare, call, method
from .python_module import PythonModule
from .python_sizes import name as size_name
from .python_sizes import pack_name, shape
from .python_statements import flag_of, is_given, named, refused, sized, tuple_of, unpacked, where_size_is
from .torch_again import Again

STORED = {Dtype.REAL: "float64", Dtype.INT: "int64", Dtype.BOOL: "bool"}
NEEDS = Word("needs_input_grad")
ROOM = 74  # columns of one string of a schema
OPERATOR = Assign(
    Word("_OPERATOR"),
    py.Text(("symgrad::", call(py.Attribute(Word("__name__"), "replace"), Word("'.'"), Word("'_'")))),
)
FORWARD = Do(call("_forward.register_autograd", Word("_differentiate"), setup_context=Word("_keep")))
REFUSED = Do(call("_backward.register_autograd", Word("_refuse")))
AGAIN = Do(call("_backward.register_autograd", Word("_differentiate_again"), setup_context=Word("_keep_again")))


class OperatorFile(PythonModule, ABC):
    """A file of two operators.

    dims      the sizes that forward and backward work with, besides those of results
    read      the options that backward works with
    asked     the optional inputs of which backward asks whether they were given
    again     backward in operations of torch, if it is printed, too
    device    the devices that it is for; all, if it is empty
    saved     the tensors that are kept for backward; where forward computes some of them, and gradients may be
              differentiated, also the inputs of which it does
    """

    dims: tuple[Sequence[str], Sequence[str]]
    device = ""
    noun = "tensor"

    def __init__(
        self,
        program: Program,
        dims: tuple[Sequence[str], Sequence[str]],
        read: Collection[str],
        asked: Collection[str],
        again: Again | None = None,
    ) -> None:
        super().__init__(program)
        self.dims, self.again, self.saved = dims, again, program.saved
        if again is not None:
            read = {*read, *filter(again.used, self.options)}
            asked = {*asked, *again.asked()}
            order = [*self.primal.inputs, *self.primal.outputs, *self.hidden]
            self.saved = tuple(n for n in order if n in (*program.saved, *again.saved))
        self.gradient_names = dict(program.derivative.gradients)
        self.results = [*self.primal.outputs, *self.hidden]
        self.kept_options = [o for o in self.options if o in read]
        self.kept_sizes = self._sizes_kept()
        self.presence = [n for n in program.saved_presence if n in asked]
        self.kept: list[Name | Word] = [Name(n) for n in (*self.saved, *self.seeds)]
        self.kept += [size_name(n) for n in (*self.kept_sizes, *self.kept_options)]
        self.kept += map(flag_of, self.presence)

    @abstractmethod
    def computed(self) -> list[py.Statement]:
        """What forward does with the results, whose memory there is."""

    @abstractmethod
    def differentiated(self) -> list[py.Statement]:
        """What backward does with the gradients, whose memory there is."""

    def empty(self, tensor: Tensor, like: Name, *needed: Expression) -> Expression:
        """A tensor of the right shape whose elements are not known yet."""
        extents = shape(tensor.shape)
        for flag in needed:
            extents = Operation("select", (flag, extents, py.integer(0)))
        kind = {} if tensor.dtype == Dtype.REAL else {"dtype": Word(f"torch.{STORED[tensor.dtype]}")}
        return method(like, "new_empty", extents, **kind)

    def reverse_mode_only(self) -> Do:
        """What refuses tangents, which torch leaves out where an operator has a gradient alone."""
        return Do(call("_reverse_mode_only", Word("_NAME"), *named([*self.gradient_names])))

    # what torch knows of an operator

    def _operator(self, name: str, operator: Expression, given: Sequence[Name | Word], results: int) -> py.Call:
        """The decorator that makes a function an operator of torch."""
        device = {"device_types": py.text(self.device)} if self.device else {}
        schema = self._schema(given, results)
        return call("torch.library.custom_op", operator, mutates_args=py.Several(()), **device, schema=schema)

    def _schema(self, given: Sequence[Name | Word], results: int) -> Expression:
        """What an operator takes and returns, in the words of torch."""
        arguments = [f"{self._kind(n)} {n.name}" for n in given]
        some = ["Tensor"] if results == 1 else ["(Tensor", *["Tensor"] * (results - 2), "Tensor)"]
        last = f"{arguments[-1]}) -> "
        words = [*(f"{a}, " for a in arguments[:-1]), last, *(f"{t}, " for t in some[:-1]), some[-1]]
        lines = ["("]
        for word in words:
            if len(lines[-1]) + len(word) > ROOM:
                lines.append("")
            lines[-1] += word
        return py.text(lines[0]) if len(lines) == 1 else Operation("beside", tuple(map(py.text, lines)))

    def _kind(self, own: Name | Word) -> str:
        name = own.name
        options = {o.name: o.dtype for o in self.primal.options}
        if own == NEEDS:
            return "bool[]"
        if name in options:
            return "float" if options[name] == Dtype.REAL else "SymInt"
        packs = {pack_name(p) for p in self.primal.packs}
        if name in map(pack_name, self.kept_sizes):
            return "SymInt[]" if name in packs else "SymInt"
        if isinstance(own, Word):
            return "bool"  # has_bias
        return "Tensor?" if self.program.table[name].optional else "Tensor"

    # forward

    def _given(self) -> tuple[Given, ...]:
        return tuple(self.given([*self.primal.inputs, *self.options]))

    def forward_operator(self) -> Def:
        """The operator."""
        results = named(self.results)
        body = [
            Assign(bare(results), call("_results", *self.arguments())),
            *sized(self.dims[0], self.sure),
            *self.computed(),
            Return(bare(results)),
        ]
        given = self._given()
        operator = self._operator("_forward", Word("_OPERATOR"), [g.name for g in given], len(self.results))
        return Def(Word("_forward"), given, body, ("Return the results, and what backward needs.",), (operator,))

    def results_maker(self) -> Def:
        """What it returns, as torch asks where there are no numbers."""
        primal, table = self.primal, self.program.table
        dims = {r.name for n in self.results for e in table[n].shape for r in refs(e)}
        dims |= {r.name for c in primal.constraints for r in refs(c)}
        body = sized([d.name for d in primal.dims if d.name in dims], self.sure)
        body += refused(primal, primal.constraints)
        like = Name(self.like or primal.inputs[0])
        body.append(Return(bare([self.empty(table[n], like) for n in self.results])))
        about = ("Return what _forward returns, before anything is computed.",)
        return Def(Word("_results"), self._given(), body, about, (Word("_forward.register_fake"),))

    def keeper(self) -> Def:
        """What is kept for backward."""
        sizes = [where_size_is(d, self.sure) for d in self.kept_sizes]
        numbers = [*sizes, *named(self.kept_options), *map(is_given, self.presence)]
        read = {*self.saved, *py.names_in(numbers)}
        arguments = [*self.primal.inputs, *self.options]
        body: list[py.Statement] = []
        if read & {*arguments}:
            body.append(unpacked([Name(n) if n in read else Word("_") for n in arguments], Word("inputs")))
        saved: list[Expression] = named(self.saved)
        if len(self.results) == 1:
            saved = [Word("output") if n in self.results else Name(n) for n in self.saved]
        elif read & {*self.results}:
            body.append(unpacked([Name(n) if n in read else Word("_") for n in self.results], Word("output")))
        if self.unasked():
            body.append(Do(call("ctx.set_materialize_grads", Word("False"))))
        body += [Do(call("ctx.save_for_backward", *saved))] if saved else []
        body += [Assign(Word("ctx.numbers"), tuple_of(numbers))] if numbers else []
        given = tuple(Given(Word(w), fixed=True) for w in ("ctx", "inputs", "output"))
        return Def(Word("_keep"), given, body or [Do(Word("pass"))])

    # backward

    def differentiator(self) -> Def:
        """What torch calls for the gradients."""
        primal, flags = self.primal, Word("ctx.needs_input_grad")
        body: list[py.Statement] = []
        if self.unasked():
            nothing = Operation("mul", (py.Several((py.NONE,)), py.integer(len(self.arguments()))))
            body.append(py.If(is_given(self.seeds[0], False), [Return(nothing)]))
        passed: list[Expression] = [Splat(Word("ctx.saved_tensors"))] if self.saved else []
        passed += named(self.seeds)
        passed += [Splat(Word("ctx.numbers"))] if len(self.kept) > len(self.saved) + len(self.seeds) else []
        body.append(Assign(bare(named([*self.gradient_names.values()])), call("_backward", *passed, flags)))
        found = [
            Operation("select", (py.Element(flags, (py.integer(k),)), Name(self.gradient_names[n]), py.NONE))
            if n in self.gradient_names else py.NONE
            for k, n in enumerate(primal.inputs)
        ]  # fmt: skip
        body.append(Return(bare([*found, *[py.NONE] * len(self.options)])))
        given = [Given(Word("ctx")), *(Given(Name(s), role="cotangent") for s in self.seeds)]
        given += [Given(Word("_"), role="rest")] if self.hidden else []
        return Def(Word("_differentiate"), tuple(given), body)

    def backward_operator(self) -> Def:
        """The operator."""
        found = named([*self.gradient_names.values()])
        needed = [d for d in self.dims[1] if d not in self.kept_sizes]
        body = [
            Assign(bare(found), call("_gradients", *self.kept, NEEDS)),
            *sized(needed, self._telling()),
            *self.differentiated(),
            Return(bare(found)),
        ]
        given = [*self.kept, NEEDS]
        operator = self._operator("_backward", py.Text((Word("_OPERATOR"), "_backward")), given, len(found))
        about = ("Return J.T @ grad_output: one gradient per input, empty if it is not needed.",)
        return Def(Word("_backward"), tuple(map(Given, given)), body, about, (operator,))

    def gradients_maker(self) -> Def:
        """What it returns, as torch asks where there are no numbers."""
        table = self.program.table
        dims = {r.name for g in self.gradient_names.values() for e in table[g].shape for r in refs(e)}
        names = [d.name for d in self.primal.dims if d.name in dims and d.name not in self.kept_sizes]
        body = sized(names, self._telling())
        for name, gradient in self.gradient_names.items():
            body.append(Assign(Name(gradient), self.empty(table[gradient], Name(self.seeds[0]), self.need(name))))
        body.append(Return(bare(named([*self.gradient_names.values()]))))
        about = ("Return what _backward returns, before anything is computed.",)
        return Def(
            Word("_gradients"), tuple(map(Given, (*self.kept, NEEDS))), body, about, (Word("_backward.register_fake"),)
        )

    def twin(self) -> Def:
        """Backward in operations of torch: it takes what the operator takes."""
        assert self.again is not None
        anew = not {*self.hidden}.isdisjoint(self.saved)
        return self.again.function([*self.kept, NEEDS], self.kept_sizes, self._telling(), anew)

    def need(self, name: str) -> Expression:
        """Whether the gradient of an input is needed."""
        return py.Element(NEEDS, (py.integer(self.primal.inputs.index(name)),))

    # sizes

    def _telling(self) -> list[Tensor]:
        """The tensors that backward always has."""
        table = self.program.table
        return [table[n] for n in (*self.saved, *self.seeds) if not table[n].optional]

    def _sizes_kept(self) -> list[str]:
        """The sizes that backward works with, and that no tensor that it has tells."""
        table = self.program.table
        dims = {r.name for g in self.gradient_names.values() for e in table[g].shape for r in refs(e)}
        dims |= {*self.dims[1], *([] if self.again is None else self.again.sizes_used())}
        told = {e.name for t in self._telling() for e in t.shape if hasattr(e, "name")}
        return [d.name for d in self.primal.dims if d.name in dims - told]
