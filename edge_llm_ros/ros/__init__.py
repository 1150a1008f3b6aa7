"""The ROS 2 side of the planner: node, parameters, plan server, and the ways to services, topics and actions."""
