"""What is measured, against whom, and how: docs/benchmarks.md. Run it with `make bench`."""
