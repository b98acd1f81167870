"""A bag that this machine runs: from its start through its view to its end."""
