"""The engine: compiles, links and runs what the schedule says."""
