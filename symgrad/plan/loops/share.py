"""What is computed once: invariants leave their loop, what is used twice gets a name, what is too long is cut.

Nothing that a condition protects is computed outside of it unless it is safe anywhere: arithmetic on scalars, and on
elements at plain indices of loops that are still around.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from itertools import count
from math import inf

from ...expr import (
    ZERO,
    Apply,
    Const,
    Expr,
    Index,
    Ref,
    folded,
    indices,
    postorder,
    preorder,
    ref,
    refs,
    renewed,
    substitute,
)
from ...ir import Dtype, dtype_of, unconditional
from ...ops import OPS
from ...ops.naming import phrase, short
from ...records import replace
from .data import Block, Guard, If, Local, Loop, Node, root_of, stores, walk, with_blocks, with_inner, with_root
from .dependence import changed
from .masks import without_masks
from .merge_equal import merge_equal
from .names import length_of
from .reach import Reach

LONG = 130  # characters of an expression that are still read in one go
WORTH = 16  # characters of one operation that is not written twice


class Share:
    """Names what is worth a name in the blocks of one procedure.

    kinds     tensor or option -> what it is; any other name is a size
    guarded   what is computed under a condition: nothing reads it outside of that
    reach     which elements exist at every turn of the loops
    """

    def __init__(self, kinds: Mapping[str, Dtype], guarded: Iterable[str], reach: Reach) -> None:
        self._kinds = dict(kinds)
        self._guarded = frozenset(guarded)
        self._reach = reach
        self._dtypes: dict[Expr, Dtype] = {}
        self._serial = count(1)

    def __call__(self, block: Block) -> Block:
        for node in walk(block):
            if isinstance(node, Local):
                self._kinds[node.name] = node.dtype
        block = without_masks(block, self._reach, self._safe)
        hoisted = merge_equal(self._hoisted(block, self._reach))
        return merge_equal(self._shared(hoisted, self._reach))

    # loop invariants

    def _hoisted(self, block: Block, reach: Reach) -> Block:
        done: list[Node] = []
        for node in block:
            node = with_blocks(node, tuple(map(self._hoisted, node.blocks, reach.inside(node))))
            if isinstance(node, Loop):
                before, node = self._invariants(node, reach)
                done += before
            done.append(node)
        return tuple(done)

    def _invariants(self, loop: Loop, reach: Reach) -> tuple[list[Local], Loop]:
        """What the body computes anew in every turn although nothing in it changes: calls and divisions."""
        changing = {loop.index.name, *changed(loop.body)}
        before: list[Local] = []
        for node in loop.body:
            if not isinstance(node, Local) or node.changes or not isinstance(node.value, Apply):
                continue
            moves = not any(isinstance(n, (Ref, Index)) and n.name in changing for n in postorder(node.value))
            if moves and reach.leaves(node.value):
                before.append(node)
                changing.discard(node.name)
        body = tuple(n for n in loop.body if not any(n is moved for moved in before))
        names: dict[Expr, Expr] = {}
        found: dict[Expr, Expr] = {}
        for root, protected in _sites(body, _is_narrow(loop)):
            free = set() if protected else unconditional(root)
            for part in self._largest_invariants(root, changing):
                if not self._costs(part) or not (part in free and reach.leaves(part) or self._safe(part, reach)):
                    continue
                if part.key not in names:
                    before.append(self._local(part))
                    names[part.key] = ref(before[-1].name)
                found[part] = names[part.key]
        if found:
            roots = {root: substitute(root, found) for root, _ in _sites(body)}
            body = _with_roots(body, roots)
        return before, replace(loop, body=body)

    def _largest_invariants(self, root: Expr, changing: set[str]) -> list[Expr]:
        still: set[Expr] = set()
        for node in postorder(root):
            own = not (isinstance(node, (Ref, Index)) and node.name in changing)
            if own and all(a in still for a in node.args):
                still.add(node)

        def invariant(node: Expr) -> bool:
            return node in still and isinstance(node, Apply) and self._dtype(node) is Dtype.REAL

        met = preorder([root], lambda n: () if isinstance(n, Ref) or invariant(n) else n.args)
        return [node for node in met if invariant(node)]

    def _costs(self, root: Expr) -> bool:
        """Whether `root` holds a call or a division by what is no number."""
        return any(_is_costly(n) and self._dtype(n) is Dtype.REAL for n in postorder(root))

    # common subexpressions

    def _shared(self, block: Block, reach: Reach) -> Block:
        """Give names in this block, each before the statement that needs it first; then in the blocks inside."""
        names = _Names(self, block, reach)
        done: list[Node] = []
        for names.place, node in enumerate(block, 1):
            if isinstance(node, Local) and not node.changes:
                node = replace(node, value=names.known_as(node.value, node.name))
            elif (root := root_of(node)) is not None:
                node = with_root(node, names.of(root))
            if isinstance(node, (If, Guard)):
                for root, _ in _sites((*node.body, *node.otherwise)):
                    names.of(root, inside=True)
                node = with_inner(node, partial(_with_roots, written=names.written))
            done += names.new()
            done.append(node)
            names.forget()
        return tuple([with_blocks(n, tuple(map(self._shared, n.blocks, reach.inside(n)))) for n in done])

    # what a node is

    def _dtype(self, root: Expr) -> Dtype:
        return dtype_of(root, self._kinds, self._dtypes)

    def _safe(self, root: Expr, reach: Reach) -> bool:
        """Whether `root` may be evaluated where a condition would have kept it from being so."""

        def safe(node: Expr) -> bool:
            if isinstance(node, Ref):
                return node.name not in self._guarded and reach.holds(node)
            whole = isinstance(node, Apply) and node.op in ("floordiv", "mod")
            return not whole and all(reach.known[a] for a in node.args)

        return folded(root, reach.known, safe)

    def _local(self, value: Expr) -> Local:
        name = f"{phrase(value) or short(value)}@{next(self._serial)}"
        self._kinds[name] = Dtype.REAL
        return Local(name, value, Dtype.REAL)


class _Names:
    """The subexpressions of one block that get a name."""

    def __init__(self, share: Share, block: Block, reach: Reach) -> None:
        self._share, self._reach = share, reach
        self._uses: dict[Expr, int] = {}
        self._places: dict[Expr, set[int]] = {}  # if there are conditions: 0 for those outside of them, or two others
        self._open: set[Expr] = set()  # evaluated whatever the conditions are
        self.place = 0  # of the statement that is looked at
        self._changed: dict[Expr, float] = {}  # where in the block what is read changes for the last time, if it does
        self._names: dict[Expr, Expr] = {}
        self._lengths: dict[Expr, int] = {}
        self._new: list[Local] = []
        self._begins: set[Expr] = set()  # of sums
        self._plain: set[Expr] = set()  # what is short, and nothing in which is read twice: written as it is
        self._passing = False  # whether a name was given to what the statement changes
        self.written: dict[Expr, Expr] = {}
        changes = dict[str, float]()
        for place, statement in enumerate(block, 1):
            changes |= {r.name: place for n in walk((statement,)) for r in stores(n)}
            changes |= {n.name: place for n in walk((statement,)) if isinstance(n, Local) and n.changes}
        inner = [n for node in block for body in node.blocks for n in walk(body)]
        changes |= {n.name: inf for n in inner if isinstance(n, Local)}  # not seen from here
        sites = [
            (0 if root is root_of(node) else place, root)
            for place, node in enumerate(block, 1)
            if not isinstance(node, Loop)
            for root, _ in _sites((node,))
        ]
        self._open = unconditional(*(root for place, root in sites if place == 0))
        roots: dict[int, list[Expr]] = {}
        met: set[Expr] = set()
        for place, root in sites:
            roots.setdefault(place, []).append(root)
            self._uses[root.key] = self._uses.get(root.key, 0) + 1
        nodes = postorder(*(root for here in roots.values() for root in here))
        for node in nodes:
            if node.key not in met:
                met.add(node.key)
                for a in node.args:
                    self._uses[a.key] = self._uses.get(a.key, 0) + 1
        for node in nodes:
            length = self._lengths[node] = length_of(node, self._lengths)
            if length <= LONG and self._plain.issuperset(node.args):
                if not isinstance(node, Apply) or self._uses.get(node.key, 0) < 2:
                    self._plain.add(node)
        if any(r.name in changes for here in roots.values() for root in here for r in refs(root)):
            for node in nodes:
                own = changes.get(node.name, 0) if isinstance(node, Ref) else 0
                self._changed[node] = max([own, *map(self._changed.__getitem__, node.args)])
        for place, here in roots.items() if roots.keys() != {0} else ():
            stack = list(here)
            while stack:
                node = stack.pop()
                places = self._places.setdefault(node.key, set())
                if not (0 in places or place in places or place and len(places) > 1):  # else so is what is below
                    places.add(place)
                    stack += node.args

    def new(self) -> list[Local]:
        """The names given since this was last asked."""
        fresh, self._new = self._new, []
        return fresh

    def known_as(self, value: Expr, name: str) -> Expr:
        """`value`, which is about to get that name anyway."""
        written = self.of(value, named=True)
        if isinstance(value, Apply) and self._changed.get(value, 0) < self.place:
            own = self._names.setdefault(value.key, ref(name))
            self.written[value] = own
            self._lengths[own] = length_of(own, self._lengths)
        return written

    def of(self, root: Expr, inside: bool = False, named: bool = False) -> Expr:
        """`root` as it is written here.

        inside  it stands in a block inside this one: only what other places need too gets a name here
        named   it has a name of its own
        """
        stack = [root]
        while stack:
            node = stack[-1]
            if node in self.written:
                stack.pop()
                continue
            if node in self._plain:
                self.written[stack.pop()] = node
                continue
            if node.key in self._names:
                self.written[node] = self._names[node.key]
                continue
            if (begin := _begin(node)) is not None:
                self._begins.add(begin)
            waiting = [a for a in node.args if a not in self.written]
            if waiting:
                stack.extend(reversed(waiting))
                continue
            stack.pop()
            new = renewed(node, self.written)
            length = self._lengths[new] = length_of(new, self._lengths)
            if isinstance(node, Apply) and node in self._begins and not self._twice(node, new, length):
                self.written[node] = new  # what is added comes, too
                continue
            if not inside and length > 2 * LONG and _begin(node) is not None:
                new = self._cut(node, length)
            if isinstance(node, Apply) and not (named and node is root):
                long = length > LONG and node is not root and not inside
                if (long or self._twice(node, new, length)) and self._allowed(node, inside):
                    new = self._named(node, new)
            self.written[node] = new
        return self.written[root]

    def _named(self, node: Expr, new: Expr) -> Expr:
        """A name for `node`, which is written `new`."""
        local = self._share._local(new)
        self._new.append(local)
        name = self._names[node.key] = ref(local.name)
        self._lengths[name] = length_of(name, self._lengths)
        self._passing |= self._changed.get(node) == self.place
        return name

    def forget(self) -> None:
        """Drop the names of what the statement has changed."""
        if self._passing:
            gone = [n for n in self.written if self._changed.get(n) == self.place]
            for node in gone:
                del self.written[node]
                self._names.pop(node.key, None)
            self._passing = False

    def _cut(self, node: Expr, length: int) -> Expr:
        """A long sum with names for what it begins with, none of them for less than what is left."""
        begins: list[tuple[Expr, int]] = []  # with the characters of what follows
        begin = _begin(node)
        while begin is not None and begin.key not in self._names and begin not in self._plain:
            begins.append((begin, length - self._lengths[self.written[begin]]))
            begin = _begin(begin)
        for begin, left in reversed(begins):
            new = renewed(begin, self.written)
            own = self._lengths[new] = length_of(new, self._lengths)
            long = min(own, left) > LONG and self._allowed(begin, False)
            self.written[begin] = self._named(begin, new) if long else new
        return renewed(node, self.written)

    def _twice(self, node: Apply, new: Expr, length: int) -> bool:
        """Whether `node` is needed here more than once, and worth a name."""
        if self._uses.get(node.key, 0) < 2:
            return False
        places = self._places.get(node.key)
        if places is not None and 0 not in places and len(places) < 2:
            return False
        if isinstance(new, Const) or node.op == "neg" and (isinstance(new.args[0], Ref) or not new.args[0].args):
            return False
        return _is_costly(node) or any(isinstance(a, Apply) for a in new.args) or length > WORTH

    def _allowed(self, node: Expr, inside: bool) -> bool:
        """What the statement itself changes may be read before it."""
        settled = self._share._dtype(node) is Dtype.REAL and self._changed.get(node, 0) < self.place + (not inside)
        return settled and (node in self._open or self._share._safe(node, self._reach))


def _begin(node: Expr) -> Expr | None:
    """The sum that one of more terms begins with."""
    return node.args[0] if _is_sum(node) and _is_sum(node.args[0]) else None


def _is_sum(node: Expr) -> bool:
    return isinstance(node, Apply) and node.op in ("add", "sub")


def _is_narrow(loop: Loop) -> bool:
    """Whether a condition has become the range of the loop: then it may have no turn at all."""
    return loop.lower is not ZERO or bool(indices(loop.extent))


def _is_costly(node: Expr) -> bool:
    return isinstance(node, Apply) and OPS[node.op].cost > 1 and not all(isinstance(a, Const) for a in node.args)


def _sites(block: Block, protected: bool = False) -> list[tuple[Expr, bool]]:
    """The values that `block` evaluates outside of the loops in it, and whether a condition protects them."""
    found: list[tuple[Expr, bool]] = []
    for node in block:
        if (root := root_of(node)) is not None:
            found.append((root, protected))
        if isinstance(node, (If, Guard)):
            found += _sites((*node.body, *node.otherwise), True)
    return found


def _with_roots(block: Block, written: Mapping[Expr, Expr]) -> Block:
    """`block` with its values replaced, those of the loops in it left alone."""
    done: list[Node] = []
    for node in block:
        if (root := root_of(node)) is not None:
            node = with_root(node, written.get(root, root))
        if isinstance(node, (If, Guard)):
            node = with_inner(node, partial(_with_roots, written=written))
        done.append(node)
    return tuple(done)
