"""Messages to tokens that only ever grow."""
