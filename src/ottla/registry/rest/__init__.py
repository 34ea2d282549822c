"""The REST interface: paths, bodies and answers. What they mean is decided elsewhere."""
