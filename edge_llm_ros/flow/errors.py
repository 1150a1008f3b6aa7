"""Faults of ours, raised at configure or ending a goal; the model's faults are observations."""


class EdgeLlmError(Exception):
    """Raised when something is wrong that a person must mend; the message says what and where."""


class ConfigError(EdgeLlmError):
    """Raised when a file or a parameter cannot be used."""


class EngineError(EdgeLlmError):
    """Raised when the model cannot be loaded or evaluated."""


class ContextFull(EngineError):
    """Raised when a conversation does not fit into the model's context."""


class CallCutShort(EngineError):
    """Raised when a call reached its token limit before it was complete; it was not kept."""
