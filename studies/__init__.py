"""The papers' studies, done again: `python -m studies [NAME…]` writes docs/studies/."""
