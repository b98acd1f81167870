"""What the tables tell, to commands, reports and what-if questions. Reading only."""
