"""Servers as commands reach them: that of this folder, or another; and the files that travel."""
