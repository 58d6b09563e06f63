"""What the Thinker expects people to say: how likely it finds a line of text by itself.

The table of words knows two words of context, the Thinker the whole line. Where it has learnt what people
say (training/spoken.py), it judges the readings of a sound beside the table (models/readings.py).
"""

from __future__ import annotations

import torch
from torch.nn import functional as F
from torch.nn.utils.rnn import pad_sequence

from models.thinker import Thinker
from models.tokenizer import BOS, EOS, PAD, Tokenizer


def line_ids(tokenizer: Tokenizer, line: str) -> list[int]:
    """A line by itself, as the Thinker learns and judges it."""
    return [BOS, *tokenizer.encode(line), EOS]


@torch.inference_mode()
def expected(thinker: Thinker, tokenizer: Tokenizer, lines: list[str]) -> list[float]:
    """Log-probability in nats of each of these lines, in letters as ears spell (models/letters.py)."""
    device = thinker.head_weight.device
    rows = [torch.tensor(line_ids(tokenizer, line), device=device) for line in lines]
    ids = pad_sequence(rows, batch_first=True, padding_value=PAD)  # (N, L)
    hidden = thinker.hidden(thinker.embed(ids[:, :-1]))  # (N, L - 1, hidden)
    said = thinker.logits(hidden).float().transpose(1, 2)  # (N, V, L - 1)
    nats = F.cross_entropy(said, ids[:, 1:], ignore_index=PAD, reduction="none")  # (N, L - 1)
    return (-nats.sum(1)).tolist()
