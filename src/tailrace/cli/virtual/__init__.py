"""The virtual world's side of the command line: scenarios, recorded runs, what came out."""
