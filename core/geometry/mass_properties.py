"""Volume, centre of mass and inertia of solids of uniform density, and principal axes."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .hull import Hull

# Products of inertia below this fraction of the trace are rounding: a cube's axes stay its own.
PRINCIPAL_TOLERANCE = 1e-12


@dataclass(frozen=True, eq=False)
class MassProperties:
    """Mass properties of a solid of density 1 kg/m^3, in the axes of its shape.

    Attributes:
        volume: Volume [m^3].
        center_of_mass: Centre of mass [m], shape (3,).
        inertia: Inertia about the centre of mass [kg m^2], shape (3, 3).
    """

    volume: float
    center_of_mass: NDArray[np.float64]
    inertia: NDArray[np.float64]


def sphere_mass_properties(radius: float) -> MassProperties:
    """Mass properties of a sphere about its centre.

    Equation: V = 4/3 pi r^3, I = 2/5 V r^2
    """
    volume = 4 / 3 * np.pi * radius**3
    return MassProperties(volume, np.zeros(3), np.eye(3) * (0.4 * volume * radius**2))


def box_mass_properties(size: ArrayLike) -> MassProperties:
    """Mass properties of a box of the given full extents [m] about its centre.

    Equation: I_xx = V (y^2 + z^2) / 12, and so on in turn
    """
    x, y, z = (float(extent) for extent in np.asarray(size, dtype=np.float64))
    volume = x * y * z
    squares = np.array([y * y + z * z, x * x + z * z, x * x + y * y])
    return MassProperties(volume, np.zeros(3), np.diag(volume / 12 * squares))


def cylinder_mass_properties(radius: float, height: float) -> MassProperties:
    """Mass properties of a cylinder along z about its centre.

    Equation: V = pi r^2 h, I_zz = V r^2 / 2, I_xx = V (3 r^2 + h^2) / 12
    """
    volume = np.pi * radius**2 * height
    across = volume * (3.0 * radius**2 + height**2) / 12.0
    return MassProperties(volume, np.zeros(3), np.diag([across, across, 0.5 * volume * radius**2]))


def capsule_mass_properties(radius: float, height: float) -> MassProperties:
    """Mass properties of a capsule along z about its centre; the height is that of its cylinder.

    Equation: the cylinder, and two half spheres with their centres of mass 3/8 r beyond its ends:
        I_xx = I_xx(cylinder) + V_s (2/5 r^2 + 3/8 h r + h^2 / 4), V_s = 4/3 pi r^3
    """
    cylinder = cylinder_mass_properties(radius, height)
    ball = 4 / 3 * np.pi * radius**3
    across = ball * (0.4 * radius**2 + 0.375 * height * radius + 0.25 * height**2)
    ends = np.diag([across, across, 0.4 * ball * radius**2])
    return MassProperties(cylinder.volume + ball, np.zeros(3), cylinder.inertia + ends)


def cone_mass_properties(radius: float, height: float) -> MassProperties:
    """Mass properties of a cone along z, its apex up and its origin at half its height.

    Equation: V = pi r^2 h / 3, centre of mass h / 4 above the base,
        I_zz = 3/10 V r^2, I_xx = V (3/20 r^2 + 3/80 h^2)
    """
    volume = np.pi * radius**2 * height / 3.0
    across = volume * (0.15 * radius**2 + 0.0375 * height**2)
    center = np.array([0.0, 0.0, -0.25 * height])
    return MassProperties(volume, center, np.diag([across, across, 0.3 * volume * radius**2]))


def joined_mass_properties(
    parts: list[tuple[MassProperties, NDArray[np.float64], NDArray[np.float64]]],
) -> MassProperties:
    """Mass properties of solids together, each at a position [m] with a rotation matrix.

    Equation: I = sum R I R^T + V (d . d 1 - d d^T), d from the common centre of mass (Steiner)
    """
    volume = float(sum(part.volume for part, _, _ in parts))
    centers = [position + rotation @ part.center_of_mass for part, position, rotation in parts]
    center = sum(part.volume * c for (part, _, _), c in zip(parts, centers, strict=True)) / volume
    inertia = np.zeros((3, 3))
    for (part, _, rotation), c in zip(parts, centers, strict=True):
        d = c - center
        inertia += rotation @ part.inertia @ rotation.T
        inertia += part.volume * (d @ d * np.eye(3) - np.outer(d, d))
    return MassProperties(volume, np.asarray(center), inertia)


def hull_mass_properties(hull: Hull) -> MassProperties:
    """Mass properties of a convex hull, by exact integrals over tetrahedra.

    The tetrahedra join the triangles of the faces to the mean of the vertices, so nothing cancels
    however far the hull lies from its origin. The sum equals the surface integrals of the source.

    Equation: integral of x x^T over a tetrahedron (0, a, b, c) =
        V/20 (a a^T + b b^T + c c^T + s s^T), s = a + b + c, V = a . (b x c) / 6
    Source: D. Eberly, Polyhedral Mass Properties (Revisited), 2002; F. Tonon, Explicit Exact Formulas
        for the 3-D Tetrahedron Inertia Tensor in Terms of its Vertex Coordinates, 2005
    """
    middle = hull.vertices.mean(axis=0)
    fans = []
    for face in range(len(hull.face_normal)):
        loop = hull.face(face)
        fans.append(np.stack([np.full(len(loop) - 2, loop[0]), loop[1:-1], loop[2:]], axis=1))
    corners = (hull.vertices - middle)[np.concatenate(fans)]  # (triangles, 3 corners, 3)
    a, b, c = corners[:, 0], corners[:, 1], corners[:, 2]
    volumes = np.einsum("ij,ij->i", a, np.cross(b, c)) / 6
    volume = float(volumes.sum())
    total = corners.sum(axis=1)
    center = volumes @ total / (4 * volume)
    second = np.einsum("t,tki,tkj->ij", volumes, corners, corners)
    second += np.einsum("t,ti,tj->ij", volumes, total, total)
    covariance = second / 20 - volume * np.outer(center, center)
    inertia = np.trace(covariance) * np.eye(3) - covariance
    return MassProperties(volume, middle + center, (inertia + inertia.T) / 2)


def principal_axes(inertia: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Diagonalise an inertia by rotating as little as possible.

    Cyclic Jacobi rotations rather than a library's eigenvectors: those come in any order and sign,
    and for equal moments in any direction. Here order and sign are those of the axes given, so a
    diagonal inertia (box, cube, sphere) gives exactly the identity. Works at any scale.

    Args:
        inertia: Symmetric inertia [kg m^2], shape (3, 3).

    Returns:
        Moments [kg m^2], shape (3,), and a proper rotation R, shape (3, 3), whose columns are the
        principal axes: inertia = R diag(moments) R^T.

    Source: Golub & Van Loan, Matrix Computations, section 8.5 (Jacobi methods)
    """
    tensor = np.array(inertia, dtype=np.float64)
    rotation = np.eye(3)
    negligible = PRINCIPAL_TOLERANCE * np.trace(tensor)
    for _ in range(30):  # quadratic convergence: about five sweeps
        changed = False
        for p, q in ((0, 1), (0, 2), (1, 2)):
            if abs(tensor[p, q]) <= negligible:
                continue
            changed = True
            tau = (tensor[q, q] - tensor[p, p]) / (2 * tensor[p, q])
            tangent = (1.0 if tau >= 0 else -1.0) / (abs(tau) + np.hypot(1.0, tau))
            cosine = 1 / np.hypot(1.0, tangent)
            turn = np.eye(3)
            turn[p, p] = turn[q, q] = cosine
            turn[p, q], turn[q, p] = tangent * cosine, -tangent * cosine
            tensor = turn.T @ tensor @ turn
            rotation = rotation @ turn
        if not changed:
            break
    return np.diag(tensor).copy(), rotation
