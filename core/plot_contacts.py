"""Picture of two bodies of a scene and how they meet: witness plane, closest points, contacts.

Everything is projected along one direction onto plain axes, so that lengths across the view are true
and a part can be enlarged: on the left both bodies, on the right what lies in the circle.
"""

import os
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Circle, ConnectionPatch, FancyArrowPatch, Patch
from numpy.typing import NDArray
from scipy.spatial import ConvexHull as Qhull
from scipy.spatial.transform import Rotation

from .errors import SceneError
from .geometry.hull import Hull, build_hull
from .geometry.shapes import (
    Box,
    Capsule,
    Compound,
    Cone,
    ConvexHull,
    ConvexSolid,
    Cylinder,
    Mesh,
    Plane,
    Sphere,
)
from .plot import BLUE, INK, ORANGE, check_format, write_picture
from .queries import ClosestPoints, ContactRegion, closest_points, contacts
from .scene import Body, Scene

GREEN, VIOLET = "#12855a", "#6d55a3"
AROUND, ALONG = 96, 32  # samples of round shapes
# Places of the viewer [deg], the usual one first; none along an axis of the world, which would look flat.
ELEVATION, AZIMUTHS = 22.0, (-62.0, -28.0, -118.0, 28.0, -152.0, 62.0, 152.0, 118.0)
TILT = 0.25  # wanted cosine between the view and the normal: the plane is seen, and so is a gap
TOUCHING = 1e-9  # a separation up to this part of the smaller body is none
MARGIN = 0.01  # contacts are shown up to this part of the smaller body farther apart than the closest

Array = NDArray[np.float64]


class _Surface(NamedTuple):
    """A convex surface in world axes.

    Attributes:
        vertices: [m], shape (v, 3).
        loops: Vertices of each face.
        normals: Outward, shape (f, 3).
        edges: Rows of two vertices and the faces on both sides, shape (e, 4).
        sharp: Whether an edge is one of the solid's own, shape (e,).
    """

    vertices: Array
    loops: list[NDArray[np.int64]]
    normals: Array
    edges: NDArray[np.int64]
    sharp: NDArray[np.bool_]


class _Meeting(NamedTuple):
    """All there is to draw. Order: a, b."""

    names: tuple[str, str]
    surfaces: tuple[list[_Surface], list[_Surface]]
    closest: ClosestPoints
    region: ContactRegion
    size: float  # of the smaller body [m]
    center: Array
    radius: float
    view: Array


def plot_contacts(scene: Scene, name_a: str, name_b: str, path: str | os.PathLike[str]) -> None:
    """Draw two bodies at their poses in the scene with what the collision rooms find between them.

    Args:
        scene: Where the bodies are.
        name_a, name_b: Their names; normals point from b to a.
        path: File to write; its ending chooses png, svg or pdf.

    Raises:
        SceneError: There are no such two bodies, or the ending is none of the three.
        SolverError: Both are planes.
        OSError: The file cannot be written.
    """
    check_format(path)
    meeting = _meet(_find(scene, name_a), _find(scene, name_b))
    figure = Figure(figsize=(10, 5.6), facecolor="white")
    FigureCanvasAgg(figure)
    overview, loupe = figure.add_axes((0.01, 0.1, 0.5, 0.8)), figure.add_axes((0.53, 0.1, 0.46, 0.8))
    _draw_overview(overview, meeting)
    _draw_loupe(loupe, meeting)
    _draw_leads(figure, overview, loupe, meeting)
    # Names are not mathematics, whatever dollar signs are in them.
    figure.suptitle(_title(meeting), color=INK, fontsize=14, y=0.965, parse_math=False)
    legend = figure.legend(
        handles=_legend(meeting), loc="lower center", ncols=5, frameon=False, labelcolor=INK
    )
    for text in legend.get_texts():
        text.set_parse_math(False)
    write_picture(figure, path)


def _find(scene: Scene, name: str) -> Body:
    for body in scene.bodies:
        if body.name == name:
            return body
    known = ", ".join(f"'{body.name}'" for body in scene.bodies[:8]) or "no bodies"
    more = f" and {len(scene.bodies) - 8} more" if len(scene.bodies) > 8 else ""
    raise SceneError(f"the scene has no body '{name}'; it has {known}{more}")


def _meet(a: Body, b: Body) -> _Meeting:
    """Collide two bodies, and choose what to show of them."""
    if a is b:
        raise SceneError(f"'{a.name}' was named twice; name two different bodies")
    poses = (a.shape, (a.position, a.orientation), b.shape, (b.position, b.orientation))
    closest = closest_points(*poses)
    middle = (closest.point_a + closest.point_b) / 2
    solid = [_solid_surfaces(a), _solid_surfaces(b)]
    size = min(
        float(np.ptp(np.concatenate([s.vertices for s in part]), axis=0).max()) for part in solid if part
    )
    planes = [_plane_surfaces(body, middle, 1.2 * size) for body in (a, b)]
    region = contacts(*poses, margin=max(closest.separation, 0.0) + MARGIN * size)
    points = np.concatenate([middle[None], (region.point_a + region.point_b) / 2])
    center = (points.min(axis=0) + points.max(axis=0)) / 2
    spread = float(np.linalg.norm(points - center, axis=1).max())
    radius = max(1.4 * spread, 0.8 * abs(closest.separation), 0.16 * size)
    view = _choose_view(closest.normal, points - center)
    surfaces = (solid[0] + planes[0], solid[1] + planes[1])
    return _Meeting((a.name, b.name), surfaces, closest, region, size, center, radius, view)


def _choose_view(normal: Array, spread: Array) -> Array:
    """Axes right, up, and towards the viewer, as columns: the plane nearly edge-on, the contacts apart."""
    _, lengths, axes = np.linalg.svd(spread, full_matrices=False)
    line = axes[0] if lengths[0] > 3 * lengths[1:].sum() else np.zeros(3)
    costs = []
    for basis in map(_basis, AZIMUTHS):
        towards = basis[:, 2]
        costs.append((abs(normal @ towards) - TILT) ** 2 + 0.15 * (line @ towards) ** 4)
    return _basis(AZIMUTHS[int(np.argmin(np.round(costs, 3)))])


def _basis(azimuth: float) -> Array:
    a, e = np.radians((azimuth, ELEVATION))
    towards = np.array([np.cos(e) * np.cos(a), np.cos(e) * np.sin(a), np.sin(e)])
    right = np.array([-np.sin(a), np.cos(a), 0.0])
    return np.stack([right, np.cross(towards, right), towards], axis=1)


def _solid_surfaces(body: Body) -> list[_Surface]:
    """The convex solids of a body in the world; none for a plane."""
    if isinstance(body.shape, Plane):
        return []
    pose = np.array(body.position), Rotation.from_quat(np.roll(body.orientation, -1)).as_matrix()
    parts = (
        body.shape.placed_parts()
        if isinstance(body.shape, Compound)
        else [(body.shape, np.zeros(3), np.eye(3))]
    )
    return [_surface(part, pose[0] + pose[1] @ p, pose[1] @ r) for part, p, r in parts]


def _mesh_surface(shape: Mesh, position: Array, rotation: Array) -> _Surface:
    mesh = shape.surface
    sides = np.sort(np.stack([mesh.triangles, np.roll(mesh.triangles, -1, axis=1)], axis=2).reshape(-1, 2))
    edges, side = np.unique(sides, axis=0, return_inverse=True)
    side = side.reshape(-1)
    first, last = np.full(len(edges), len(sides)), np.zeros(len(edges), np.int64)
    np.minimum.at(first, side, np.arange(len(sides)))
    np.maximum.at(last, side, np.arange(len(sides)))
    edges = np.column_stack([edges, first // 3, last // 3])
    return _Surface(
        position + mesh.vertices @ rotation.T,
        list(mesh.triangles),
        mesh.normal @ rotation.T,
        edges,
        np.full(len(edges), True),
    )


def _surface(shape: ConvexSolid | Mesh, position: Array, rotation: Array) -> _Surface:
    if isinstance(shape, Mesh):
        return _mesh_surface(shape, position, rotation)
    hull = shape.hull if isinstance(shape, Box | ConvexHull) else _sampled(shape)
    normals = hull.face_normal @ rotation.T
    sharp = np.full(len(hull.edges), isinstance(shape, Box | ConvexHull))
    # Where a round shape has a rim, its samples' faces meet at a greater angle than on its sides.
    sharp |= np.einsum("ij,ij->i", normals[hull.edges[:, 2]], normals[hull.edges[:, 3]]) < 0.8
    loops = [hull.face(i) for i in range(len(normals))]
    return _Surface(position + hull.vertices @ rotation.T, loops, normals, hull.edges, sharp)


def _sampled(shape: Sphere | Capsule | Cylinder | Cone) -> Hull:
    """Many points of a round shape: its profile (radius, z), turned about z."""
    arc = np.linspace(-np.pi / 2, np.pi / 2, ALONG + 1)
    round_profile = shape.radius * np.stack([np.cos(arc), np.sin(arc)], axis=1)
    match shape:
        case Sphere():
            profile = round_profile
        case Capsule():
            profile = round_profile + np.outer(np.where(arc < 0, -1, 1), (0, shape.height / 2))
        case Cylinder():
            profile = np.array([(shape.radius, -shape.height / 2), (shape.radius, shape.height / 2)])
        case Cone():
            profile = np.array([(shape.radius, -shape.height / 2), (0, shape.height / 2)])
    angle = 2 * np.pi * np.arange(AROUND) / AROUND
    ring = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return build_hull(np.array([(r * x, r * y, z) for r, z in profile for x, y in ring]))


def _plane_surfaces(body: Body, near: Array, half: float) -> list[_Surface]:
    """A square of an endless plane near a point; none for a solid."""
    if not isinstance(body.shape, Plane):
        return []
    rotation = Rotation.from_quat(np.roll(body.orientation, -1)).as_matrix()
    normal = rotation @ body.shape.normal
    height = normal @ (near - body.position) - body.shape.offset
    corners = _square(near - height * normal, normal, half)
    edges = np.array([(i, (i + 1) % 4, 0, 0) for i in range(4)])
    return [_Surface(corners, [np.arange(4)], normal[None], edges, np.full(4, True))]


def _square(center: Array, normal: Array, half: float) -> Array:
    """Corners of a square across a normal, two of its sides level."""
    level = np.cross((0.0, 0.0, 1.0), normal)
    if np.linalg.norm(level) < 1e-6:
        level = np.array([1.0, 0.0, 0.0])
    level = level / np.linalg.norm(level)
    across = np.cross(normal, level)
    return center + half * np.array([-level - across, level - across, level + across, across - level])


def _draw_overview(ax: Axes, meeting: _Meeting) -> None:
    """Both bodies; of one that is far larger than the other only what lies around the contact."""
    _draw_meeting(ax, meeting, fill=0.62)
    vertices = np.concatenate([s.vertices for surfaces in meeting.surfaces for s in surfaces]) @ meeting.view
    low = np.minimum(vertices[:, :2].min(axis=0), np.array(_middle(meeting)) - meeting.radius)
    high = np.maximum(vertices[:, :2].max(axis=0), np.array(_middle(meeting)) + meeting.radius)
    middle, half = (low + high) / 2, 0.56 * float((high - low).max())
    enough = max(1.8 * meeting.size, 1.2 * meeting.radius)
    if half > 1.6 * enough:
        middle, half = np.array(_middle(meeting)), enough
        _clip(ax, Circle((middle[0], middle[1]), half, transform=ax.transData))
    _frame(ax, middle, half)
    ax.add_patch(Circle(_middle(meeting), meeting.radius, fill=False, color=INK, lw=1.2, zorder=9))
    _draw_triad(ax, meeting.view)


def _draw_loupe(ax: Axes, meeting: _Meeting) -> None:
    """What lies in the circle, enlarged, with all points."""
    middle = _middle(meeting)
    ax.add_patch(Circle(middle, meeting.radius, facecolor="white", zorder=0))
    _draw_meeting(ax, meeting, fill=0.42)
    _draw_points(ax, meeting)
    _clip(ax, Circle(middle, meeting.radius, transform=ax.transData))
    ax.add_patch(Circle(middle, meeting.radius, fill=False, color=INK, lw=1.6, zorder=9))
    _frame(ax, np.array(middle), 1.02 * meeting.radius)
    _draw_scale(ax, np.array(middle) - (0, 0.8 * meeting.radius), meeting.radius)


def _middle(meeting: _Meeting) -> tuple[float, float]:
    """Middle of the circle in the picture."""
    x, y, _ = meeting.center @ meeting.view
    return float(x), float(y)


def _clip(ax: Axes, shape: Patch) -> None:
    for artist in (*ax.collections, *ax.lines, *ax.patches):
        artist.set_clip_path(shape)


def _frame(ax: Axes, middle: Array, half: float) -> None:
    ax.set_axis_off()
    ax.set_aspect("equal")
    ax.set_xlim(middle[0] - half, middle[0] + half)
    ax.set_ylim(middle[1] - half, middle[1] + half)


def _draw_meeting(ax: Axes, meeting: _Meeting, *, fill: float) -> None:
    """Both bodies and the plane between them: what lies behind the plane first."""
    front = int(meeting.closest.normal @ meeting.view[:, 2] < 0)  # body on the viewer's side of the plane
    for layer, body in enumerate((1 - front, front)):
        surfaces = sorted(
            meeting.surfaces[body], key=lambda s: float((s.vertices @ meeting.view[:, 2]).mean())
        )
        for surface in surfaces:
            _draw_surface(ax, surface, meeting.view, (BLUE, ORANGE)[body], fill, 1 + 4 * layer)
    _draw_plane(ax, meeting)


def _draw_surface(ax: Axes, surface: _Surface, view: Array, color: str, fill: float, order: int) -> None:
    """Faces that look at the viewer, shaded; edges, those behind thin; outlines of what is round."""
    flat, towards = (surface.vertices @ view)[:, :2], view[:, 2]
    light = view @ np.array([-0.35, 0.65, 0.67])
    seen = surface.normals @ towards > 1e-9
    base = np.array(to_rgb(color))
    # One tint for all that is seen and light on top of it: faces side by side show no seams.
    if seen.any():
        shadow = flat[Qhull(flat, qhull_options="QJ").vertices]
        ax.fill(*shadow.T, color=color, alpha=fill, lw=0, zorder=order + 1)
    white = 0.45 * np.clip(surface.normals @ light, 0, 1)[seen]
    loops = [flat[loop] for loop, show in zip(surface.loops, seen, strict=True) if show]
    ax.add_collection(
        PolyCollection(loops, facecolors=[(1, 1, 1, w) for w in white], lw=0, zorder=order + 1.5)
    )
    left, right = seen[surface.edges[:, 2]], seen[surface.edges[:, 3]]
    ends = flat[surface.edges[:, :2]]
    dark = 0.55 * base
    ax.add_collection(
        LineCollection(
            list(ends[surface.sharp & ~left & ~right]), colors=[(*dark, 0.35)], lw=0.7, zorder=order
        )
    )
    shown = (surface.sharp & (left | right)) | (left != right)
    ax.add_collection(
        LineCollection(list(ends[shown]), colors=[dark], lw=1.1, zorder=order + 2, capstyle="round")
    )


def _draw_plane(ax: Axes, meeting: _Meeting) -> None:
    """A square of the plane between the bodies, with a grid that shows how it lies."""
    closest = meeting.closest
    corners = (
        _square((closest.point_a + closest.point_b) / 2, closest.normal, 1.35 * meeting.radius) @ meeting.view
    )
    a, b, c, d = corners[:, :2]
    ax.add_collection(
        PolyCollection(
            [[a, b, c, d]], facecolors=[(*to_rgb(VIOLET), 0.16)], edgecolors=VIOLET, lw=1, zorder=4
        )
    )
    steps = np.linspace(0, 1, 9)[1:-1, None]
    grid = [
        *zip(a + steps * (b - a), d + steps * (c - d), strict=True),
        *zip(a + steps * (d - a), b + steps * (c - b), strict=True),
    ]
    ax.add_collection(LineCollection(grid, colors=[(*to_rgb(VIOLET), 0.3)], lw=0.7, zorder=4))


def _draw_points(ax: Axes, meeting: _Meeting) -> None:
    """Contact points with normals, closest points with the line between them."""
    closest, region, view = meeting.closest, meeting.region, meeting.view
    starts = (region.point_a + region.point_b) / 2
    ends = starts + 0.45 * meeting.radius * region.normal
    for start, end in zip((starts @ view)[:, :2], (ends @ view)[:, :2], strict=True):
        ax.add_patch(
            FancyArrowPatch(
                start,
                end,
                arrowstyle="-|>",
                mutation_scale=13,
                shrinkA=0,
                shrinkB=0,
                color=GREEN,
                lw=1.6,
                zorder=10,
            )
        )
    ax.plot(*(starts @ view)[:, :2].T, "o", color=GREEN, ms=6, mec="white", mew=0.8, zorder=12)
    pair = (np.array([closest.point_a, closest.point_b]) @ view)[:, :2]
    ax.plot(*pair.T, color=INK, lw=1.6, zorder=11)
    for point, color in zip(pair, (BLUE, ORANGE), strict=True):
        ax.plot(*point, "o", color=color, ms=8, mec=INK, mew=1.3, zorder=13)


def _draw_triad(ax: Axes, view: Array) -> None:
    """The world's axes in the lower left corner."""
    corner = np.full(2, 0.07)
    arrow = {"arrowstyle": "-|>", "color": INK, "lw": 1, "shrinkA": 0, "shrinkB": 0}
    for axis, name in zip(view[:, :2], "xyz", strict=True):
        tip, (x, y) = corner + 0.055 * axis, corner + 0.078 * axis
        ax.annotate("", tuple(tip), tuple(corner), xycoords="axes fraction", arrowprops=arrow)
        ax.text(x, y, name, transform=ax.transAxes, color=INK, ha="center", va="center", fontsize=9)


def _draw_scale(ax: Axes, middle: Array, radius: float) -> None:
    """A bar of a round length."""
    wanted = 0.6 * radius
    unit = 10 ** np.floor(np.log10(wanted))
    length = max(step * unit for step in (1, 2, 5) if step * unit <= wanted)
    ends = middle[0] + np.array([-0.5, 0.5]) * length
    ax.plot(ends, [middle[1]] * 2, color=INK, lw=2.5, solid_capstyle="butt", zorder=14)
    ax.annotate(
        _length(length),
        (middle[0], middle[1]),
        (0, 4),
        textcoords="offset points",
        ha="center",
        color=INK,
        fontsize=9,
        zorder=14,
    )


def _draw_leads(figure: Figure, overview: Axes, loupe: Axes, meeting: _Meeting) -> None:
    """Lines from the circle in the overview to the enlarged one, behind both."""
    for side in (-1, 1):
        x, y = _middle(meeting)
        end = x, y + side * meeting.radius
        lead = ConnectionPatch(end, end, "data", "data", axesA=overview, axesB=loupe)
        lead.set(color=INK, lw=0.7, alpha=0.5, zorder=-1)
        figure.add_artist(lead)


def _title(meeting: _Meeting) -> str:
    separation = meeting.closest.separation
    if abs(separation) <= TOUCHING * meeting.size:
        found = "separation 0"
    else:
        found = f"{'overlap' if separation < 0 else 'separation'} {_length(abs(separation))}"
    return f"'{meeting.names[0]}' and '{meeting.names[1]}': {found}"


def _legend(meeting: _Meeting) -> list[Patch | Line2D]:
    count = len(meeting.region.separation)
    label = "contact point, normal" if count == 1 else f"{count} contact points, normals"
    return [
        *(
            Patch(facecolor=color, alpha=0.7, label=f"'{name}'")
            for name, color in zip(meeting.names, (BLUE, ORANGE), strict=True)
        ),
        Patch(facecolor=(*to_rgb(VIOLET), 0.16), edgecolor=VIOLET, label="witness plane"),
        Line2D([], [], color="white", mec=INK, mew=1.3, ms=8, marker="o", ls="none", label="closest points"),
        Line2D([], [], color=GREEN, ms=6, marker="o", ls="none", label=label),
    ]


def _length(metres: float) -> str:
    """A length in the unit that suits it."""
    if metres >= 1.0:
        return f"{metres:.3g} m"
    return f"{metres * 1e2:.3g} cm" if metres >= 1e-2 else f"{metres * 1e3:.3g} mm"
