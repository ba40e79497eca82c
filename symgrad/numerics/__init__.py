"""Functions of one number near a point where they are 0/0, or cancel.

digits.py     the value of a formula with many digits
overflow.py   forms of which no part leaves the range
taylor.py     series near a point
removable.py  0/0 at a point, filled by its limit
"""
