"""The data that flows through the planner, and the protocols between its layers; no behaviour of its own."""
