"""SpeculativeConfig: how far a draft guesses and how its guesses are checked, with all other settings."""

from dataclasses import dataclass, fields

from inference.config import GenerateConfig
from models.errors import UserError

METHODS = ("reject_sampling", "exact_match")
MAX_K = 12  # tokens guessed at once, at most
TRIAL = 24  # guesses before a draft is judged


@dataclass(frozen=True)
class SpeculativeConfig(GenerateConfig):
    """GenerateConfig's fields, and how to speculate."""

    spec_k: int = 4  # tokens guessed at once, to begin with
    spec_k_adaptive: bool = True  # one more after a round all right, as many as were right otherwise
    spec_method: str = "reject_sampling"  # or exact_match: the model draws, equal guesses stay
    spec_extra_token: bool = True  # a round all right gives one token more, which the model chose
    spec_disable_below_accept: float = 0.2  # below this share of right guesses a reply goes on without

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= self.spec_k <= MAX_K:
            raise UserError(f"spec_k must be between 1 and {MAX_K}, not {self.spec_k}")
        if self.spec_method not in METHODS:
            raise UserError(f"spec_method must be {' or '.join(METHODS)}, not {self.spec_method!r}")
        if not 0.0 <= self.spec_disable_below_accept <= 1.0:
            raise UserError(
                f"spec_disable_below_accept must be between 0 and 1, not {self.spec_disable_below_accept}"
            )


def speculative(config: GenerateConfig, like: SpeculativeConfig) -> SpeculativeConfig:
    """The settings of a request with the `spec_` fields of another config."""
    if isinstance(config, SpeculativeConfig):
        return config
    common = {field.name: getattr(config, field.name) for field in fields(GenerateConfig)}
    own = {name: getattr(like, name) for name in vars(like) if name.startswith("spec_")}
    return SpeculativeConfig(**common, **own)
