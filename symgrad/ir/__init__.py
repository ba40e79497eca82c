"""The data of every stage, and how it is written as mathematics."""

from .binding import bind, extent_of, shape_of
from .data import (
    Derivation,
    Derivative,
    Function,
    Rewrite,
    applied,
    as_declared,
    domain_of,
    names_of,
    noted,
    recorded,
    recording,
    rewritten,
    with_names,
    with_outputs,
)
from .demand import has_domain, in_place, may_be_steep, may_fail, needed_at_times, on_demand, slopes_needed
from .digest import digest_of
from .divided import Divided
from .equations import (
    NEUTRAL,
    REDUCTIONS,
    Box,
    Dim,
    Dropped,
    Dtype,
    Equation,
    Option,
    Role,
    Tensor,
    When,
    distinct,
    dtype_of,
    dtype_of_part,
    packs_first,
    spans,
)
from .interval import REALS, Interval
from .latex import aligned, latex_equations, latex_of
from .order import (
    Cycle,
    Group,
    Item,
    Recurrence,
    alive,
    below,
    by_target,
    components,
    equations_of,
    ordered,
    reached,
    recurrent,
    scheduled,
)
from .presence import where_read
from .reach import (
    covers,
    disjoint,
    disjoint_writes,
    inside,
    range_of,
    reads_inside,
    unconstrained_indices,
    writes_once,
)
from .reads import (
    Conditions,
    asked_before,
    evaluated,
    evaluated_in,
    negation,
    parts_of,
    read_under,
    reads_of,
    unconditional,
)
from .signs import Signs
from .text import accumulating, show_element, show_equation, show_equations, show_matrix, show_shape
from .unknowns import is_scalar, moved_by, single, unknowns
