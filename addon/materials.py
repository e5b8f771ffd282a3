"""Materials by name: density, friction and restitution as tables give them. Pure: no bpy.

Densities: Engineering ToolBox, "Densities of Solids" and "Wood Species - Densities"
(engineeringtoolbox.com); ice, rubber and glass: CRC Handbook of Chemistry and Physics. Friction is of the
material on itself or on a like surface, dry: Engineering ToolBox, "Friction Coefficients for Common
Materials"; Topple combines a pair by the geometric mean, which gives back the value where both are alike.
Restitution is that of a ball on a hard plate, of the order that Goldsmith, "Impact" (1960), ch. VI,
reports; it falls as bodies hit harder and with their shape, so it is rounded: a start for the eye, and not
a constant of nature.
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
    "STEEL": Material("Steel", 7850.0, 0.6, 0.6),
    "ALUMINIUM": Material("Aluminium", 2700.0, 1.1, 0.5),
    "BRASS": Material("Brass", 8500.0, 0.5, 0.5),
    "LEAD": Material("Lead", 11340.0, 0.9, 0.15),
    "STONE": Material("Stone, granite", 2700.0, 0.65, 0.6),
    "BRICK": Material("Brick", 1900.0, 0.65, 0.3),
    "CONCRETE": Material("Concrete", 2400.0, 0.65, 0.3),
    "GLASS": Material("Glass", 2500.0, 0.9, 0.7),
    "WOOD": Material("Wood, oak", 720.0, 0.5, 0.5),
    "PINE": Material("Wood, pine", 500.0, 0.4, 0.5),
    "CORK": Material("Cork", 240.0, 0.6, 0.5),
    "PLASTIC": Material("Plastic, ABS", 1050.0, 0.35, 0.6),
    "RUBBER": Material("Rubber", 1150.0, 1.0, 0.75),
    "CARDBOARD": Material("Cardboard", 690.0, 0.5, 0.2),
    "ICE": Material("Ice", 917.0, 0.05, 0.3),
    "WATER": Material("As heavy as water", 1000.0, 0.5, 0.0),
}
