"""One small script per claim: `python -m benchmarks [NAME…] [--quick] [--json FILE]`."""
