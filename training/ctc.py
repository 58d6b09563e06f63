"""CTC in training: its labels and its losses, and where each text token is heard."""

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

from models.audio import within
from models.ctc import to_alphabet
from models.tokenizer import Tokenizer


def ctc_frames_needed(labels: Sequence) -> int:
    """Frames that CTC needs: one a label, and a blank between equal neighbours."""
    return len(labels) + sum(a == b for a, b in zip(labels, labels[1:], strict=False))


def ctc_labels(path: list[int]) -> list[int]:
    """A path -> its labels: merge repeats, drop blanks (0)."""
    return [b for a, b in zip([0, *path], path, strict=False) if b and a != b]


def token_ends(tokenizer: Tokenizer, ids: list[int]) -> list[int]:
    """How many letters of the CTC alphabet have been said at the end of each text token."""
    return [len(to_alphabet(tokenizer.decode(ids[: k + 1]))) for k in range(len(ids))]


def token_places(said: list[int], ends: list[int], tokens: int) -> list[int]:
    """The audio token of each text token: where its last letter is heard, one a place.

    `said` holds the audio token of each letter, `ends` each text token's letters so far.
    """
    places: list[int] = []
    for k, end in enumerate(ends):
        last = tokens - (len(ends) - k)  # leaves room for those to come
        after = places[-1] + 1 if places else 0
        places.append(min(last, max(after, said[max(0, end - 1)])))
    return places


def ctc_loss(log_probs: Tensor, lengths: Tensor, labels: list[Tensor]) -> Tensor:
    """Summed CTC loss. log_probs (B, S, labels), lengths (B,), labels: B rows"""
    return F.ctc_loss(
        log_probs.transpose(0, 1),
        torch.cat(labels),
        lengths,
        torch.tensor([len(row) for row in labels]),
        reduction="sum",  # zero_infinity stays off: clips too short for CTC are left out
    )


def disagreement(log_probs: Tensor, lengths: Tensor) -> Tensor:
    """Kullback-Leibler divergence of each view from the other, summed. (B, S, labels), (B,) -> ()

    The first half of the rows are clips, the second the same clips augmented otherwise. No gradient
    goes through the view that is compared with.
    """
    first, second = log_probs.detach().chunk(2)
    other = torch.cat([second, first])  # (B, S, labels)
    apart = F.kl_div(log_probs, other, reduction="none", log_target=True).sum(2)  # (B, S)
    return apart[within(lengths, apart.shape[1])].sum()
