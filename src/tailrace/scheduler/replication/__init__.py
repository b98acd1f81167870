"""When a task that is out gets another attempt; one module per strategy."""
