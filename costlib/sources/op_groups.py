"""Groups of a model's ops, as patterns of their names: what a source counts as one thing."""

__all__ = ["ELEMENTWISE", "FEED_FORWARD", "PROJECTIONS"]

PROJECTIONS = r"([qkvo]|q_[ab]|kv_[ab])_proj"
FEED_FORWARD = r"((ffn|experts|shared)\.(gate|up|down)|router|shared_gate)"
ELEMENTWISE = (
    r"(softmax|embedding|positions|\w+_norm|norms|rotary|sinks|residual|.+\.bias|router\.softmax"
    r"|experts\.combine|(ffn|experts|shared)\.activation)"
)
