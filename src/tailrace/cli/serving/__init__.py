"""What `tailrace serve` and the makers of tokens need."""
