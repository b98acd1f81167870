"""What owners of bags are told without asking."""
