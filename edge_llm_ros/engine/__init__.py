"""Tokens in, tokens out: evaluates a GGUF model; knows no roles, no tools and no ROS."""
