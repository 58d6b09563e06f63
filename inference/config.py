"""GenerateConfig: how to continue a prompt. It checks its values and imports no torch."""

from dataclasses import dataclass
from math import inf

from inference.caching.options import CacheOptions
from models.errors import UserError
from models.fields import LARGEST, broken, misfits, shown

RULES = {  # what a field's value must be, where it has one
    "max_new_tokens": (lambda n: n >= 1, "at least 1"),
    "temperature": (lambda x: 0.0 <= x < inf, "0 (greedy) or more"),
    "num_beams": (lambda n: 1 <= n <= 128, "from 1 to 128"),  # each has a cache of its own
    "ctc_weight": (lambda x: 0.0 <= x < 1.0, "0 (off) or more and below 1"),
    "top_k": (lambda n: n >= 0, "0 (off) or more"),
    "top_p": (lambda x: 0.0 < x <= 1.0, "above 0 and at most 1 (off)"),
    "min_p": (lambda x: 0.0 <= x <= 1.0, "between 0 (off) and 1"),
    "repetition_penalty": (lambda x: 0.01 <= x < inf, "at least 0.01 (1 = off)"),
    "seed": (lambda n: 0 <= n < 2**63, "between 0 and 2^63 - 1"),
    "stop_strings": (all, "a list of texts, none empty"),
    "max_seq_len": (lambda n: n >= 2, "at least 2"),
    "prefill_chunk": (lambda n: n >= 1, "at least 1"),
    "native": (("auto", "on", "off").__contains__, "auto, on or off"),
}


@dataclass(frozen=True)
class GenerateConfig(CacheOptions):
    """Settings of one generation; greedy by default, so the same input gives the same output."""

    max_new_tokens: int = 128
    think: bool = True  # chain of thought about images and sounds; False = answer directly
    temperature: float = 0.0  # 0 = greedy
    do_sample: bool | None = None  # False = greedy; True = at temperature 1 unless given; None: as it says
    num_beams: int | None = None  # None = 6 for a transcript, else 1
    ctc_weight: float = 0.75  # of CTC and n-gram in transcripts, the rest is the Thinker's; 0 = off
    top_k: int | None = None  # None or 0 = off
    top_p: float | None = None  # None or 1.0 = off
    min_p: float | None = None  # share of the likeliest token's probability; None or 0.0 = off
    repetition_penalty: float = 1.0  # 1.0 = off; above: tokens of the context are less likely
    seed: int | None = None  # None = a fresh one for each generation
    eos_token_id: int | None = 2  # ends the reply; None = nothing does but its length
    suppress_tokens: tuple[int, ...] = ()  # ids never chosen: placeholders must not be made up
    stop_strings: tuple[str, ...] = ()  # the answer ends before any of them
    max_seq_len: int | None = None  # tokens of prompt and reply; None = the model's context
    prefill_chunk: int | None = None  # tokens of a prompt run at once; None = all of them
    vad: bool = True  # sounds without speech are not transcribed (inference.vad)
    video_sound: bool = True  # the speech of a video is heard with its frames
    native: str = "auto"  # compiled decoding: auto = where it serves, on = or fail, off = PyTorch alone

    def __post_init__(self) -> None:
        good, wrong = misfits(type(self), vars(self))
        if wrong:
            raise UserError("; ".join(wrong))
        for name, value in good.items():  # 2.0 is 2 where a whole number is meant
            object.__setattr__(self, name, value)
        for name, value in vars(self).items():
            if type(value) is int and name != "seed" and abs(value) > LARGEST:
                raise UserError(f"{name} must be at most {LARGEST}, not {shown(value)}")
        if self.do_sample is not None:  # from now on the temperature says it
            if self.do_sample != (self.temperature > 0.0):
                object.__setattr__(self, "temperature", float(self.do_sample))
            object.__setattr__(self, "do_sample", None)
        if wrong := broken(RULES, vars(self)):
            raise UserError(wrong[0])
        # Beam search looks for the likeliest answer: nothing is drawn, nothing made unlikely.
        plain = self.temperature == 0.0 and self.repetition_penalty == 1.0
        if (self.num_beams or 1) > 1 and not plain:
            raise UserError("num_beams goes with temperature 0 and repetition_penalty 1 only")
        self.check_cache()
