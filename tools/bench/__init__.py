"""What takes long and depends on the machine: speed, coverage by mutants, a GPU of your own."""
