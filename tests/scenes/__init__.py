"""Scenes that tests, benchmarks and the demo share: small pure functions that return a `topple.Scene`.

Every builder states its numbers and where they come from. Names of bodies are fixed and zero-padded,
so that sorting them gives the order in which they stand. SI units, z up, g = 9.81 m/s^2.
"""

from .friction import block_on_ramp, driven_box, pool_ball, sliding_block
from .heaps import (
    crushed_cubes,
    cube_grid,
    dice,
    funnel,
    mixed_masses,
    rocks_in_box,
    silo,
    stirred_cubes,
    wide_heap,
)
from .impact import bouncing_ball, bouncing_balls, head_on_spheres, oblique_sphere
from .motion import boxes_on_springs, free_fall, spinning_body
from .papers import (
    balls_in_line,
    billiard_balls,
    block_with_thruster,
    brick_overhang,
    contacts_of_all_kinds,
    dominoes,
    heavy_onto_light,
    overbalanced_stack,
    painleve_rod,
    table,
)
from .spinning import euler_disk, tippe_top
from .stacks import (
    arch,
    brick_wall,
    card_house,
    heavy_on_light,
    in_plane,
    overlapping_cubes,
    pyramid,
    stack,
)

__all__ = [
    "arch",
    "balls_in_line",
    "billiard_balls",
    "block_on_ramp",
    "block_with_thruster",
    "bouncing_ball",
    "bouncing_balls",
    "boxes_on_springs",
    "brick_overhang",
    "brick_wall",
    "card_house",
    "contacts_of_all_kinds",
    "crushed_cubes",
    "cube_grid",
    "dice",
    "dominoes",
    "driven_box",
    "euler_disk",
    "free_fall",
    "funnel",
    "head_on_spheres",
    "heavy_on_light",
    "heavy_onto_light",
    "in_plane",
    "mixed_masses",
    "oblique_sphere",
    "overbalanced_stack",
    "overlapping_cubes",
    "painleve_rod",
    "pool_ball",
    "pyramid",
    "rocks_in_box",
    "silo",
    "sliding_block",
    "spinning_body",
    "stack",
    "stirred_cubes",
    "table",
    "tippe_top",
    "wide_heap",
]
