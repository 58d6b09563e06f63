"""The projector: from an encoder's width to the Thinker's."""

from dataclasses import dataclass

from torch import Tensor, nn

from models.block import RMSNorm, init_weights
from models.checkpoint import Pretrained


@dataclass
class ProjectorConfig:
    """Widths in channels."""

    input_size: int = 192
    hidden_size: int = 256  # the Thinker's
    inner_size: int = 0  # between the two layers; 0: hidden_size


class Projector(Pretrained):
    """Norm and two linear layers, as in LLaVA-1.5 (arXiv:2310.03744).

    (B, N, input) -> (B, N, hidden)
    """

    config_class = ProjectorConfig

    def __init__(self, config: ProjectorConfig):
        super().__init__()
        self.config = config
        self.norm = RMSNorm(config.input_size)
        inner = config.inner_size or config.hidden_size
        self.up = nn.Linear(config.input_size, inner)
        self.act = nn.GELU()
        self.down = nn.Linear(inner, config.hidden_size)
        self.apply(init_weights)

    def forward(self, x: Tensor) -> Tensor:
        return self.down(self.act(self.up(self.norm(x))))
