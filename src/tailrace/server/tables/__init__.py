"""The store: its tables in SQLite or PostgreSQL, who owns them, how they grow up."""
