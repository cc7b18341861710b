"""Papers: systems of the literature that the main job does not load; tables name them, and they load when asked for."""
