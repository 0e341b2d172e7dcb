"""What a model is made of and what it holds: architectures, caches, checkpoints, the catalogue."""
