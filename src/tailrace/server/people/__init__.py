"""Who calls, what he may, and what only he may see."""
