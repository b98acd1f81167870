"""Programs the benchmarks start as processes of their own."""
