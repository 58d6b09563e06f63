"""The optimisers and the learning-rate schedule. Refuses to know what the model is for."""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.tensor import DTensor
from torch.optim import AdamW, Muon, Optimizer

from models.processor import multiplies_bfloat16
from training.config import TrainConfig

HIDDEN = {"layers", "blocks"}  # module lists whose Linear weights are "hidden matrices"


class SharedMuon(Muon):
    """torch.optim.Muon, its matrices shared out among processes that hold the same weights.

    The iteration is a quarter of a Thinker's step on a CPU. It runs in float32 on processors without
    bfloat16, which multiply that in software, eighty times as slowly (Zen 3). The rule is Keller
    Jordan's, https://kellerjordan.github.io/posts/muon, its size Moonshot's, arXiv:2502.16982.
    """

    @torch.no_grad()
    def step(self, closure=None):
        """One step as torch.optim.Muon takes it, with `match_rms_adamw` and Nesterov's momentum."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            moved = [p for p in group["params"] if p.grad is not None]
            shared = list(zip(moved, owners(moved), strict=True))
            for p, owner in shared:
                momentum = self.state[p].setdefault("momentum_buffer", torch.zeros_like(p.grad))
                momentum.lerp_(p.grad, 1 - group["momentum"])
                if owner is None or owner == dist.get_rank():
                    update = orthogonal(p.grad.lerp(momentum, group["momentum"]), group)
                    p.mul_(1 - group["lr"] * group["weight_decay"])
                    p.add_(update, alpha=-0.2 * group["lr"] * max(p.shape) ** 0.5)
            for p, owner in shared:
                if owner is not None:
                    dist.broadcast(p, owner)
        return loss


def owners(matrices: list[nn.Parameter]) -> list[int | None]:
    """The process that moves each matrix; None: each moves its own (alone, or its shard)."""
    if not dist.is_initialized() or any(isinstance(p, DTensor) for p in matrices):
        return [None] * len(matrices)
    return [i % dist.get_world_size() for i in range(len(matrices))]


def orthogonal(grad: Tensor, group: dict) -> Tensor:
    """Near the orthogonal matrix that is nearest: Newton and Schulz's iteration. (rows, columns)"""
    a, b, c = group["ns_coefficients"]
    x = grad.T if grad.shape[0] > grad.shape[1] else grad
    x = x.bfloat16() if multiplies_bfloat16(x.device) else x
    x = x / x.norm().clamp(min=group["eps"])  # spectral norm at most 1
    for _ in range(group["ns_steps"]):
        gram = x @ x.T
        x = torch.addmm(x, torch.addmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.T if grad.shape[0] > grad.shape[1] else x


def decay_start(config: TrainConfig) -> int:
    """The first step whose learning rate is below the peak again."""
    return config.steps - round(config.steps * config.decay_fraction)


def lr_at(step: int, config: TrainConfig) -> float:
    """Warmup, constant, then a linear fall to `final_lr_ratio` at the last step."""
    start = decay_start(config)
    lr = config.lr * min(1.0, (step + 1) / max(1, config.warmup_steps))
    if step >= start:
        done = (step - start + 1) / (config.steps - start)
        lr *= 1.0 - (1.0 - config.final_lr_ratio) * done
    return lr


def make_optimizers(model: nn.Module, config: TrainConfig) -> list[Optimizer]:
    """AdamW for everything, or Muon for hidden matrices and AdamW for the rest."""
    owners = {
        f"{prefix}.{name}".lstrip("."): module
        for prefix, module in model.named_modules()
        for name, _ in module.named_parameters(recurse=False)
    }
    hidden, matrices, others = [], [], []
    for name, p in model.named_parameters():
        if not p.requires_grad:
            continue
        linear = isinstance(owners[name], nn.Linear) and p.ndim == 2
        if config.optimizer == "muon" and linear and HIDDEN & set(name.split(".")):
            hidden.append(p)
        elif p.ndim >= 2 and not isinstance(owners[name], nn.Embedding):
            matrices.append(p)
        else:
            others.append(p)
    optimizers: list[Optimizer] = []
    groups = [(matrices, config.weight_decay), (others, 0.0)]
    groups = [{"params": ps, "weight_decay": decay} for ps, decay in groups if ps]
    if groups:
        optimizers.append(AdamW(groups, lr=config.lr, betas=(0.9, 0.95), eps=1e-8, fused=True))
    if hidden:
        optimizers.append(
            SharedMuon(  # the update's size matches AdamW's, so both use one learning rate
                hidden,
                lr=config.lr,
                weight_decay=config.weight_decay,
                nesterov=True,
                adjust_lr_fn="match_rms_adamw",
            )
        )
    return optimizers


def set_lr(optimizers: list[Optimizer], lr: float) -> None:
    """Sets every group's learning rate."""
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            group["lr"] = lr
