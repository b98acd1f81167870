"""The virtual world: the same scheduler on simulated machines, a month in a second."""
