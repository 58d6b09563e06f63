"""GenerateConfig: how to continue a prompt. It checks its values and imports no torch."""

from dataclasses import dataclass

from inference.caching.options import CacheOptions
from models.errors import UserError
from models.fields import LARGEST, misfits, shown


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
    eos_token_id: int = 2
    suppress_tokens: tuple[int, ...] = ()  # ids never chosen: placeholders must not be made up
    stop_strings: tuple[str, ...] = ()  # the answer ends before any of them
    max_seq_len: int | None = None  # tokens of prompt and reply; None = the model's context
    prefill_chunk: int | None = None  # tokens of a prompt run at once; None = all of them
    vad: bool = True  # sounds without speech are not transcribed (inference.vad)
    video_sound: bool = False  # whether the speech of a video is heard with its frames
    native: str = "auto"  # compiled decoding: auto = where it serves, on = or fail, off = PyTorch alone

    def __post_init__(self) -> None:
        _, wrong = misfits(type(self), vars(self))
        if wrong:
            raise UserError("; ".join(wrong))
        for name, value in vars(self).items():
            if type(value) is int and name != "seed" and abs(value) > LARGEST:
                raise UserError(f"{name} must be at most {LARGEST}, not {shown(value)}")
        if self.do_sample is not None and self.do_sample != (self.temperature > 0.0):
            object.__setattr__(self, "temperature", float(self.do_sample))
        if self.max_new_tokens < 1:
            raise UserError(f"max_new_tokens must be at least 1, not {self.max_new_tokens}")
        if not 0.0 <= self.temperature < float("inf"):
            raise UserError(f"temperature must be 0 (greedy) or more, not {self.temperature}")
        if self.top_k is not None and self.top_k < 0:
            raise UserError(f"top_k must be 0 (off) or more, not {self.top_k}")
        if self.top_p is not None and not 0.0 < self.top_p <= 1.0:
            raise UserError(f"top_p must be above 0 and at most 1 (off), not {self.top_p}")
        if self.min_p is not None and not 0.0 <= self.min_p <= 1.0:
            raise UserError(f"min_p must be between 0 (off) and 1, not {self.min_p}")
        if not 0.0 < self.repetition_penalty < float("inf"):
            raise UserError(
                f"repetition_penalty must be above 0 (1 = off), not {self.repetition_penalty}"
            )
        if self.num_beams is not None:
            self._check_beams(self.num_beams)
        if not 0.0 <= self.ctc_weight < 1.0:
            raise UserError(f"ctc_weight must be 0 (off) or more and below 1, not {self.ctc_weight}")
        if self.seed is not None and not 0 <= self.seed < 2**63:
            raise UserError(f"seed must be between 0 and 2^63 - 1, not {shown(self.seed)}")
        if self.max_seq_len is not None and self.max_seq_len < 2:
            raise UserError(f"max_seq_len must be at least 2, not {self.max_seq_len}")
        if isinstance(self.stop_strings, str) or not all(self.stop_strings):
            raise UserError(
                f"stop_strings must be a list of texts, none empty: {self.stop_strings}"
            )
        object.__setattr__(self, "stop_strings", tuple(self.stop_strings))
        if self.prefill_chunk is not None and self.prefill_chunk < 1:
            raise UserError(f"prefill_chunk must be at least 1, not {self.prefill_chunk}")
        if self.native not in ("auto", "on", "off"):
            raise UserError(f"native must be auto, on or off, not {self.native}")
        self.check_cache()

    def _check_beams(self, beams: int) -> None:
        """Beam search looks for the likeliest answer: nothing is drawn, nothing made unlikely."""
        if beams < 1:
            raise UserError(f"num_beams must be at least 1, not {beams}")
        if beams > 1 and (self.temperature > 0.0 or self.repetition_penalty != 1.0):
            raise UserError("num_beams goes with temperature 0 and repetition_penalty 1 only")
