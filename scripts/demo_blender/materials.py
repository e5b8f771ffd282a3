"""The demo's materials: a colour, or two colours between which every object finds its own."""

import bpy

Color = tuple[float, float, float]  # linear RGB


def plain(name: str, color: Color, *, roughness: float = 0.5, metallic: float = 0.0) -> bpy.types.Material:
    """One colour."""
    material = bpy.data.materials.new(name)
    material.use_nodes = True
    surface = material.node_tree.nodes["Principled BSDF"]
    surface.inputs["Base Color"].default_value = (*color, 1.0)
    surface.inputs["Roughness"].default_value = roughness
    surface.inputs["Metallic"].default_value = metallic
    return material


def varied(name: str, first: Color, second: Color, *, roughness: float = 0.8) -> bpy.types.Material:
    """A colour between two, different for each object."""
    material = plain(name, first, roughness=roughness)
    tree = material.node_tree
    which = tree.nodes.new("ShaderNodeObjectInfo")
    ramp = tree.nodes.new("ShaderNodeValToRGB")
    ramp.color_ramp.elements[0].color = (*first, 1.0)
    ramp.color_ramp.elements[1].color = (*second, 1.0)
    tree.links.new(which.outputs["Random"], ramp.inputs["Fac"])
    tree.links.new(ramp.outputs["Color"], tree.nodes["Principled BSDF"].inputs["Base Color"])
    return material


def tiled(name: str, first: Color, second: Color, *, tile: float) -> bpy.types.Material:
    """Square tiles in two shades: they show what moves and how far."""
    material = plain(name, first, roughness=0.65)
    tree = material.node_tree
    place = tree.nodes.new("ShaderNodeTexCoord")
    checker = tree.nodes.new("ShaderNodeTexChecker")
    checker.inputs["Color1"].default_value = (*first, 1.0)
    checker.inputs["Color2"].default_value = (*second, 1.0)
    checker.inputs["Scale"].default_value = 1.0 / tile
    tree.links.new(place.outputs["Object"], checker.inputs["Vector"])
    tree.links.new(checker.outputs["Color"], tree.nodes["Principled BSDF"].inputs["Base Color"])
    return material
