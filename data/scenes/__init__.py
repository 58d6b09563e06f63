"""The picture world: scenes, how they are drawn, what is asked of them, and what is right."""
