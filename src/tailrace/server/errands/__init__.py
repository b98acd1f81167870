"""Calls whose work grows with a bag, or with what is sent: another process does it."""
