"""From the graph that a traced function left behind to the equations of a draft.

An array that has a name, is reduced, or enters a matrix product becomes an equation of its own; the others are written
into the bodies of those that read them. The same axis of related tensors gets the same letter.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice

from ...domain import Domain
from ...errors import DeclarationError
from ...expr import ONE, Apply, Expr, Index, Ref, index, indices, preorder, product, ref, refs, substitute, terms_of
from ...expr.names import Names, fresh_letters, is_pack
from ...ops import OPS
from ...ops.matrices import MATRICES
from ...records import dataclass
from ..draft import Draft, evaluated_with, is_sum
from ..names import output_names
from ..optional import variants
from .formula import Line
from .graph import Done, Node, Pieces, Value, axes_of, is_loop, places_of, reachable, read, resolve, shown, value


@dataclass(frozen=True, slots=True)
class Lowered:
    """The names of the outputs, and every equation as it was before the draft split and hoisted it."""

    outputs: tuple[str, ...]
    lines: tuple[Line, ...]


class Lowering:
    """Writes the equations of `outputs` into `draft`.

    names   the user's name for a node, by its serial
    calls   the name of the variable that a node was stored in, or else of the function that gave it
    within  the result of the call inside of which a node was named
    """

    def __init__(
        self,
        draft: Draft,
        outputs: Sequence[Node],
        names: Mapping[int, str],
        calls: Mapping[int, str],
        within: Mapping[int, int],
    ) -> None:
        self.calls = calls
        self.within = within
        self.draft = draft
        self.outputs = tuple(outputs)
        self.nodes = reachable(outputs)
        self.names: dict[int, str] = {}
        self.asked: dict[int, str] = {}  # what a name was to be, of what is no output
        self.taken = Names(draft.names | draft.letters)
        self.copies: list[tuple[str, Node]] = []
        self.done: Done = {}
        self.lines: list[Line] = []
        self.made_up: set[int] = set()  # nodes that are arrays of their own under a name that nobody chose
        self.unsqueezed: set[int] = set()  # nodes that keep their axes of length 1
        self.letters = _Letters(draft, names.values(), self.nodes, self.outputs)
        self._name_all(names)
        draft.reserved.update(self.names.values())
        terms = (n.serial for n in self.nodes if n.origin is not None)  # of index notation, which branches may read
        draft.on_demand.update(self.names[serial] for serial in terms if serial in self.names)
        self.readers = self._readers()

    # names

    def _name_all(self, names: Mapping[int, str]) -> None:
        """Decide which nodes become equations, and what they are called."""
        wishes: dict[int, str] = {}
        automatic = output_names(len(self.outputs))
        returned = {node.serial for node in self.outputs}
        for node in self.nodes:
            wish = names.get(node.serial) or names.get(node.origin or 0)
            if wish in automatic and node.serial not in returned:
                continue  # the output will be called that
            if wish and not (node.constant or node.declared):
                wishes[node.serial] = wish
        self._hand_down(wishes)
        self.result: list[str] = []
        named_outputs: set[int] = set()
        for out, node in zip(automatic, self.outputs, strict=True):
            if node.declared or node.constant or node.serial in named_outputs:
                name = self._fresh(out)
                self.copies.append((name, node))
            else:
                name = self._fresh(wishes.pop(node.serial, out))
                self.names[node.serial] = name
                named_outputs.add(node.serial)
            self.result.append(name)
        for node in self.nodes:
            if node.serial in wishes:
                within = self._called_for(node, wishes)
                self.names[node.serial] = self._fresh(wishes[node.serial], within)
                if not within:
                    self.asked[node.serial] = wishes[node.serial]
        readers = Counter(operand.serial for node in self.nodes for operand in node.operands.values())
        needed = {operand.serial for node in self.nodes for operand in _needed(node)}
        optional = [t.name for t in self.draft.tensors.values() if t.optional]
        for node in self.nodes:
            if isinstance(node, Pieces) and node.serial not in self.names:
                self.names[node.serial] = self._fresh(node.wish)
                self.made_up.add(node.serial)
            elif node.kind in MATRICES:
                if node.serial not in self.names:
                    word = MATRICES[node.kind].word
                    assert isinstance(node, Value)
                    *_, last = refs(node.body)
                    operand = node.operands.get(last.name)
                    of = last.name if operand is None else self.names.get(operand.serial)
                    self.names[node.serial] = self._fresh(word, f"{word}_{of}" if of else "")
                self.unsqueezed.add(node.serial)
                for operand in node.operands.values():
                    self._keep_axes(operand)
            elif node.over:
                for operand in node.operands.values():
                    if node.matmul or readers[operand.serial] > 1:
                        self._name_operand(operand)
            elif node.serial in needed and self._may_change(node, optional):
                self._name_operand(node)
        for node in self._shifted():
            self._name_operand(node)
        self._number_in_order()
        self._hand_down_outputs()

    def _shifted(self) -> list[Node]:
        """What is computed element by element, and read at several places, as by slices and rolls: written out, it
        would be computed for each, and what it reads for each of these."""
        places: dict[int, set[tuple[Expr, ...]]] = {}
        for node in self.nodes:
            body = node.body if isinstance(node, Value) and not node.over else None
            at = body.subscripts if isinstance(body, Ref) else ()
            for operand in node.operands.values():
                places.setdefault(operand.serial, set()).add(at if any(isinstance(s, Apply) for s in at) else ())
        return [n for n in self.nodes if len(places.get(n.serial, ())) > 1]

    def _may_change(self, node: Node, optional: Sequence[str]) -> bool:
        """Whether an array is a sum in which an optional input stands: written out, it would be there with it and
        without."""
        if not isinstance(node, Value) or not is_sum(node.body):
            return False
        if all(r.name not in optional for r in refs(node.body)):
            return False
        with suppress(DeclarationError):
            variants(node.body, optional, True, self.draft.name)
            return True
        return False

    def _fresh(self, *wishes: str) -> str:
        return self.taken.new(*wishes)

    def _called_for(self, node: Node, wishes: Mapping[int, str]) -> str:
        """A local of a function that is called twice is called after the result too: `normed2_xhat`."""
        result = self.within.get(node.serial)
        while result is not None and result not in self.names and result not in wishes:
            result = self.within.get(result)
        return "" if result is None else f"{self.names.get(result) or wishes[result]}_{wishes[node.serial]}"

    def _name_operand(self, node: Node) -> None:
        """What enters a matrix product, or is reduced and read elsewhere too, is computed once."""
        while (source := shown(node)) is not None:  # through transposes and the like
            node = source
        word = _word(node)
        if word and node.serial not in self.names:
            self.asked[node.serial] = self.calls.get(node.serial) or word
            self.names[node.serial] = self._fresh(self.asked[node.serial])
            self.made_up.add(node.serial)

    def _number_in_order(self) -> None:
        """What asked for one name has it with numbers in the order of the equations: u_2, u_3, ... of a loop."""
        order = {node.serial: place for place, node in enumerate(self.nodes)}
        for wish in dict.fromkeys(self.asked.values()):
            mine = [serial for serial, asked in self.asked.items() if asked == wish]
            names = [self.names[serial] for serial in mine]  # as they were given, in order
            self.names.update(zip(sorted(mine, key=order.__getitem__), names, strict=True))

    def _keep_axes(self, node: Node) -> None:
        """What a function of matrices is applied to is computed as it is, with its axes of length 1."""
        while (source := shown(node)) is not None:
            assert isinstance(node, Value) and isinstance(node.body, Ref)
            places = node.body.subscripts
            if len(set(places)) < node.rank or not all(isinstance(s, Index) for s in places):
                break
            node = source
        if node.declared:
            return
        self.unsqueezed.add(node.serial)
        if node.serial not in self.names:
            self.names[node.serial] = self._fresh(_word(node) or ("product" if node.matmul else "operand"))
            self.made_up.add(node.serial)

    def _source(self, node: Node) -> Value | None:
        """The reduction that `node` shows as it is, all of it, but for axes of extent 1."""
        source = shown(node)
        if not (isinstance(source, Value) and source.over):
            return None
        assert isinstance(node, Value) and isinstance(node.body, Ref)
        wide = [(s, e) for s, e in zip(node.body.subscripts, source.shape, strict=True) if e is not ONE]
        mine = [(i, e) for i, e in zip(places_of(node.shape), node.shape, strict=True) if isinstance(i, Index)]
        return source if wide == mine else None

    def _hand_down(self, wishes: dict[int, str]) -> None:
        """A name of `x.mean(axis=-1, keepdims=True)` is the name of the mean, which has no axis of extent 1."""
        outputs = {n.serial for n in self.outputs}
        for node in self.nodes:
            source = self._source(node) if node.serial in wishes and node.serial not in outputs else None
            if source is not None and source.serial not in outputs:
                wish = wishes.pop(node.serial)
                wishes.setdefault(source.serial, wish)

    def _hand_down_outputs(self) -> None:
        """An output that is a reduction and nothing else is one equation."""
        for node in self.outputs:
            source = self._source(node)
            if source is None or source.serial in self.names or node.serial not in self.names:
                continue
            if len(source.shape) == len(node.shape):
                self.names[source.serial] = self.names.pop(node.serial)

    def _readers(self) -> dict[int, str]:
        """The value that a product of several tensors is summed for, where there are several such sums of one kind:
        `total_hidden` says more than `total_3`."""
        above: dict[int, Node] = {}
        for node in self.nodes:
            for operand in node.operands.values():
                above.setdefault(operand.serial, node)
        sums = [n for n in self.nodes if isinstance(n, Value) and n.over and n.serial not in self.names]
        several = [n for n in sums if len({r.name for r in refs(n.body)}) > 1]
        kinds = Counter(n.kind for n in several)
        found: dict[int, str] = {}
        for node in several:
            reader: Node | None = node
            while reader is not None and reader.serial not in self.names:
                reader = above.get(reader.serial)
            if reader is not None and kinds[node.kind] > 1:
                found[node.serial] = self.names[reader.serial]
        return found

    # equations

    def run(self) -> Lowered:
        """Write every equation."""
        for node in self.nodes:
            if isinstance(node, Pieces):
                self.done[node.key] = (node.formals, ref(self.names[node.serial], *places_of(node.shape)))
        for node in self.nodes:
            if isinstance(node, Pieces):
                self._pieces(node)
                continue
            assert isinstance(node, Value)
            if node.serial in self.names:
                self._array(node, self.names[node.serial])
            elif node.over:
                self._hoisted(node)
            else:
                self.done[node.key] = (node.formals, resolve(node.body, self.done))
        for name, node in self.copies:
            self._array(value(node.shape, read(node, places_of(node.shape)), [node], node.letters), name)
        return Lowered(tuple(self.result), tuple(self.lines))

    def _array(self, node: Value, name: str) -> None:
        """The equation of an array that has a name; a local one does without axes of extent 1."""
        unsqueezed = node.serial in self.unsqueezed
        places = axes_of(node.shape) if unsqueezed else places_of(node.shape)
        whole = unsqueezed or name in self.result
        kept = [(i, e) for i, e in zip(places, node.shape, strict=True) if whole or e is not ONE]
        standing = tuple(i for i, _ in kept)
        body, over = resolve(node.body, self.done), _known(node.over)
        axes = {i: e for i, e in kept if isinstance(i, Index)}
        letters = self.letters.choose(axes, over, dict(zip(axes_of(node.shape), node.letters, strict=False)))
        written, extents, text = _renamed(body, letters, axes | over)
        subscripts = tuple(substitute(s, dict(letters)) for s in standing)
        self.lines.append(Line(name, subscripts, node.kind, tuple(letters.get(i, i) for i in over), text))
        kind = node.kind if over else "sum"
        if kind == "mean":
            kind, written = "sum", written / product(over.values())
        named = node.serial not in self.made_up
        self.draft.define(name, subscripts, written, extents, shape=[e for _, e in kept], reduce=kind, named=named)
        self.done[node.key] = (node.formals, ref(name, *standing))

    def _hoisted(self, node: Value) -> None:
        """The equation of a reduction that stands in the body of another one."""
        body, over = resolve(node.body, self.done), _known(node.over)
        axes = {i: e for i, e in zip(axes_of(node.shape), node.shape, strict=True) if i in indices(body)}
        letters = self.letters.choose(axes, over, dict(zip(axes_of(node.shape), node.letters, strict=False)))
        written, extents, text = _renamed(body, letters, axes | over)
        reduced = tuple(letters.get(i, i) for i in over)
        found = self.draft.reduce(node.kind, reduced, written, extents, reader=self.readers.get(node.serial))
        self.lines.append(Line(found.name, found.subscripts, node.kind, reduced, text, hoisted=True))
        self.done[node.key] = (node.formals, substitute(found, {v: k for k, v in letters.items()}))

    def _pieces(self, node: Pieces) -> None:
        name = self.names[node.serial]
        if not node.pieces:
            raise DeclarationError(
                f"{self.draft.name}: {name} is created by sg.tensor.new, and nothing is written to it."
            )
        for number, piece in enumerate(node.pieces):
            axes = {i: e for i, e in piece.box.items() if not is_loop(i)}
            letters = self.letters.choose(axes, {}, {}, piece.box)
            written, extents, text = _renamed(resolve(piece.body, self.done), letters, piece.box)
            subscripts = tuple(substitute(resolve(s, self.done), dict(letters)) for s in piece.subscripts)
            named = node.serial not in self.made_up
            self.draft.define(name, subscripts, written, extents, shape=node.shape, named=named)
            summed = tuple(i for i in extents if i not in indices(*subscripts))
            kind = "sum" if summed else "none"
            self.lines.append(Line(name, subscripts, kind, summed, text, adds=piece.adds and number > 0))


def _needed(node: Node) -> Iterator[Node]:
    """The operands of which a value is computed in any case, and more than as a term of it."""
    if isinstance(node, Value):
        terms = [t for t, _ in terms_of(node.body) if isinstance(t, Ref)] if node.kind == "sum" or not node.over else []
        read = [n for n in preorder([node.body], evaluated_with) if isinstance(n, Ref)]
        yield from (node.operands[r.name] for r in read if r.name in node.operands and r not in terms)


def _known(over: Mapping[Index, Expr | None]) -> dict[Index, Expr]:
    found = {i: e for i, e in over.items() if e is not None}
    assert len(found) == len(over), "an open reduction"
    return found


def _renamed(
    body: Expr, letters: Mapping[Expr, Index], box: Mapping[Index, Expr]
) -> tuple[Expr, dict[Index, Expr], Expr]:
    """`body` and the extents of `box` in letters; and the body as people read it, without conditions that hold."""
    written = substitute(body, dict(letters))
    extents = {letters.get(i, i): e for i, e in box.items()}
    return written, extents, Domain.of(tuple(extents.items())).decided(written)


class _Letters:
    """Gives indices their letters: the axes of one extent get one letter throughout, a second axis of it the next."""

    def __init__(self, draft: Draft, names: Iterable[str], nodes: Sequence[Node], outputs: Sequence[Node]) -> None:
        self._taken = taken = {*draft.names, *names}
        loops = [i.name for n in nodes for i in n.over if is_loop(i)]
        loops += [i.name for n in nodes if isinstance(n, Pieces) for p in n.pieces for i in p.box if is_loop(i)]
        loops += [letter for n in nodes for letter in n.letters if letter]
        skipped = int(any(d.pack for d in draft.dims.values()))  # a pack stands where the first letter would
        self._fresh = islice(fresh_letters({*taken, *loops}), skipped, None)
        self._found: dict[tuple[Expr, int], str] = {}
        for node in nodes:
            self._learn(node)
        for node in outputs:
            self.choose(dict(zip(axes_of(node.shape), node.shape, strict=True)), {}, {})

    def _learn(self, node: Node) -> None:
        """The letters that the user wrote for the axes of an array are those of their extents."""
        counts: dict[Expr, int] = {}
        for extent, letter in zip(node.shape, node.letters, strict=False):
            number = counts.get(extent.key, 0)
            counts[extent.key] = number + 1
            if letter and letter not in self._taken and letter not in self._found.values():
                self._found.setdefault((extent.key, number), letter)

    def choose(
        self,
        axes: Mapping[Index, Expr],
        over: Mapping[Index, Expr],
        wishes: Mapping[Index, str | None],
        loops: Iterable[Index] = (),
    ) -> dict[Expr, Index]:
        """New names for the indices of one equation; those of packs and of the user's own stay."""
        used = {i.name for i in loops if is_loop(i)}
        chosen: dict[Expr, Index] = {}
        counts: dict[Expr, int] = {}
        for i, extent in (*axes.items(), *over.items()):
            if is_pack(extent) and is_pack(i):
                continue
            letter = wishes.get(i) or (i.name if is_loop(i) else None)
            while letter is None or letter in used or letter in self._taken:  # as an index of a called function may be
                number = counts.get(extent.key, 0)
                counts[extent.key] = number + 1
                place = (extent.key, number)
                if place not in self._found:
                    self._found[place] = next(self._fresh)
                letter = self._found[place]
            used.add(letter)
            chosen[i] = index(letter)
        return chosen


def _word(node: Node) -> str:
    """What an array is called after its operator, if it is computed by one; no sum, which is a function of Python."""
    if not isinstance(node, Value) or node.over or not isinstance(node.body, Apply):
        return ""
    op = "select" if node.body.op == "given" else node.body.op
    return "total" if op == "add" else OPS[op].noun or f"{op}_value"
