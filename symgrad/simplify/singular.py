"""Removable singularities: sin(t)/t becomes an operator that is 1 at t = 0, and so in every derivative.

A quotient, or a sum of terms with poles, is such a function of a part u of it if everything else that it reads does not
depend on inputs. u is what stands below the line: t, w*t, sqrt(s), x - 1. What depends on the root of s in an even way
is a smooth function of s itself, and becomes one of s: cos(sqrt(s)) has a slope at 0 then. The point need not be one at
which u is 0: log(x)/(x - 1), acos(w)/sqrt(1 - w**2).

Where u cannot be 0, as everything that is computed of it divides by u itself even once all is filled, only what loses
digits near 0 is.

A sum that cancels at such a point without a quotient, exp(x) - 1 - x, has a value there, but loses its digits near it;
as a whole, it becomes one of u in the same way, or a form that does not cancel.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence, Set
from fractions import Fraction
from functools import cache
from itertools import chain

from ..expr import (
    ONE,
    ZERO,
    Apply,
    Const,
    Expr,
    Ref,
    apply,
    base_of,
    const,
    factors,
    folded,
    fraction,
    is_exact,
    is_short,
    operator,
    outermost,
    postorder,
    ref,
    refs,
    signed_total,
    substitute,
    terms_of,
    transform,
    value_of,
    without_number,
    without_sign,
)
from ..expr.names import Names
from ..ir import Divided, Equation, Function, Role, Signs, Tensor, names_of, range_of, reached
from ..numerics.removable import cancels, cancels_at, filled, has_series, is_plain, is_removable, loses, removable_at
from ..numerics.taylor import ORIGIN, ROOT, Place, X, coefficients, limit
from ..ops import OPS
from ..ops.row import unguarded
from ..precision import better, joined
from ..precision.terms import expanded, expression, factored, multiply, quotient, term_of, tidied
from ..records import replace
from .fractions import (
    Sides,
    as_multiple,
    calls,
    distributed,
    divisors,
    function_of,
    gather,
    gathered,
    has_pole,
    powers,
    repeated,
)
from .match import match
from .table import DIFFERENCES, VARIABLES, U, V, W

Group = list[tuple[Expr, tuple[Expr, int]]]  # terms, each as a formula of X and as it stands there
MINUS_ONE = const(-1)
CHOICES = 6  # parts of one formula that are tried as its variable
LARGE = 60  # operations; longer formulas are left alone


def with_filled(function: Function, only: Collection[str] = (), sharing: Collection[str] = ()) -> Function:
    """The function with the removable singularities of its equations filled.

    only     in the equations of these tensors; all of them, if none is named
    sharing  tensors that have parts in common with others, whose sums stay as they are
    """
    asked: dict[Expr, None] = {}

    def noted(u: Expr) -> bool:
        asked[u] = None
        return False

    filled = _with_filled(function, only, sharing, noted)
    divided = Divided(filled)
    return _with_filled(function, only, sharing, divided) if any(map(divided, asked)) else filled


def _with_filled(
    function: Function, only: Collection[str], sharing: Collection[str], never: Callable[[Expr], bool]
) -> Function:
    """never  whether something is 0 nowhere"""
    numbers = {o.name for o in function.options} | {d.name for d in function.dims}
    own = {} if only else function.elementwise
    readers: dict[str, list[str]] = {name: [] for name in own}
    for e in own.values():
        for r in refs(e.body):
            readers.setdefault(r.name, []).append(e.target)
    calling = reached(readers, [name for name, e in own.items() if calls(e.body)])
    roots = {name: e for name, e in own.items() if isinstance(e.body, Apply) and e.body.op == "sqrt"}
    names = Names(names_of(function))
    squares: dict[str, Ref] = {}  # of the roots that are read as their squares

    def square(u: Expr) -> Expr | None:
        """s, where u is sqrt(s) with an s that depends on inputs; of a local root, an element of a local of its own."""
        e = roots.get(u.name) if isinstance(u, Ref) else None
        root = u if e is None else e.body
        if not (isinstance(root, Apply) and root.op == "sqrt" and any(r.name not in numbers for r in refs(root))):
            return None
        (inside,) = root.args
        if e is None or isinstance(inside, Ref):
            return inside if e is None else substitute(inside, dict(zip(e.subscripts, u.args, strict=True)))
        if e.target not in squares:
            squares[e.target] = ref(names.new(f"{e.target}_squared"), *e.subscripts)
        return ref(squares[e.target].name, *u.args)

    parts: dict[object, tuple[Tensor, Equation, Ref]] = {}  # what locals are over something, by what they compute
    before: dict[Equation, list[Equation]] = {}

    @cache
    def meaning(r: Ref) -> Expr | None:
        """What an element of a local is computed by."""
        e = own.get(r.name)
        if e is None or function.table[r.name].role != Role.LOCAL:
            return None
        return substitute(e.body, dict(zip(e.subscripts, r.args, strict=True)))

    def filled_in(e: Equation) -> Expr:
        def part(name: str, body: Expr) -> Expr:
            if e.matrix is not None or e.when or e.where is not None:
                return body
            same = range_of(body, dict(e.box))
            if same not in parts:
                parts[same] = e.part(names.new(name), body)
                before.setdefault(e, []).append(parts[same][1])
            return parts[same][2]

        return _Filling(numbers, square, never, meaning, part, calling)(e.body, e.target not in sharing)

    bodies = {e: e.body if only and e.target not in only else filled_in(e) for e in function.statements}
    filling = _Filling(numbers, square, never)
    if not only:  # what a sum of many loses is as much as its terms lose
        bodies = {e: body if body is not e.body or e.reduced else filling.sums(body) for e, body in bodies.items()}
    if all(body is e.body for e, body in bodies.items()):
        return function
    tensors = [*function.tensors, *(tensor for tensor, _, _ in parts.values())]
    statements: list[Equation] = []
    for e in function.statements:
        statements += before.get(e, ())
        if e.target in squares:
            inside = squares[e.target]
            tensors.append(replace(function.table[e.target], name=inside.name, role=Role.LOCAL, named=False))
            statements.append(replace(e, target=inside.name, body=e.body.args[0]))
            statements.append(replace(e, body=apply("sqrt", inside)))
        else:
            statements.append(e.with_body(bodies[e]))
    return replace(function, tensors=tuple(tensors), statements=tuple(statements))


def filled_sums(body: Expr, numbers: Collection[str]) -> Expr | None:
    """`body` with the sums in it that cancel filled; None if there are none.

    numbers  the names of sizes and options
    """
    found = _Filling(numbers).sums(body)
    return None if found is body else found


def filled_quotients(function: Function, form: Expr, numbers: Collection[str], written: Expr) -> Expr:
    """A form of what is `written` in a function with the quotients in it filled that are 0/0 at a point, `numbers` as
    in `filled_sums`: where(x > y, exp(x)*f(y - x), exp(y)*f(x - y)), which nobody wrote, is then
    exp(maximum(x, y))*f(-abs(x - y))."""
    signs = Signs(function)
    filling = _Filling(numbers, never=lambda u: signs.decided("ne", u, ZERO) is True)
    found = form if not is_short(form, LARGE) else outermost(form, filling.quotient)
    if found is form or form is written:
        return found
    own = {n.args[0] for n in postorder(written) if operator(n) == "select"}  # at a tie it has its own slopes

    def as_one(node: Expr) -> Expr:
        if operator(node) in ("mul", "div"):
            return _with_one_sign(node)
        asked = isinstance(node, Apply) and node.op == "select" and node.args[0] not in own
        return joined(*node.args) if asked else node

    return transform(found, as_one)


def _may_divide(node: Expr) -> bool:
    """Whether a quotient or a negative power stands at `node`."""
    exponent = base_of(node)[1]
    return operator(node) == "div" or (isinstance(exponent, Const) and exponent.value < 0)


class _Filling:
    """Fills the removable singularities of one body, from the outside inwards.

    numbers  the names of sizes and options: what depends on them alone is no function of an input
    square   s, where what it is given is sqrt(s)
    never    whether what it is given is 0 nowhere
    meaning  what an element of a local is computed by
    part     a local of its own, by a name and what computes it
    calling  the names of the locals that functions are called for
    """

    def __init__(
        self,
        numbers: Collection[str],
        square: Callable[[Expr], Expr | None] = lambda u: None,
        never: Callable[[Expr], bool] = lambda u: False,
        meaning: Callable[[Ref], Expr | None] = lambda r: None,
        part: Callable[[str, Expr], Expr] = lambda name, body: body,
        calling: Set[str] = frozenset(),
    ) -> None:
        self.numbers, self.square, self.never, self.meaning, self.part = numbers, square, never, meaning, part
        self.calling = calling
        self.further: dict[tuple[Expr, Expr | None], Expr] = {}
        self.constant: dict[Expr, bool] = {}

    def __call__(self, root: Expr, sums: bool = True) -> Expr:
        if not is_short(root, LARGE):
            return root
        divides = any(map(_may_divide, postorder(root)))
        rooted = any(self.square(n) is not None for n in postorder(root))
        return self._singular(root, sums) if divides or rooted else root

    def sums(self, root: Expr) -> Expr:
        """`root` with the sums in it that cancel filled, each as a whole."""
        if not is_short(root, LARGE) or not calls(root):
            return root
        sums = [n for n in postorder(root) if operator(n) in ("add", "sub", "neg")]
        inner = {a for n in sums for a in n.args if a in sums}  # parts of a longer sum
        return outermost(root, lambda n: None if n in inner else self._cancelling(n))

    def _cancelling(self, node: Expr) -> Expr | None:
        """A sum that cancels, as a whole: exp(x) - 1 - x."""
        for u, body, place in self._cancelled(node):
            if place == ORIGIN:
                found = self._closed(body, u)
            else:
                found = apply(filled(body, place=place), u) if has_series(body, place) else None
            if found is not None:
                return found
        return self._multiple(node)

    def _multiple(self, node: Expr) -> Expr | None:
        """A sum that cancels and is a multiple of a function of its number: t - (1 - exp(-k*t))/k is t times
        1 - (1 - exp(-x))/x, of x = k*t."""
        terms = terms_of(node) if operator(node) in ("add", "sub") else []
        plain = [term_of(t) for t, _ in terms if not calls(t) and not self._is_number(t)]
        for u in self._arguments(terms) if plain and len(plain) < len(terms) else ():
            factor, bodies = plain[0], list[tuple[Expr, int]]()
            for t, sign in terms:
                body = function_of(u, gathered(u, expression(quotient(term_of(t), factor))))
                bodies += [] if body is None else [(body, sign)]
            if len(bodies) < len(terms):
                continue
            poles = [(b, sign) for b, sign in bodies if has_pole(b)]
            body, parts = signed_total(bodies), (signed_total(poles), *(b for b, _ in bodies if not has_pole(b)))
            if cancels_at(body, parts) != ORIGIN:
                continue
            while any(f in factors(u)[0] for f in powers(expression(factor))[1]) and is_removable(body / X):
                factor, body = multiply(factor, term_of(u)), body / X  # t/k of what is 0 with k*t is t**2 of the rest
            found = self._closed(expression(tidied(expanded(term_of(body)))), u)
            if found is not None:
                return expression(factor) * found
        return None

    def _over_function(self, node: Apply, above: Sequence[Expr], below: Sequence[Expr]) -> Expr | None:
        """A sum that cancels by a function of the same number, as a whole: both may leave the range of numbers, and
        their quotient not, as (exp(x) - 1 - x)/(exp(x) + 1)."""
        for f in above if node.op == "div" and any(map(calls, below)) else ():
            for u, _, place in self._cancelled(f):
                whole = function_of(u, node)
                if whole is not None and place == ORIGIN and coefficients(whole) is not None:
                    return self._of(whole, u)
        return None

    def _cancelled(self, node: Expr) -> Iterator[tuple[Expr, Expr, Place]]:
        """What a sum is a function of, as which, and where it cancels."""
        terms = terms_of(node) if operator(node) in ("add", "sub") else []
        if len(terms) < 2 or not any(calls(t) for t, _ in terms):
            return
        for u in self._arguments(terms):
            parts = [(b, sign) for t, sign in terms if (b := function_of(u, gathered(u, t))) is not None]
            if len(parts) == len(terms):
                body = signed_total(parts)
                place = cancels_at(body, tuple(b for b, _ in parts))
                if place is not None:
                    yield u, body, place

    def _singular(self, root: Expr, sums: bool) -> Expr:
        ways = [self._logarithm, self._root, self._guarded, *([self._cancelling] if sums else [])]
        of_quotients = [self._product, self._over, self._of_product, self._of_difference]
        of_quotients += [self._over_function] if sums else []

        def whole(node: Expr) -> Expr | None:
            assert isinstance(node, Apply)
            above, below = powers(node)
            if not below:
                tried = (way(node) for way in ways if self._calls(node))
            else:
                mine = of_quotients if self._calls(node) else [self._over]
                tried = (way(node, above, below) for way in mine)
            return next((f for f in tried if f is not None), None)

        def rebuilt(node: Expr) -> Expr:
            return node if not calls(node) or (found := self._sum(node)) is None else found

        return outermost(root, whole, rebuilt)

    def _calls(self, node: Expr) -> bool:
        """Whether functions are called for it: arithmetic and roots alone are nowhere smooth and 0/0."""
        return calls(node) or not self.calling.isdisjoint(r.name for r in refs(node))

    def _variables(self, below: Sequence[Expr]) -> Iterator[Expr]:
        """What a formula with these denominators might be a function of, the smallest first."""
        seen: set[Expr] = set()
        computed = (m for d in below for r in refs(d) if (m := self.meaning(r)) is not None)
        for d in chain(below, computed):
            for node in postorder(unguarded(d)):
                variable = isinstance(node, Ref) or operator(node) in ("mul", "sqrt", "sub", "add", "div")
                if variable and node not in seen and not self._is_number(node):
                    seen.add(node)
                    yield node
                    if len(seen) == CHOICES:
                        return

    def _arguments(self, terms: Sequence[tuple[Expr, int]]) -> Iterator[Expr]:
        """What a sum that calls a function might be one of: its one input, or what the function is called with."""
        found: dict[Expr, None] = {}
        for t, _ in terms:
            for node in postorder(t):
                if (
                    isinstance(node, Apply)
                    and len(node.args) == 1
                    and OPS[node.op].smooth
                    and node.op not in ("neg", "sqrt")
                    and not self._is_number(node)
                ):
                    found[node.args[0]] = None
        inputs = {r for t, _ in terms for r in refs(t) if r.name not in self.numbers}
        some = [*inputs][:1] if len(inputs) == 1 else [*found][:CHOICES]
        yield from dict.fromkeys(u for argument in some for u in (argument, without_sign(argument)[0]))

    def quotient(self, node: Expr) -> Expr | None:
        if not isinstance(node, Apply) or not calls(node):
            return None
        sides = powers(node)
        found = self._product(node, *sides)
        return self._of_product(node, *sides) if found is None else found

    def _of_product(self, node: Apply, above: Sequence[Expr], below: Sequence[Expr]) -> Expr | None:
        """A quotient by factors of what a function above the line is called with: sin(w*t)/w is t*(sin(w*t)/(w*t))."""
        if all(map(self._is_number, below)):
            return None
        called = (n for f in above for n in postorder(f) if isinstance(n, Apply) and OPS[n.op].smooth)
        signed = dict.fromkeys(a for n in called for a in n.args if operator(without_sign(a)[0]) == "mul")
        for u in [*signed][:CHOICES]:
            product, negative = without_sign(u)
            upon, divided = factors(product)
            parts, under = Counter(upon), Counter(b for f in below for b in repeated(f))
            k = max(-(-under[f] // count) for f, count in parts.items())
            whole = Counter({f: k * count for f, count in parts.items()})
            bodies = [(f, function_of(u, f)) for f in above]
            upper = [b for _, b in bodies if b is not None and X in postorder(b)]
            if all(map(self._is_number, whole & under)) or not upper or not is_removable(fraction(upper, [X] * k)):
                continue
            rest = [f for f, b in bodies if b is None or X not in postorder(b)]
            missing, left = (whole - under).elements(), (under - whole).elements()
            rest = _multiplied([*rest, *missing])
            sides = [*rest, self._of(fraction(upper, [X] * k), u)], [*left, *divided * k]
            if all(any(map(is_exact, side)) for side in sides):  # 2*(x**(a/2) - 1)/a
                number, *others = without_number(*sides)
                sides = [const(number), *others[0]], others[1]
            found = fraction(*sides)
            return -found if negative and k % 2 else found
        return None

    def _of_difference(self, node: Apply, above: Sequence[Expr], below: Sequence[Expr]) -> Expr | None:
        """(sin(a) - sin(b))/(a - b) as cos((a + b)/2) times a filled function of a - b."""
        for f in above if not all(map(self._is_number, below)) else ():
            for row in DIFFERENCES if operator(f) == "sub" else ():
                found = match(row.before, f, VARIABLES)
                if found is None:
                    continue
                apart = expression(factored(term_of(found[U] - found[V])))
                rest = [g for g in above if g is not f]
                upper, lower = factors(substitute(row.after, {**found, W: apart}))
                whole = self.quotient(fraction([*rest, *upper], [*lower, *below]))
                if whole is not None:
                    return whole
        return None

    def _is_number(self, node: Expr) -> bool:
        """Whether it is the same whatever the inputs are."""
        return folded(node, self.constant, self._is_constant)

    def _is_constant(self, node: Expr) -> bool:
        own = not isinstance(node, Ref) or node.name in self.numbers
        return own and all(self.constant[a] for a in node.args)

    def _product(self, node: Apply, above: Sequence[Expr], below: Sequence[Expr]) -> Expr | None:
        """A quotient as a filled function times what does not depend on its variable."""
        ways: list[tuple[Expr, Expr, list[Expr], list[Expr]]] = []
        for u in self._variables([*below, *divisors(node)]) if below else ():
            under = [*below]
            gather(under, u)
            mine = [(f, self._function(u, f)) for f in above], [(f, self._function(u, f)) for f in under]
            upper, lower = ([b for _, b in side if b is not None and X in postorder(b)] for side in mine)
            if upper and lower:
                rest_above, rest_below = ([f for f, b in side if b is None or X not in postorder(b)] for side in mine)
                ways.append((u, fraction(upper, lower), rest_above, rest_below))
        for at in (self._of_steep, self._at_origin, self._elsewhere):
            for u, body, rest_above, rest_below in ways:
                whole = at(body, u)
                if whole is not None:
                    return fraction([*rest_above, whole], rest_below)
        return None

    def _logarithm(self, node: Apply) -> Expr | None:
        """log(sinh(x)/x), as a whole: the logarithm of what is near 1 loses the digits in which it differs from 1."""
        if node.op != "log":
            return None
        for u in self._variables(powers(node.args[0])[1]):
            body = function_of(u, node.args[0])
            if body is not None and is_removable(body) and limit(body) is ONE:
                return self._of(apply("log", body), u)
        return None

    def _of_steep(self, body: Expr, u: Expr) -> Expr | None:
        """One of v, where u is acos(v), which has no slope where it is 0, and a function of it may have one."""
        inner = self.meaning(u) if isinstance(u, Ref) else u
        if not isinstance(inner, Apply) or len(inner.args) != 1 or not is_removable(body):
            return None
        composed = substitute(body, {X: apply(inner.op, X)})
        place = removable_at(composed)
        if place is None or coefficients(place.local(apply(inner.op, X))) is not None:
            return None
        return apply(filled(composed, place=place), inner.args[0])

    def _over(self, node: Apply, above: Sequence[Expr], below: Sequence[Expr]) -> Expr | None:
        """(sin(t) + k*t**3)/t, and s/t where s is a local that is computed so: each term is a filled function."""
        for u in self._variables(below):
            rest = [b for f in below for b in repeated(f)]
            k = rest.count(u)
            found = self._divided(fraction(above, []), u, k) if k and not self.never(u) else None
            if found is not None:
                return fraction([found], [b for b in rest if b is not u])
        return None

    def _divided(self, node: Expr, u: Expr, k: int) -> Expr | None:
        """`node` by u**k, without dividing by u; None where it is not smooth at u = 0."""
        base, exponent = base_of(node)
        base, times = (base, value_of(exponent)) if is_exact(exponent) else (node, Fraction(1))
        if base is u:
            return u ** const(times - k) if times >= k else None
        if times > 1:
            inner = self._divided(base, u, k)
            return None if inner is None else inner * base ** const(times - 1)
        body = self._function(u, node)
        if body is not None:
            whole = fraction([body], [X] * k)
            return self._of(whole, u) if X in postorder(body) and is_removable(whole) else None
        if isinstance(node, Ref):
            means = self.meaning(node)
            inner = None if means is None else self._divided(means, u, k)
            return None if inner is None else self.part(f"{node.name}_over_{_word(u)}", inner)
        if operator(node) in ("add", "sub", "neg"):
            terms = terms_of(node)
            over = [(found, sign) for t, sign in terms if (found := self._divided(t, u, k)) is not None]
            return signed_total(over) if len(over) == len(terms) else None
        above, below = factors(node)
        if len(above) > 1 or below:
            for place, f in enumerate(above):
                inner = self._divided(f, u, k)
                if inner is not None:
                    return fraction([*above[:place], inner, *above[place + 1 :]], below)
        return None

    def _function(self, u: Expr, node: Expr) -> Expr | None:
        """`node` as a formula of X in place of u, of what locals are computed by, too."""
        found = function_of(u, node)
        if found is None:
            but = u if isinstance(u, Ref) and self.meaning(u) is not None else None
            while found is None and (further := self._written_out(node, but)) is not node:
                node = further
                found = function_of(u, node)
        return found

    def _written_out(self, node: Expr, but: Expr | None) -> Expr:
        """`node` with what the locals in it are computed by, but for one; itself where there is none, or it is long."""
        if (node, but) not in self.further:
            known: dict[Expr, Expr] = {r: m for r in refs(node) if r is not but and (m := self.meaning(r)) is not None}
            self.further[node, but] = substitute(node, known) if known and is_short(node, LARGE) else node
        return self.further[node, but]

    def _at_origin(self, body: Expr, u: Expr) -> Expr | None:
        if not is_removable(body) or self.never(u) and not loses(body, ORIGIN):
            return None
        return self._of(body, u)

    def _elsewhere(self, body: Expr, u: Expr) -> Expr | None:
        place = removable_at(body)
        return None if place is None else apply(filled(body, place=place), u)

    def _of(self, body: Expr, u: Expr) -> Expr:
        """The filled function of u; of s, where it is an even one of u = sqrt(s)."""
        square = self.square(u)
        inner = transform(substitute(body, {X: ROOT}), _without_root)
        if square is not None and coefficients(inner) is not None:
            return apply(filled(inner), square)
        return apply(filled(body), u)

    def _closed(self, body: Expr, u: Expr) -> Expr | None:
        """A sum in a form that does not cancel, and else filled in the form that loses least, where it has series."""
        found = better(body)
        if found is None or any(operator(n) == "select" for n in postorder(found)):
            found = body
        elif is_plain(found):
            return substitute(found, {X: u})
        return self._of(found, u) if has_series(body) else None

    def _root(self, node: Apply) -> Expr | None:
        """cos(sqrt(s)) and the like as a function of s."""
        smooth = len(node.args) == 1 and OPS[node.op].smooth and node.op != "sqrt"
        square = self.square(node.args[0]) if smooth else None
        if square is None or self.never(node.args[0]):
            return None
        body = apply(node.op, ROOT)
        return apply(filled(body), square) if coefficients(body) is not None else None

    def _guarded(self, node: Apply) -> Expr | None:
        """where(u == 0, c, f(u)), with c the limit of f, is f without its gap."""
        if node.op != "select":
            return None
        condition, then, otherwise = node.args
        if not (isinstance(condition, Apply) and condition.op in ("eq", "ne") and condition.args[1] is ZERO):
            return None
        if condition.op == "ne":
            then, otherwise = otherwise, then
        body = function_of(condition.args[0], otherwise)
        if body is None or not is_removable(body):
            return None
        return self._of(body, condition.args[0]) if limit(body) is then else None

    def _sum(self, node: Expr) -> Expr | None:
        """1/tanh(x) - 1/x: the terms that have a pole in the same variable, together; x - sin(x): those that cancel."""
        if operator(node) not in ("add", "sub"):
            return None
        terms = terms_of(node)
        for u in self._arguments(terms):
            parts = [(b, sign) for t, sign in terms if (b := function_of(u, gathered(u, t))) is not None]
            if len(parts) == len(terms):
                body = signed_total(parts)
                if cancels(body, tuple(b for b, _ in parts)) and (closed := self._closed(body, u)) is not None:
                    return closed
        terms = [part for t, sign in terms for part in distributed(t, sign)]
        groups = self._with_poles(terms)

        def joined(factor: Expr, quotient: Expr, poles: Group) -> Expr:
            others = signed_total([o for o in terms if all(o != t for _, t in poles)])
            further = self._sum(others)
            return factor * quotient + (others if further is None else further)

        for u, factor, group in groups:
            poles = [(b, t) for b, t in group if has_pole(b)]
            if len(poles) > 1 and is_removable(_added(poles)):
                return joined(factor, self._of(_added(poles), u), poles)
        for u, factor, group in groups:
            place = removable_at(_added(group))
            if place is not None:
                poles = [(b, t) for b, t in group if has_pole(place.local(b))]
                return joined(factor, apply(filled(_added(poles), place=place), u), poles)
        return None

    def _with_poles(self, terms: Sequence[tuple[Expr, int]]) -> list[tuple[Expr, Expr, Group]]:
        """By a variable, and what they are multiples of, the terms of a sum that are divided by functions of it."""
        divided = [(term, sides) for term in terms if (sides := powers(term[0]))[1]]
        found: list[tuple[Expr, Expr, Group]] = []
        if len(divided) < 2 or not any(calls(t) for (t, _), _ in divided):
            return found  # arithmetic alone is nowhere smooth and 0/0
        for u in self._variables([d for _, (_, below) in divided for d in below]):
            alike: dict[Sides, list[tuple[Sides, tuple[Expr, int]]]] = {}
            for term, (above, below) in divided:
                multiple = as_multiple(u, above, below)
                if multiple is not None:
                    alike.setdefault(multiple[0], []).append((multiple[1], term))
            for factor, mine in alike.items():
                if len(mine) > 1:
                    found.append((u, fraction(*factor), [(fraction(*body), term) for body, term in mine]))
        return found


def _added(group: Group) -> Expr:
    return signed_total([(body, sign) for body, (_, sign) in group])


def _with_one_sign(node: Expr) -> Expr:
    """A product without factors -1: their sign is in front of it."""
    sides = factors(node)
    others = [[f for f in side if f is not MINUS_ONE] for side in sides]
    signs = sum(map(len, sides)) - sum(map(len, others))
    first, negative = without_sign(others[0][0]) if others[0] else (ONE, False)
    if not signs:
        return node
    found = fraction([first, *others[0][1:]], others[1])
    return -found if (signs + negative) % 2 else found


def _multiplied(some: Sequence[Expr]) -> list[Expr]:
    """Factors; two that are the same root as what is under it."""
    roots = Counter(f for f in some if operator(f) == "sqrt")
    return [*some] if max(roots.values(), default=0) < 2 else [expression(multiply(*map(term_of, some)))]


def _word(u: Expr) -> str:
    return u.name if isinstance(u, Ref) else "it"


def _without_root(node: Expr) -> Expr:
    return X if node is ROOT**2 else node
