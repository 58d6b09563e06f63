"""GenerateConfig: how to continue a prompt. It checks its values and imports no torch."""

from dataclasses import dataclass

from inference.cachepolicy import Gates
from inference.decodeplan import DEFAULT_TABLE, PLANS, Bucket, parse_table
from models.cachekind import AUTO, parse_cache_kind
from models.errors import UserError
from models.fields import LARGEST, misfits, shown


@dataclass(frozen=True)
class GenerateConfig:
    """Settings of one generation; greedy by default, so the same input gives the same output."""

    max_new_tokens: int = 128
    notes: bool = True  # what is seen and heard is written down first; False = answered at once
    temperature: float = 0.0  # 0 = greedy
    num_beams: int | None = None  # answers followed at once; None = 6 of a sound, 4 for notes, else 1
    ctc_weight: float | None = None  # of what the ears read in transcripts; 0: off; None: what is best
    top_k: int | None = None  # None or 0 = off
    top_p: float | None = None  # None or 1.0 = off
    min_p: float | None = None  # share of the likeliest token's probability; None or 0.0 = off
    repetition_penalty: float = 1.0  # 1.0 = off; above: what was read or said is less likely
    seed: int | None = None  # None = a fresh one for each generation
    eos_token_id: int = 2
    suppress_tokens: tuple[int, ...] = ()  # ids never chosen: placeholders must not be made up
    stop_strings: tuple[str, ...] = ()  # the answer ends before any of them
    max_seq_len: int | None = None  # tokens of prompt and reply; None = the model's context
    prefill_chunk: int | None = None  # tokens of a prompt run at once; None = all of them
    cache_kind: str | None = None  # see models.cachekind, or auto; None = as the weights; bf16 for int8
    cache_budget_mb: float | None = None  # auto: the most a full context's cache may take (10^6 bytes)
    cache_plan_path: str | None = None  # a JSON file that keeps what auto measured
    cache_probe_days: float = 30.0  # after so many days it is measured again
    max_delta_nll: float = 0.05  # auto: nats a token lost against fp32 on what must be looked up
    max_ppl_ratio: float = 1.01  # auto: perplexity of the whole prompt against fp32's
    max_mean_kl: float = 0.01  # auto: mean divergence from fp32's distributions, in nats
    decode_plan: str = "none"  # none | fixed | auto, see inference.decodeplan
    decode_table: str | None = None  # CONTEXT:CHUNK:WINDOW,… of the plan; None = its own
    vad: bool = True  # sounds without speech are not transcribed (inference.vad)
    video_sound: bool = True  # the sound of a video is heard with its frames, where somebody speaks
    native: str = "auto"  # compiled decoding: auto = where it serves, on = or fail, off = PyTorch alone

    def __post_init__(self) -> None:
        _, wrong = misfits(type(self), vars(self))
        if wrong:
            raise UserError("; ".join(wrong))
        for name, value in vars(self).items():
            if type(value) is int and name != "seed" and abs(value) > LARGEST:
                raise UserError(f"{name} must be at most {LARGEST}, not {shown(value)}")
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
        if self.ctc_weight is not None and not 0.0 <= self.ctc_weight < 1.0:
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
        self._check_plans()

    def _check_beams(self, beams: int) -> None:
        """Beam search looks for the likeliest answer: nothing is drawn, nothing made unlikely."""
        if beams < 1:
            raise UserError(f"num_beams must be at least 1, not {beams}")
        if beams > 1 and (self.temperature > 0.0 or self.repetition_penalty != 1.0):
            raise UserError("num_beams goes with temperature 0 and repetition_penalty 1 only")

    def _check_plans(self) -> None:
        """The settings that cache and decode plans are made from."""
        if self.cache_kind not in (None, AUTO):
            parse_cache_kind(self.cache_kind, parts=3)  # a model with two parts refuses three itself
        if self.cache_budget_mb is not None:
            if self.cache_kind != AUTO:
                raise UserError("cache_budget_mb is for cache_kind auto")
            if not self.cache_budget_mb > 0:
                raise UserError(f"cache_budget_mb must be above 0, not {self.cache_budget_mb}")
        if self.cache_plan_path is not None and AUTO not in (self.cache_kind, self.decode_plan):
            raise UserError("cache_plan_path is for cache_kind auto or decode_plan auto")
        if not self.cache_probe_days >= 0:
            raise UserError(f"cache_probe_days must be 0 or more, not {self.cache_probe_days}")
        self.gates()
        if self.decode_plan not in PLANS:
            raise UserError(f"decode_plan must be {', '.join(PLANS)}, not {self.decode_plan!r}")
        if self.decode_table is not None:
            if self.decode_plan == "none":
                raise UserError("decode_table is for decode_plan fixed or auto")
            parse_table(self.decode_table)

    def gates(self) -> Gates:
        """What a cache kind may cost to be chosen by auto."""
        return Gates(self.max_delta_nll, self.max_ppl_ratio, self.max_mean_kl)

    def plan(self) -> tuple[Bucket, ...]:
        """How to read contexts of each length; empty: all in one way."""
        if self.decode_plan == AUTO:
            raise UserError("decode_plan auto is measured with a tokenizer's text: ask through Omni")
        if self.decode_plan == "none":
            return ()
        return parse_table(self.decode_table or DEFAULT_TABLE)
