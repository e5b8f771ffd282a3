"""The demo's shapes as Blender meshes: bricks, rocks, dice, and whatever a lathe can turn."""

from collections.abc import Sequence

import bmesh
import bpy
import numpy as np
from mathutils import Matrix, Vector, noise

Point = tuple[float, float, float]


def brick(name: str, size: Sequence[float], chamfer: float) -> bpy.types.Mesh:
    """A block whose chamfered edges have the second material: mortar, where bricks lie together."""
    shape = bmesh.new()
    bmesh.ops.create_cube(shape, size=1.0)
    bmesh.ops.scale(shape, vec=size, verts=shape.verts)
    _bevel(shape, chamfer, segments=1)
    for face in shape.faces:
        face.material_index = 0 if max(map(abs, face.normal)) > 0.999 else 1
    return _mesh(name, shape)


def rock(name: str, radius: float, seed: int) -> bpy.types.Mesh:
    """An icosphere pushed in and out by noise, and the flat facets of its hull."""
    shape = bmesh.new()
    bmesh.ops.create_icosphere(shape, subdivisions=3, radius=1.0)
    offset = Vector((7.3 * seed, 1.7 * seed, 0.0))
    for vertex in shape.verts:
        bumps = noise.noise(0.9 * vertex.co + offset) + 0.35 * noise.noise(2.6 * vertex.co + offset)
        vertex.co *= radius * (1.0 + 0.45 * bumps)
    hull = bmesh.ops.convex_hull(shape, input=shape.verts)
    bmesh.ops.delete(shape, geom=[*set(hull["geom_interior"]), *set(hull["geom_unused"])], context="VERTS")
    return _mesh(name, shape)


def turned(
    name: str, profile: Sequence[tuple[float, float]], bands: Sequence[int], *, sides: int = 24
) -> bpy.types.Mesh:
    """A solid of revolution about z.

    Args:
        name: Of the mesh.
        profile: Radius and height from the bottom up.
        bands: Material of each ring of faces between two heights; the caps take those of the ends.
        sides: Corners of a ring.
    """
    angles = 2.0 * np.pi * np.arange(sides) / sides
    points = [(r * np.cos(a), r * np.sin(a), z) for r, z in profile for a in angles]
    faces = [tuple(reversed(range(sides))), tuple(range(len(points) - sides, len(points)))]
    for ring in range(len(profile) - 1):
        for k in range(sides):
            following = (k + 1) % sides
            low, high = ring * sides, (ring + 1) * sides
            faces.append((low + k, low + following, high + following, high + k))
    mesh = bpy.data.meshes.new(name)
    mesh.from_pydata(points, [], faces)
    materials = [bands[0], bands[-1], *(band for band in bands for _ in range(sides))]
    mesh.polygons.foreach_set("material_index", materials)
    smooth = [index >= 2 for index in range(len(faces))]
    mesh.polygons.foreach_set("use_smooth", smooth)
    return mesh


def die(name: str, size: float) -> bpy.types.Mesh:
    """A cube with rounded edges."""
    shape = bmesh.new()
    bmesh.ops.create_cube(shape, size=size)
    _bevel(shape, 0.12 * size, segments=2)
    return _mesh(name, shape)


def pips(name: str, size: float) -> bpy.types.Mesh:
    """The 21 pips of a die, a hair above its faces; opposite faces add up to seven."""
    near, far = -0.22 * size, 0.22 * size
    corners = [(near, near), (far, far), (near, far), (far, near)]
    sides = [(near, 0.0), (far, 0.0)]
    layouts = {1: [(0.0, 0.0)], 2: corners[:2], 3: [*corners[:2], (0.0, 0.0)], 4: corners}
    layouts |= {5: [*corners, (0.0, 0.0)], 6: [*corners, *sides]}
    directions: dict[int, Point] = {
        1: (0, 0, 1), 6: (0, 0, -1), 2: (0, 1, 0), 5: (0, -1, 0), 3: (1, 0, 0), 4: (-1, 0, 0),
    }  # fmt: skip
    shape = bmesh.new()
    for value, direction in directions.items():
        turn = Vector((0, 0, 1)).rotation_difference(direction).to_matrix().to_4x4()
        for x, y in layouts[value]:
            place = turn @ Matrix.Translation((x, y, 0.503 * size))
            bmesh.ops.create_circle(shape, cap_ends=True, segments=16, radius=0.09 * size, matrix=place)
    return _mesh(name, shape)


def ball(name: str, radius: float) -> bpy.types.Mesh:
    """A round ball with a stripe (second material), which shows how it rolls."""
    shape = bmesh.new()
    bmesh.ops.create_uvsphere(shape, u_segments=64, v_segments=32, radius=radius)
    for face in shape.faces:
        face.smooth = True
        face.material_index = 1 if abs(face.calc_center_median().z) < 0.2 * radius else 0
    return _mesh(name, shape)


def monkey(name: str, size: float) -> bpy.types.Mesh:
    """Blender's own Suzanne."""
    shape = bmesh.new()
    bmesh.ops.create_monkey(shape, matrix=Matrix.Scale(size, 4))
    for face in shape.faces:
        face.smooth = True
    return _mesh(name, shape)


def square(name: str, size: float) -> bpy.types.Mesh:
    """A square in the XY plane."""
    shape = bmesh.new()
    bmesh.ops.create_grid(shape, x_segments=1, y_segments=1, size=size / 2.0)
    return _mesh(name, shape)


def _bevel(shape: bmesh.types.BMesh, width: float, *, segments: int) -> None:
    edges = shape.edges[:]
    bmesh.ops.bevel(shape, geom=edges, offset=width, segments=segments, profile=0.5, affect="EDGES")


def _mesh(name: str, shape: bmesh.types.BMesh) -> bpy.types.Mesh:
    mesh = bpy.data.meshes.new(name)
    shape.to_mesh(mesh)
    shape.free()
    return mesh
