"""The loop from a goal to its result."""
