"""How long work takes on a device: one answer, one sweep."""
