"""The built site: how it looks and loads, what lies beside its pages, whose it is."""
