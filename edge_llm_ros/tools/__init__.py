"""From YAML to tools: what the model sees, what it may send, and the gate in front of the robot."""
