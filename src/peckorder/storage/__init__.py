"""Models as files: the methods `save` and `to_bytes`, the registry of models."""
