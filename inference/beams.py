"""Beam search: the likeliest few answers are followed at once, and the best whole one is kept.

Greedy decoding cannot take back a word. Unclear words are understood from what comes after, so
transcripts gain most, and are found this way unless `num_beams` says otherwise. Answers are compared
by their log-probability per token, as in `transformers`.
"""

import torch
from torch import Tensor

from inference.config import GenerateConfig
from inference.notice import notice
from inference.prompt import Prompt
from inference.runner import Runner
from inference.sampling import adjust
from inference.transcripts import ConstrainedDecoder, constrain

AUDIO_BEAMS = 6  # beams of a transcript


def beams_for(config: GenerateConfig, prompt: Prompt) -> int:
    """How many answers to this prompt are followed; 1: no search."""
    if config.num_beams is not None:
        return config.num_beams
    plain = config.temperature == 0.0 and config.repetition_penalty == 1.0
    return AUDIO_BEAMS if prompt.asked is not None and plain else 1


class Search:
    """The answers to one prompt that are being followed, and those that have ended.

    Args:
        width: how many of either.
        limit: tokens of the longest answer.
        constraint: what a transcript may say. CTC scores it to the end of the sound, so that it needs
            no help against shorter ones; other answers are compared by their score per token.
    """

    def __init__(
        self, width: int, limit: int, eos: int, constraint: ConstrainedDecoder | None = None
    ) -> None:
        self.width, self.limit, self.eos, self.constraint = width, limit, eos, constraint
        self.live: list[list[int]] = [[] for _ in range(width)]
        self.ended: list[tuple[float, list[int]]] = []  # (log-probability per token, answer)
        self.done = False

    def step(self, candidates: list[tuple[float, int, int]], steps: Tensor) -> list[tuple[float, int, int]]:
        """One token more of each answer -> `width` of (log-probability, live answer, next token).

        Args:
            candidates: the best of the same, 2 * width.
            steps: (W, V) log-probabilities of the next token.
        """
        if self.done:  # carried along unchanged until the other prompts are done
            followed = candidates[: self.width]
        elif self.constraint is None:
            followed = self.advance(candidates)
        else:
            followed = self.advance(self.constraint.candidates(steps, 2 * self.width))
            if not self.done:
                self.constraint.follow(followed)
        nothing = (float("-inf"), 0, self.eos)
        return followed + [nothing] * (self.width - len(followed))

    def advance(
        self, candidates: list[tuple[float, int, int]]
    ) -> list[tuple[float, int, int]]:
        """Take the best (log-probability, live answer, next token), the best first -> those followed.

        Among 2 * width candidates at least `width` do not end; a constrained decoder may put forward fewer.
        """
        followed = []
        for rank, (score, parent, token) in enumerate(candidates):
            if token != self.eos:
                followed.append((score, parent, token))
            elif rank < self.width:  # one that would not have been followed has not ended well
                self.end(score, self.live[parent], len(self.live[parent]) + 1)
        followed = followed[: self.width]
        if not followed:  # a constrained decoder's candidates may all have ended
            self.done = True
            return []
        self.live = [[*self.live[parent], token] for _, parent, token in followed]
        length = len(self.live[0])
        if length >= self.limit:
            for (score, _, _), answer in zip(followed, self.live, strict=True):
                self.end(score, answer, length)
        full = len(self.ended) >= self.width
        self.done |= full and self.ended[-1][0] >= self.worth(followed[0][0], length)
        return followed

    def end(self, score: float, answer: list[int], length: int) -> None:
        """Keep an answer that is whole, or as long as may be, if it is one of the best `width`."""
        self.ended.append((self.worth(score, length), answer))
        self.ended.sort(key=lambda one: -one[0])
        del self.ended[self.width :]
        self.done |= length > self.limit or len(answer) >= self.limit

    def worth(self, score: float, length: int) -> float:
        """What answers are compared by."""
        return score / length if self.constraint is None else score

    @property
    def best(self) -> list[int]:
        """The answer."""
        return self.ended[0][1]


def search(
    model, run: Runner, logits: Tensor, prompts: list[Prompt], config: GenerateConfig, width: int, rows,
    tokenizer,
) -> list[list[int]]:
    """The answer to each encoded prompt, up to a stop string; transcripts spell what CTC heard.

    An answer that uses up its room in the context is stopped with a notice. Arguments as of `beam_search`;
    `rows` are generation's `Rows`.
    """
    limits = [min(config.max_new_tokens, room) for room in rows.rooms]
    searches = [
        Search(width, limit, config.eos_token_id, constrain(model, prompt, config, tokenizer))
        for prompt, limit in zip(prompts, limits, strict=True)
    ]
    found = beam_search(run, logits, searches, config, rows.mask)
    if any(len(one) >= room < config.max_new_tokens for one, room in zip(found, rows.rooms, strict=True)):
        notice("the context is full: the answer stops here")
    return [watch.cut(reply) for reply, watch in zip(found, rows.watches, strict=True)]


def follow(searches: list[Search], scores: Tensor, steps: Tensor) -> tuple[Tensor, list[int], list[int]]:
    """One token more in every search.

    Args:
        scores: (B, W) log-probabilities of the live answers.
        steps: (B, W, V) of their next tokens.

    Returns:
        The new scores (B, W), the rows that go on (B * W,) and their tokens (B * W,).
    """
    width, V = steps.shape[1:]
    best, places = (scores[..., None] + steps).flatten(1).topk(2 * width)  # (B, 2 * W)
    columns = best.tolist(), (places // V).tolist(), (places % V).tolist()
    followed = [
        search.step(list(zip(*candidates, strict=True)), step)
        for search, step, *candidates in zip(searches, steps, *columns, strict=True)
    ]
    scores = scores.new_tensor([[score for score, _, _ in answers] for answers in followed])
    rows = [row * width + parent for row, answers in enumerate(followed) for _, parent, _ in answers]
    return scores, rows, [token for answers in followed for _, _, token in answers]


@torch.inference_mode()
def beam_search(
    run: Runner, logits: Tensor, searches: list[Search], config: GenerateConfig, mask: Tensor | None = None
) -> list[list[int]]:
    """The answer to each of B prompts.

    Args:
        run: bound to the cache of the prompts, B rows, which stays as it is.
        logits: (B, V) of their last positions.
        searches: new ones, all of one width W.
        mask: bool (B, S), True for real tokens; None: all are.
    """
    B, width, device = len(searches), searches[0].width, logits.device
    rows = torch.arange(B, device=device).repeat_interleave(width)  # (B * W,)
    shared = run.cache.length  # positions that the answers to a prompt have in common
    cache = run.cache.taken(rows, shared + max(search.limit for search in searches))
    run = Runner(run.thinker, cache, config)
    mask = None if mask is None else mask[rows]  # (B * W, S)
    logits = logits[rows]  # (B * W, V)
    scores = logits.new_full((B, width), float("-inf"), dtype=torch.float32)
    scores[:, 0] = 0.0  # all the same so far: one is enough
    while True:
        steps = adjust(logits.float(), config).log_softmax(-1).unflatten(0, (B, width))  # (B, W, V)
        scores, order, tokens = follow(searches, scores, steps)
        if all(search.done for search in searches):
            return [search.best for search in searches]
        cache.reorder(torch.tensor(order, device=device), shared)
        if mask is not None:
            mask = torch.cat([mask, mask.new_ones(len(mask), 1)], dim=1)  # (B * W, S + 1)
        logits = run(tokens, mask).logits  # (B * W, V)
