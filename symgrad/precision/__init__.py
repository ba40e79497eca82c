"""Formula -> the form of it that loses fewest bits in floating point: one search, by identities that are data.

    terms        formulas in a normal form, in which what cancels is gone
    rules        the identities, and where they are met
    denominator  what FLINT finds over a common denominator: where the search begins
    orders       the order of terms and factors: where it ends
    measure      points, the truth in balls, and what doubles make of a form
    cases        two forms as one, each where it is better
    search       the forms of a formula, and the best of them
"""

from .cases import joined as joined
from .measure import Given as Given
from .measure import has_values as has_values
from .search import better as better
from .search import fewest as fewest
from .search import operations as operations
from .search import saves as saves
