"""A simulated robot: the world of the demo and the tests, in a process of its own."""
