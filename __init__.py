"""Blender's door to Topple.

Blender imports this file because it lies beside the manifest; pytest imports it too, while it
collects. So nothing of bpy is imported until Blender calls one of these functions.
"""


def register() -> None:
    """Add Topple to Blender."""
    from .addon import registration

    registration.register()


def unregister() -> None:
    """Take Topple out of Blender, leaving nothing behind."""
    from .addon import registration

    registration.unregister()
