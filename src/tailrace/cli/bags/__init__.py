"""Bags and tasks as a command line names them or hands them in."""
