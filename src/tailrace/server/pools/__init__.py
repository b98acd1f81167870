"""Where the server's machines come from."""
