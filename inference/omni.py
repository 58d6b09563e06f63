"""Omni: the public face of μOmni. Text, pictures, sounds and videos in, text and speech out.

    omni = Omni.from_pretrained()
    omni.chat("What do you see?", image="photo.png")

Turns what a user brings into one prompt and the reply's ids into text; the networks are in
`models`, the token loop in `inference.generation`, chats with memory in `inference.session`.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import torch

from inference.caching.planning import resolve
from inference.config import GenerateConfig
from inference.generation import Generator, context_length, generate_batch
from inference.loading import load_checkpoint
from inference.long_audio import transcribe_long
from inference.media import LIMITS, as_list, load_audio, load_image, load_video
from inference.prompt import Picture, Prompt, Sound, UserTurn, as_requests
from inference.session import ChatSession
from inference.shortened import shortened
from inference.speech import Speaker, speakable
from inference.stopping import cut, until
from inference.subtitles import Segment
from inference.thinking import think
from inference.tidied import tidied
from inference.vad import has_speech
from models.audio import audio_tokens
from models.errors import ContextError, UserError
from models.image import image_to_tensor
from models.mel import log_mel
from models.omni import NO_SPEECH, TRANSCRIBE_QUESTION, OmniModel, thinker_of
from models.thinker import Thinker
from models.tokenizer import Tokenizer

SHIPPED = Path(__file__).resolve().parent.parent / "checkpoints" / "omni_sft_tiny"
IMAGE_QUESTION = "What do you see?"  # asked of a picture that comes without words
VIDEO_QUESTION = "What happens?"
BATCH = 8  # requests answered together: compiled decoding serves no more rows


class Omni:
    """One loaded checkpoint. Keyword settings of its methods are GenerateConfig's fields."""

    def __init__(self, model: OmniModel | Thinker, tokenizer: Tokenizer, folder: Path) -> None:
        self.model = model
        self.tokenizer = tokenizer
        self.folder = folder
        self.new_generator = Generator  # another one after `use_draft`
        self.limits = LIMITS  # how much of media is read
        self.plans: dict[str, dict] = {}  # what `auto` settings measured
        self._speaker: Speaker | None = None

    @classmethod
    def from_pretrained(
        cls,
        folder: str | Path | None = None,
        device: str = "cpu",
        dtype: str = "fp32",
        model_name: str | None = None,
    ) -> "Omni":
        """Load a checkpoint folder (default: the shipped one): omni, text alone, or a dense Qwen3.

        Args:
            model_name: a folder, or a name at Hugging Face, whose tokenizer is used instead.

        Raises:
            UserError: folder, weights, device or dtype missing, corrupt or unknown.
        """
        folder = SHIPPED if folder is None else Path(folder)
        return cls(*load_checkpoint(folder, device, dtype, model_name), folder)

    # ---- text out

    def chat(self, text: str | None = None, **request) -> str:
        """The whole answer; arguments as for `stream`."""
        return "".join(self.stream(text, **request))

    def stream(
        self,
        text: str | None = None,
        *,
        image=None,
        audio=None,
        video=None,
        system_prompt: str | None = None,
        **settings,
    ) -> Iterator[str]:
        """The answer in pieces as it is generated.

        Without text pictures are described and speech is answered. Each medium may be a list.

        Args:
            text: the question.
            image: a path, PIL image or uint8 array.
            audio: a path or (samples, rate).
            video: a path.
            system_prompt: what stands before the conversation.
            settings: fields of GenerateConfig.
        """
        config = self.config(**settings)
        asked = self.take(text, image, audio, video, config)
        if asked.silent:
            return iter([NO_SPEECH])
        prompt = self.prompts([asked], config, system_prompt)[0]
        generator = self.generator(config, reserve=len(prompt) + config.max_new_tokens)
        return self.text(generator.stream(prompt), config)

    def batch(self, requests: list[dict | str], batch_size: int = BATCH, **settings) -> list[str]:
        """Answers to several requests, `batch_size` at a time, the same as one by one.

        Each request is a text, or a dict with any of text, image, audio, video, system_prompt.
        """
        if not isinstance(batch_size, int) or batch_size < 1:
            raise UserError(f"batch_size must be at least 1, not {batch_size}")
        config = self.config(**settings)
        requests = as_requests(requests)
        answers: list[str] = []
        keys = ("text", "image", "audio", "video")
        for start in range(0, len(requests), batch_size):
            group = requests[start : start + batch_size]
            taken = [self.take(*map(request.get, keys), config) for request in group]
            prompts = [
                self.prompts([asked], config, request.get("system_prompt"))[0]
                for asked, request in zip(taken, group, strict=True) if not asked.silent
            ]
            replies = iter(generate_batch(self.model, prompts, config, self.tokenizer) if prompts else [])
            for asked in taken:
                text = NO_SPEECH if asked.silent else self.tokenizer.decode(next(replies))
                answers.append(cut(text, config.stop_strings))
        return answers

    def transcribe(self, audio, **settings) -> str:
        """The words of a recording of any length; "" where nobody speaks."""
        return " ".join(segment.text for segment in self.segments(audio, **settings))

    def segments(self, audio, progress=None, **settings) -> Iterator[Segment]:
        """The words with their times, see inference.long_audio.transcribe_long."""
        return transcribe_long(self, audio, self.limits, progress=progress, **settings)

    def session(self, system_prompt: str | None = None, **settings) -> ChatSession:
        """A conversation that remembers; its cache lives across turns."""
        return ChatSession(self, system_prompt, **settings)

    def generator(self, config: GenerateConfig, reserve: int | None = None) -> Generator:
        """What continues a context of this checkpoint."""
        return self.new_generator(self.model, config, reserve, self.tokenizer)

    def use_draft(self, source: str | Path, spec_k: int = 4, **options) -> None:
        """Decode speculatively: the same answers, sooner where guesses are right.

        Args:
            source: "table" guesses from the table that ships; "lookup" from the prompt itself; a
                `.safetensors` file is another table (export/draft_table.py); else a Thinker's folder.
        """
        from inference.speculative.generator import with_draft

        self.new_generator = with_draft(self.model, source, spec_k=spec_k, **options)

    def text(self, tokens: Iterator[int], config: GenerateConfig) -> Iterator[str]:
        """Text of tokens as they come, up to the first stop string."""
        return until(self.tokenizer.decode_stream(tokens), config.stop_strings)

    # ---- speech out

    @property
    def speaker(self) -> Speaker:
        """The speaking parts, loaded when first needed."""
        if self._speaker is None:
            self.need_omni("speaking")
            self._speaker = Speaker.from_pretrained(self.folder)
        return self._speaker

    def check_speech(self, **settings) -> None:
        """Refuse what `speak` would, before an answer is worked out for it to say."""
        self.speaker.check(**settings)

    def speak(self, text: str, voice: str | None = None, **settings) -> tuple[np.ndarray, int]:
        """Read exactly this text aloud -> float32 (samples,) in [-1, 1], and their rate in Hz.

        Args:
            settings: speed, vocoder and seed, as for `Speaker.speak_stream`.
        """
        return self.speaker.speak(speakable(text), voice, **settings)

    def speak_stream(
        self, text: str | Iterable[str], voice: str | None = None, **settings
    ) -> Iterator[np.ndarray]:
        """The same in chunks, float32 (samples,), each as soon as it is ready.

        `text` may be one that is still being written, as `stream` gives it: then each sentence is
        spoken once it is whole.
        """
        text = speakable(text) if isinstance(text, str) else text
        return self.speaker.speak_stream(text, voice, **settings)

    # ---- building prompts

    def config(self, **settings) -> GenerateConfig:
        """Settings completed with what this checkpoint's vocabulary needs; `auto` is measured."""
        # A made-up placeholder would ask for a picture that is not there when read again.
        made_up = tuple(sorted(self.tokenizer.special - {self.tokenizer.eos}))
        fixed = {"eos_token_id": self.tokenizer.eos, "suppress_tokens": made_up}
        if settings.get("eos_token_id", 0) is None:  # a turn of a chat ends by it
            del settings["eos_token_id"]
        config = GenerateConfig(**fixed | settings)
        return resolve(config, thinker_of(self.model), self.tokenizer, self.plans)

    def room(self, config: GenerateConfig) -> int:
        """Tokens a prompt may have so that a reply of up to a quarter of the context still fits."""
        limit = context_length(self.model, config)
        return limit - min(config.max_new_tokens, limit // 4)

    def prompts(
        self, questions: list[UserTurn], config: GenerateConfig, system_prompt: str | None = None
    ) -> list[Prompt]:
        """First turns of conversations, with the chain of thought about their media."""
        head = self.head(system_prompt, config)
        room = self.room(config) - len(head)
        return [head + turn for turn in self.turns(questions, config, room)]

    def turns(self, questions: list[UserTurn], config: GenerateConfig, room: int) -> list[Prompt]:
        """User turns without bos, each in `room` tokens; with thinking where the config wants it."""
        turns = [self.phrase(question, room) for question in questions]
        if not config.think or not isinstance(self.model, OmniModel):
            return turns
        return think(self, turns, config, room)

    def head(self, system_prompt: str | None, config: GenerateConfig) -> Prompt:
        """What opens every conversation: bos and the system prompt."""
        ids = self.tokenizer.encode_head(system_prompt)
        if len(ids) > self.room(config) // 2:
            raise ContextError(
                f"the system prompt has {len(ids)} tokens, more than half of the context's "
                f"{self.room(config)}: make it shorter"
            )
        return Prompt(ids)

    def take(
        self, text, image=None, audio=None, video=None, config: GenerateConfig | None = None
    ) -> UserTurn:
        """What a user brings, loaded and checked."""
        if text is not None and not isinstance(text, str):
            raise UserError(f"text must be a string, not {type(text).__name__}")
        config = config or GenerateConfig(vad=False)
        images, waves = self.load_images(image, video, config)
        asked = self.load_sounds(audio)  # the last is the question where there is no text
        voices, spoken = ([w for w in each if not config.vad or has_speech(w)] for each in (waves, asked))
        sounds = [Sound(log_mel(torch.from_numpy(wave))) for wave in voices + spoken]
        text = (text or "").strip()
        if asked and not sounds and not images:
            return UserTurn(text, silent=True)
        if not text and not spoken:
            if not images:
                raise UserError("there is nothing to answer: give text, an image, audio or video")
            text = VIDEO_QUESTION if as_list(video) else IMAGE_QUESTION
        return UserTurn(text, images, sounds)

    def phrase(self, question: UserTurn, room: int | None = None) -> Prompt:
        """A turn as the model reads it, without bos; its text is cut to `room` tokens."""
        lengths = [audio_tokens(sound.mel.shape[1]) for sound in question.sounds]
        parts = [{"type": "image"} for _ in question.images]
        parts += [{"type": "audio", "tokens": length} for length in lengths]
        ids = self.encode_turn(parts, "")
        ours = isinstance(self.tokenizer, Tokenizer)  # a foreign vocabulary reads what was typed
        text = tidied(question.text) if ours else question.text
        if room is not None:
            text = shortened(text, room - len(ids), self.tokenizer, bool(parts))
        sounds = question.sounds
        asked = sounds[0] if len(sounds) == 1 and text == TRANSCRIBE_QUESTION else None
        return Prompt(self.encode_turn(parts, text), question.images, sounds, asked)

    def encode_turn(self, parts: list[dict], text: str) -> list[int]:
        """Ids of a user turn without bos: media first, then the text, then the answer's opening."""
        content = parts + ([{"type": "text", "text": text}] if text else [])
        return self.tokenizer.encode_turn(content)

    def load_images(self, image, video, config) -> tuple[list[Picture], list[np.ndarray]]:
        """Images, then the frames of videos; and the videos' sounds, float32 (samples,)."""
        images, videos = as_list(image), as_list(video)
        if images or videos:
            self.need_omni("seeing")
        pixels = [image_to_tensor(load_image(source, self.limits)) for source in images]
        clips = [load_video(source, self.limits, config.video_sound) for source in videos]
        pixels += [image_to_tensor(frame, trim=False) for clip in clips for frame in clip.frames]
        return list(map(Picture, pixels)), [clip.sound for clip in clips if clip.sound is not None]

    def load_sounds(self, audio) -> list[np.ndarray]:
        """Sounds, each float32 (samples,) at 16 kHz."""
        sounds = as_list(audio)
        if sounds:
            self.need_omni("hearing")
        return [load_audio(source, self.limits) for source in sounds]

    def need_omni(self, sense: str) -> None:
        """Refuse what a text-only checkpoint cannot do."""
        if not isinstance(self.model, OmniModel):
            raise UserError(
                f"{self.folder} is a text-only checkpoint: {sense} needs an omni one, "
                "such as checkpoints/omni_sft_tiny"
            )
