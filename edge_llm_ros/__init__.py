"""A planner for robots: plain-language goals become ROS 2 calls, on the robot itself."""
