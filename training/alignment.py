"""Eyes that speak the Thinker's language before the two meet.

Fresh projectors hand the Thinker vectors it has never seen, and grounding then has to emerge from
answers alone: after 600 steps of joint training it had not (docs/lab-notebook.md). A world that we
render knows what every cell shows, so the projector is first fitted to give each image token the
sum of the Thinker's own embeddings of the words for it: "red" + "circle", "dog", "sign" + "stop",
"blue" + "background". To the Thinker a picture then reads like a 7 × 7 table of words.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from data.render import PLANES, label_vocab
from data.shards import ShardReader
from models.projector import Projector
from models.thinker import Thinker
from models.tokenizer import Tokenizer
from models.vision import VisionEncoder
from training.media import picture

PICTURES = 1500  # looked at once: the eyes stay as they are
FIT_STEPS = 1000
FIT_BATCH = 512  # cells
FIT_LR = 3e-3
EMPTY_KEPT = 0.1  # share of the empty cells that are fitted: most cells are empty


def cell_words(cells: Tensor, background: str) -> list[str]:
    """The words for each of the 49 cells of a picture. cells (planes, 7, 7)"""
    vocab = label_vocab()
    out = []
    for column in cells.flatten(1).T.tolist():
        labels = dict(zip(PLANES, column, strict=True))
        if not labels["object"]:
            out.append(f" {background} background")
            continue
        words = [vocab[p][labels[p]] for p in ("size", "color", "object") if labels[p]]
        if labels["sign"]:
            text = vocab["sign"][labels["sign"]]
            digits = [f"digit_{place}" for place in ("hundreds", "tens", "ones")]
            number = "".join(vocab[p][labels[p]] for p in digits)
            words.append(number if text == "<number>" else text)
        out.append(" " + " ".join(words))
    return out


def word_vector(words: str, tokenizer: Tokenizer, embeddings: Tensor) -> Tensor:
    """Sum of the embeddings of the words' pieces. (hidden,)"""
    return embeddings[tokenizer.encode(words)].sum(0)


@torch.no_grad()
def look(
    vision: VisionEncoder, scenes: ShardReader, count: int, tokenizer: Tokenizer, table: Tensor
) -> tuple[Tensor, Tensor]:
    """Image tokens (n, D) and what each should read as (n, hidden)."""
    generator = torch.Generator().manual_seed(0)
    known: dict[str, Tensor] = {}
    seen, wanted = [], []
    for start in range(0, count, 32):
        records = [scenes[i] for i in range(start, min(start + 32, count))]
        with torch.autocast("cpu", torch.bfloat16):
            tokens = vision(torch.stack([picture(r["image"]) for r in records])).float()
        for row, record in zip(tokens, records, strict=True):
            cells = torch.from_numpy(record["cells"].copy())  # (planes, 7, 7)
            keep = cells[PLANES.index("object")].flatten() > 0
            keep |= torch.rand(keep.shape, generator=generator) < EMPTY_KEPT
            words = cell_words(cells, record["scene"]["background"]["color"])
            for token, said, kept in zip(row, words, keep.tolist(), strict=True):
                if kept:
                    if said not in known:
                        known[said] = word_vector(said, tokenizer, table)
                    seen.append(token)
                    wanted.append(known[said])
    return torch.stack(seen), torch.stack(wanted)


def align_eyes(
    projector: Projector,
    vision: VisionEncoder,
    thinker: Thinker,
    tokenizer: Tokenizer,
    scenes: ShardReader,
) -> float:
    """Fit the projector in place; returns the share of the targets' variance it explains."""
    table = thinker.model.embed_tokens.weight.detach().float()  # (V, hidden)
    count = min(PICTURES, len(scenes))
    seen, wanted = look(vision.eval(), scenes, count, tokenizer, table)
    scale = wanted.std()
    optimizer = torch.optim.AdamW(projector.parameters(), FIT_LR, weight_decay=0.0)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, FIT_LR, FIT_STEPS)
    nn.init.normal_(projector.up.weight, std=seen.shape[1] ** -0.5)
    generator = torch.Generator().manual_seed(1)
    for _ in range(FIT_STEPS):
        pick = torch.randint(len(seen), (FIT_BATCH,), generator=generator)
        loss = F.mse_loss(projector(seen[pick]) / scale, wanted[pick] / scale)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    with torch.no_grad():
        left = (projector(seen) - wanted).square().mean() / wanted.var(0).mean()
    return 1.0 - float(left)
