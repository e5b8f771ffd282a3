"""Tolerances and constants that a user can feel, each with unit, default and reason.

Constants that belong to one algorithm alone stand beside it.
"""

# Penetration left to bodies, relative to the smallest body's radius: with the solver's absolute
# tolerance alone a 1 cm die would be allowed to sink in by a hundredth of its size.
RELATIVE_TOLERANCE = 1e-3

# Speed [m/s] at which bodies that overlap at the start are pushed apart. Below 1 m/s so that nothing
# flies; above it an artist waits: 30 % of a 2 m cube parts within a second or so.
OVERLAP_SPEED = 0.5
