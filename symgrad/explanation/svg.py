"""The pictures of an explanation as SVG that takes its colours from the page, and is scaled by it."""

from __future__ import annotations

import math
from html import escape
from itertools import groupby
from statistics import fmean

from .document import Figure, Graph, Pattern, Plot

NODE, GAP, LAYER, LETTER = 30, 26, 74, 8.2  # of a graph: height of a box, between boxes, between layers, of a letter
ARROW = 9  # from one arrow to the next
CELL, HEAD = 14, 20  # of a pattern: a cell, and the names above it
WIDE, HIGH, LEFT, RIGHT, TOP = 460, 250, 40, 24, 12  # of a plot
LEGEND = 160  # from one name of a curve to the next
DECADES = 8.5  # from the smallest power of ten to 0
FULL = 64  # bits


def svg(figure: Figure, name: str) -> str:
    """The picture; `name` is for the ids of its title and description."""
    match figure.picture:
        case Pattern() as picture:
            size, body = _pattern(picture)
        case Graph() as picture:
            size, body = _graph(picture, name)
        case Plot() as picture:
            size, body = _plot(picture)
    width, height = size
    said = f'<title id="{name}-title">{escape(figure.title)}</title><desc id="{name}-desc">{escape(figure.said)}</desc>'
    return (
        f'<svg role="img" aria-labelledby="{name}-title {name}-desc" viewBox="0 0 {width:g} {height:g}" '
        f'width="{width:g}">{said}{body}</svg>'
    )


Drawn = tuple[tuple[float, float], str]


def _pattern(picture: Pattern) -> Drawn:
    """A cell for each entry, the columns of one input beside each other under its name."""
    places, heads, x = list[float](), list[str](), 0.0
    for name, group in groupby(picture.columns, key=lambda column: column.partition("[")[0]):
        width = CELL * len([*group])
        heads.append(f'<text x="{x + 1:g}" y="{HEAD - 6}">{escape(name)}</text>')
        places += [x + CELL * k for k in range(width // CELL)]
        x += max(width, LETTER * len(name)) + CELL
    cells = [
        f'<rect x="{places[c] + 1:g}" y="{HEAD + r * CELL + 1}" width="{CELL - 2}" height="{CELL - 2}" '
        f'class="{"full" if full else "none"}"><title>d {escape(picture.rows[r])} / d {escape(picture.columns[c])}'
        f"{'' if full else ' = 0'}</title></rect>"
        for r, row in enumerate(picture.filled)
        for c, full in enumerate(row)
    ]
    return (x, HEAD + len(picture.rows) * CELL), "".join([*heads, *cells])


def _graph(picture: Graph, name: str) -> Drawn:
    """Layers from the top to the bottom, each in the order of what it reads."""
    reads: dict[str, list[str]] = {}
    for source, target in picture.edges:
        reads.setdefault(target, []).append(source)
    order: dict[str, float] = {}
    layers: list[tuple[str, ...]] = []
    for layer in picture.layers:
        means = {n: [order[r] for r in reads.get(n, ()) if r in order] for n in layer}
        layer = tuple(sorted(layer, key=lambda n, means=means: fmean(means[n] or [0.0])))  # type: ignore[misc]
        order |= {n: (k + 0.5) / len(layer) for k, n in enumerate(layer)}
        layers.append(layer)
    level = {n: k for k, layer in enumerate(layers) for n in layer}
    widths = {n: len(n) * LETTER + 20 for layer in layers for n in layer}
    spans = [sum(widths[n] for n in layer) + GAP * (len(layer) - 1) for layer in layers]
    wide = max(spans) + 80
    places: dict[str, tuple[float, float]] = {}
    for depth, (layer, span) in enumerate(zip(layers, spans, strict=True)):
        x = (wide - span) / 2
        for n in layer:
            places[n] = (x + widths[n] / 2, depth * LAYER + NODE / 2 + 2)
            x += widths[n] + GAP
    arrow = (
        f'<defs><marker id="{name}-arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" '
        f'orient="auto-start-reverse"><path d="M0 0 8 4 0 8z" class="tip"/></marker></defs>'
    )
    lines = []
    arrivals = {n: sorted(some, key=lambda r: places[r]) for n, some in reads.items()}
    for source, target in picture.edges:
        passed = spans[min(level[source], level[target]) + 1 : max(level[source], level[target])]
        x, y = places[target]
        end = x + ARROW * (arrivals[target].index(source) - (len(arrivals[target]) - 1) / 2), y
        lines.append(_edge(places[source], end, wide / 2, max(passed, default=0.0), name))
    boxes = [
        f'<g><rect x="{x - widths[n] / 2:.1f}" y="{y - NODE / 2:.1f}" width="{widths[n]:.1f}" height="{NODE}" rx="6" '
        f'class="node"/><text x="{x:.1f}" y="{y + 5:.1f}" text-anchor="middle">{escape(n)}</text></g>'
        for n, (x, y) in places.items()
    ]
    return (wide, (len(layers) - 1) * LAYER + NODE + 4), "".join([arrow, *lines, *boxes])


def _edge(start: tuple[float, float], end: tuple[float, float], center: float, passed: float, name: str) -> str:
    """A curve from one box to another, around layers of some width that it passes."""
    (x1, y1), (x2, y2) = start, end
    down = 1 if y2 > y1 else -1
    y1, y2, middle = y1 + down * NODE / 2, y2 - down * NODE / 2, (y1 + y2) / 2
    first, second = x1, x2
    if passed:
        side = 1 if x1 + x2 >= 2 * center else -1
        first = second = (center + side * (passed / 2 + 14) - (x1 + x2) / 8) / 0.75  # the curve is there in its middle
    path = f"M{x1:.1f} {y1:.1f}C{first:.1f} {middle:.1f} {second:.1f} {middle:.1f} {x2:.1f} {y2:.1f}"
    return f'<path d="{path}" class="edge" marker-end="url(#{name}-arrow)"/>'


def _plot(picture: Plot) -> Drawn:
    xs = [x for c in picture.curves for x, _ in c.points]
    low, high = min(map(_along, xs)), max(map(_along, xs))
    inner, height = WIDE - LEFT - RIGHT, HIGH - TOP - 40

    def at(x: float, y: float) -> tuple[float, float]:
        return LEFT + inner * (_along(x) - low) / ((high - low) or 1), TOP + height * (1 - y / FULL)

    parts = []
    for bits in (0, 16, 32, 48, 64):
        _, y = at(xs[0], bits)
        parts.append(f'<path d="M{LEFT} {y:.1f}H{WIDE - RIGHT}" class="grid"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{bits}</text>')
    for x in (-1e3, -1.0, -1e-4, 1e-4, 1.0, 1e3):
        if low <= _along(x) <= high:
            place, _ = at(x, 0)
            parts.append(f'<path d="M{place:.1f} {TOP}V{TOP + height}" class="grid"/>')
            label = f"{x:g}".replace("-", "\N{MINUS SIGN}", 1) if x < 0 else f"{x:g}"
            parts.append(f'<text x="{place:.1f}" y="{TOP + height + 18}" text-anchor="middle">{label}</text>')
    parts.append(f'<text x="{LEFT + inner / 2:.1f}" y="{HIGH - 4}" text-anchor="middle">{escape(picture.x)}</text>')
    for k, curve in enumerate(picture.curves):
        points = [at(x, y) for x, y in curve.points]
        path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
        parts.append(f'<path d="{path}" class="curve curve{k}"/>')
        place = LEFT + 14 + LEGEND * k
        parts.append(f'<path d="M{place} {TOP + 10}h28" class="curve curve{k}"/>')
        parts.append(f'<text x="{place + 34}" y="{TOP + 14}">{escape(curve.name)}</text>')
    return (WIDE, HIGH), "".join(parts)


def _along(x: float) -> float:
    """Where a number is on an axis that is logarithmic on both sides of 0."""
    return math.copysign(max(math.log10(abs(x)) + DECADES, 0.0), x) if x else 0.0
