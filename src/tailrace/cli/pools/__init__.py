"""Pools as files describe them, and whether their machines come."""
