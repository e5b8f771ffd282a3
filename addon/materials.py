"""Materials by name, to start from: density, friction and restitution. Pure: no bpy.

Densities: OpenStax, *College Physics for AP Courses*, table 11.1, and for brick and cardboard the density
table of piping-designer.com, rounded; oak, pine, ABS and rubber are usual values. Friction is static, of the
material on its like, dry: *Physics Fundamentals* (ecampusontario.pressbooks.pub), appendix A, for aluminium,
brass on steel and brick on wood; mech.subwiki.org for steel and wood; engineerlaboratory.com for glass, and
rubber on concrete. What those tables do not have (other friction, all restitution) is chosen by eye and no
measurement: restitution falls as bodies hit harder, and depends on their shape.

Topple combines a pair by the geometric mean, which gives back the value where both are alike.
"""

from typing import NamedTuple


class Material(NamedTuple):
    """What a body of this material is like.

    Attributes:
        label: Name for the artist.
        density: [kg/m^3].
        friction: Coulomb coefficient.
        restitution: Speed kept in a bounce.
    """

    label: str
    density: float
    friction: float
    restitution: float


MATERIALS = {
    "STEEL": Material("Steel", 7850.0, 0.74, 0.6),
    "ALUMINIUM": Material("Aluminium", 2700.0, 1.05, 0.5),
    "BRASS": Material("Brass", 8440.0, 0.51, 0.5),
    "LEAD": Material("Lead", 11300.0, 0.9, 0.15),
    "STONE": Material("Stone, granite", 2700.0, 0.65, 0.6),
    "BRICK": Material("Brick", 1920.0, 0.6, 0.3),
    "CONCRETE": Material("Concrete", 2400.0, 0.65, 0.3),
    "GLASS": Material("Glass", 2600.0, 0.94, 0.7),
    "WOOD": Material("Wood, oak", 720.0, 0.4, 0.5),
    "PINE": Material("Wood, pine", 500.0, 0.4, 0.5),
    "CORK": Material("Cork", 240.0, 0.6, 0.5),
    "PLASTIC": Material("Plastic, ABS", 1050.0, 0.35, 0.6),
    "RUBBER": Material("Rubber", 1150.0, 1.0, 0.75),
    "CARDBOARD": Material("Cardboard", 690.0, 0.5, 0.2),
    "ICE": Material("Ice", 917.0, 0.05, 0.3),
    "WATER": Material("As heavy as water", 1000.0, 0.5, 0.0),
}
