"""The HTTP side: routes, what they do, and who is let in."""
