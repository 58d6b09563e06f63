"""Model cards of the shipped checkpoints: what they are, learnt from what, how long, and limits.

Scores are not written here: evaluate.py fills the tables between the results markers.
"""

from __future__ import annotations

# Real sets by the names their readers give them: (what it is, licence).
REAL = {
    "self_dialogue": ("Self-dialogue corpus: dialogues about films, music, sport", "BSD-3-Clause"),
    "sgd_dialogues": ("Schema-Guided Dialogue: task dialogues", "CC BY-SA 4.0"),
    "synthetic_persona_chat": ("Synthetic-Persona-Chat: chats", "CC BY 4.0"),
    "taskmaster4_coffee": ("Taskmaster: coffee orders", "CC BY 4.0"),
    "stories": ("Standard Ebooks: Aesop, Grimm, Wizard of Oz", "public domain, CC0"),
    "ljspeech": ("LJ Speech: transcripts only", "public domain"),
    "librispeech": ("LibriSpeech dev-clean: transcripts only", "CC BY 4.0"),
    "piper": ("Piper recording prompts", "MIT"),
    "opentriviaqa": ("OpenTriviaQA: questions, to be declined", "CC BY-SA 4.0"),
    "cmudict": ("CMU Pronouncing Dictionary: its word list", "unrestricted"),
    "speechocean762": ("speechocean762: recorded speech", "free, also commercially (README)"),
    "asterisk": ("Asterisk's prompts (Debian): recorded", "CC BY-SA 3.0"),
    "fsdd": ("Free Spoken Digit Dataset: recorded digits", "CC BY-SA 4.0"),
    "speech_commands_3words": ("Speech Commands, three words: recorded", "CC BY 4.0"),
    "cifar10": ("CIFAR-10, 15,000 photographs (Krizhevsky 2009)", "none stated: research data"),
    "cifar100": ("CIFAR-100, 50,000 photographs (Krizhevsky 2009)", "none stated: research data"),
    "clothing_cc0": ("Clothing dataset: 3,068 photographs", "CC0"),
}
GENERATED = {
    "thinker": "conversations of a small world with exact answers, and scenes told in words with questions",
    "omni": (
        "conversations, pictures and clips from scene graphs (shapes, signs, and the drawings of several "
        "artists, whose licences docs/data.md lists), and speech by flite, festival, espeak-ng, "
        "Kokoro-82M and Hibari, all made by this repository from seeds"
    ),
}


def front_matter(tags: list[str]) -> str:
    """What Hugging Face reads."""
    lines = "".join(f"  - {tag}\n" for tag in tags)
    return (
        f"---\nlicense: apache-2.0\nlanguage:\n  - en\nlibrary_name: pytorch\ntags:\n{lines}---\n"
    )


def stages_table(records: dict[str, dict]) -> str:
    """Each stage: command, seed, steps, time."""
    rows = "| stage | command | seed | steps | seconds | device |\n|---|---|---|---|---|---|\n"
    for stage, record in records.items():
        known = [str(record.get(key, "–")) for key in ("steps", "seconds", "device")]
        rows += f"| {stage} | `python {record['command']}` | {record['seed']} | {' | '.join(known)} |\n"
    total = sum(record.get("seconds", 0.0) for record in records.values())
    return rows + (
        f"\n{total / 3600:.1f} hours of training in all. "
        "`training/<stage>.json` holds the exact command as it was run, commits, machines, settings, dates, "
        "versions and the losses of the first steps.\n"
    )


def real_table(names: list[str]) -> str:
    """Each real set with its licence."""
    if not names:
        return "No real data was used.\n"
    rows = "| real data | licence |\n|---|---|\n"
    for name in names:
        what, licence = REAL.get(name, (f"{name}: the trainer's own", "see its source"))
        rows += f"| {what} | {licence} |\n"
    return rows


def markers(*names: str) -> str:
    """Places that evaluate.py fills."""
    return "\n".join(f"<!-- results:{name} -->\n<!-- /results -->\n" for name in names)


def thinker_card(
    preset: str, records: dict[str, dict], weights: dict[str, int], real: list[str]
) -> str:
    """README.md of thinker_<preset>."""
    return f"""{front_matter(["text-generation", "qwen3", "tiny"])}
# thinker_{preset}

The language model of μOmni alone: {sum(weights.values()) / 1e6:.1f} million parameters, exactly the
Qwen3 architecture, so `transformers.AutoModelForCausalLM.from_pretrained` loads it unmodified. The
tokenizer is SentencePiece (`tokenizer.model`). It chats about a small world and reads English.

    python infer_chat.py --ckpt_dir checkpoints/thinker_{preset} --text "Hello"

## Trained on

Generated: {GENERATED["thinker"]}. English beside it:

{real_table([n for n in real if n not in NOT_READ])}
{stages_table(records)}
## Scores

Held-out wordings, greedy, by `python evaluate.py text`:

{markers("text")}
## Limits

It is tiny. It knows the few facts it was taught, in English, and makes up what it does not know; it
is no source of facts or advice. Long texts and questions outside its small world go wrong.
"""


SPEECH = ("asterisk", "speechocean762", "fsdd", "speech_commands_3words")
NOT_READ = (*SPEECH, "cmudict", "cifar10", "cifar100", "clothing_cc0")  # by the Thinker


def omni_card(
    preset: str, records: dict[str, dict], weights: dict[str, int], real: list[str]
) -> str:
    """README.md of omni_sft_<preset>."""
    parts = "".join(f"| {name} | {count:,} |\n" for name, count in weights.items())
    return f"""{front_matter(["any-to-any", "speech", "vision", "tiny"])}
# omni_sft_{preset}

μOmni: text, pictures, sounds and clips in, text and speech out;
{sum(weights.values()) / 1e6:.1f} million parameters as plain bfloat16 safetensors,
and an n-gram table of integers.

    python infer_chat.py --ckpt_dir checkpoints/omni_sft_{preset} --image photo.png

| part | parameters |
|---|---|
{parts}
## Trained on

Generated: {GENERATED["omni"]}. Real:

{real_table(real)}
{stages_table(records)}
## Scores

Held-out scenes, wordings, sentences and voices, each beside its control, by `python evaluate.py`:

{markers("summary", "vision", "photos", "audio", "sounds", "joint", "interleaved", "speech", "vocoder")}
## Limits

It sees drawn scenes: plain shapes, emoji-like objects, short signs. Of a photograph it names the one
thing that fills it, among the 120 that it knows; details, several things and other things are beyond it. It
hears English in voices like the synthetic ones it learnt from, as well as the scores above say: a
word error rate near or above 100 % means that it cannot transcribe. It speaks in four
voices that it learnt from Hibari and Kokoro-82M. It knows the few facts it was taught and makes up
what it does not know: it is no source of facts or advice.
"""
