"""docs/results.json -> the tables between `<!-- results:NAME -->` and `<!-- /results -->`.

No figure in the documents is typed by hand: `write` renews the tables of every document, `stale`
tells which would change. A figure that has not been measured is shown as "not measured".
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from evaluation import picturetables, speedtables
from evaluation.markdown import (
    MISSING,
    Results,
    grid,
    listed,
    names_of,
    names_under,
    show,
    table,
)
from models.errors import UserError
from models.files import replacing

BLOCK = re.compile(r"(<!-- results:([\w-]+) -->\n).*?(<!-- /results -->)", re.DOTALL)


def summary(results: Results) -> str:
    """The one for the README."""
    rows = [
        ("Questions about held-out pictures, right", "vision", "scene/all", "blank/all",
         "grey picture"),
        ("Photographs named, 100 kinds (CIFAR-100), right", "vision", "photo/cifar100",
         "photo_shuffled/cifar100", "another photograph"),
        ("What changes in held-out clips, right", "vision", "clip/all", "clip_blank/all",
         "grey frames"),
        ("Spoken questions about pictures, right", "joint", "picture/spoken", "picture/blank",
         "grey picture"),
        ("Sentences in voices never heard, word error rate", "audio", "quiet/new_voices",
         "quiet/shuffled", "another clip"),
        ("Conversation in unseen wordings, right", "text", "omni/all", "omni/shuffled",
         "another question"),
        ("Long interleaved dialogues, back to a picture, right", "interleaved", "dialogue/back",
         "dialogue_shuffled/back", "another picture"),
        ("Spoken sentences, estimated MOS", "speech", "talker/mos", "talker_reversed/mos",
         "backwards"),
        ("Spoken sentences, word error rate by Whisper tiny.en", "speech", "talker/wer",
         "talker_shuffled/wer", "another sentence"),
    ]
    return table(
        ["measured on held-out data", "μOmni", "control"],
        [
            [what, show(results, section, name), f"{show(results, section, control)}, {which}"]
            for what, section, name, control, which in rows
        ],
    )


def audio(results: Results) -> str:
    """Transcripts of every set."""
    rows = [
        ("unseen voices, quiet", "quiet"), ("unseen voices, noise at 10 dB", "noisy"),
        ("recorded people, unseen speakers", "recorded"),
        ("long sentences of books, unseen natural voices", "natural"),
    ]
    head = ["speech", "word error rate", "letter error rate", "against another clip's text"]
    head += ["without the n-gram model", "by the Thinker alone", "pocketsphinx", "ours on its clips"]
    columns = ["wer", "cer", "shuffled", "without_ngram", "without_ctc", "pocketsphinx"]
    columns += ["beside_pocketsphinx"]
    whole = grid(results, "audio", head, rows, columns)
    words = ("recorded single words, unseen speakers", "right"), ("of these the digits", "digits")
    for what, key in words:
        last = [what, f"{show(results, 'audio', f'commands/{key}')} right", *[""] * 6]
        whole += f"| {' | '.join(last)} |\n"
    return whole


def long(results: Results) -> str:
    """Long recordings, and what voice activity costs."""
    rows = [["one by one", show(results, "long", "alone/in_order"), "", ""]]
    for name, what in (("pauses", "joined with pauses"), ("no_pauses", "joined without pauses")):
        columns = (f"{name}/{key}" for key in ("in_order", "doubled", "speed"))
        rows.append([what, *(show(results, "long", column) for column in columns)])
    for name, what in (("quiet", "quiet"), ("noisy", "noise at 10 dB")):
        errors = (show(results, "long", f"{way}/{name}") for way in ("vad", "vad_off"))
        rows.append([f"word error rate, {what}", "with VAD {}; without {}".format(*errors), "", ""])
    return table(["test sentences", "words in order", "doubled", "times real time"], rows)


def voices(results: Results) -> str:
    """Transcripts of each set by voice and by kind of text."""
    rows = []
    for name in ("quiet", "noisy", "recorded"):
        for group in ("voice", "kind"):
            prefix = f"{name}/{group}/"
            for key in names_under(results, "audio", prefix):
                rows.append([name, f"{group} {key}", show(results, "audio", prefix + key)])
    return table(["set", "part", "word error rate"], rows or [[MISSING] * 3])


def joint(results: Results) -> str:
    """Spoken questions beside typed ones."""
    rows = [
        ("conversation, one turn", "talk", "shuffled"), ("about a picture", "picture", "blank"),
        ("the same, answered aloud and judged by ear", "aloud", "shuffled"),
    ]
    have = {k: names_under(results, "joint", f"{k}/") for _, k, _ in rows}
    return table(
        [
            *("question", "spoken", "typed", "heard apart from the picture"),
            *("spoken, without thinking", "control"),
        ],
        [
            [
                what,
                *(
                    show(results, "joint", f"{k}/{way}") if way in have[k] else ""
                    for way in ("spoken", "typed", "apart", "direct", control)
                ),
            ]
            for what, k, control in rows
        ],
    )


def sounds(results: Results) -> str:
    """Questions about one recording and about two, by kind, and about clips with a voice."""
    rows = [("one recording", "one/all"), ("the same, without thinking", "one/direct"),
            ("the same statements typed", "one/typed"), ("control: another recording", "one_shuffled/all"),
            ("control: the transcript as the answer", "one/repeated"), ("two recordings", "two/all"),
            ("control: two others", "two_shuffled/all"), ("asked aloud, about one or two", "aloud/all"),
            ("the voice of a clip", "voiced/heard"), ("control: another voice", "voiced_shuffled/heard"),
            ("what happens in a clip with a voice", "voiced/seen"),
            ("words wrong of what a clip's voice says", "voiced/said")]
    ways = ("one", "two", "aloud")
    kinds = [f"{way}/{kind}" for way in ways for kind in names_under(results, "sounds", f"{way}/")]
    rows += [(name.replace("/", ", "), name) for name in kinds if name not in dict(rows).values()]
    return listed(results, "sounds", ["question about what was said", "right"], rows)


def text(results: Results) -> str:
    """Conversation, the Thinker alone and the omni-model."""
    said = {
        "first": "**first answers**", "later": "**later answers of a chat**",
        "shuffled": "control: another question's answer", "bits_per_byte": "bits per byte of text",
        "no_fact": "control: a fact never told", "plain": "single questions",
        "typed": "the same, typed in other ways",
    }
    names = ("first", "later", "shuffled", "bits_per_byte")
    found = names_under(results, "text", "omni/") or ["all"]
    rows = [
        [said.get(k, k), *(show(results, "text", f"{who}/{k}") for who in ("thinker", "omni"))]
        for k in [*(k for k in found if k not in names), *names]
    ]
    return table(["right answers", "thinker_tiny", "omni_sft_tiny"], rows)


def dialogues(results: Results) -> str:
    """Long conversations by what is asked, and by place."""
    said = {
        "all": "**all questions of a dialogue**", "talk_before": "talk, before anything was shown",
        "talk_after": "talk, after something was shown or played",
        "scene": "a drawn picture, when it is shown",
        "photo": "a photograph, when it is shown", "back": "what was shown, asked again after talk",
        "again": "what was heard, asked again after talk",
    }
    found = names_under(results, "interleaved", "dialogue/")
    names = [*said, *sorted(set(found) - set(said), key=lambda n: (n.startswith("said"), len(n), n))]
    controls = names_under(results, "interleaved", "dialogue_shuffled/")
    return table(
        ["asked in a dialogue", "right", "control: another picture"],
        [
            [said.get(n, n), show(results, "interleaved", f"dialogue/{n}"),
             show(results, "interleaved", f"dialogue_shuffled/{n}") if n in controls else ""]
            for n in names
        ],
    )


def speech(results: Results) -> str:
    """People, teachers, the codec on unseen voices, and the Talker, in one table."""
    voices = names_of(results, "speech", "talker_")
    own = [v for v in voices if v not in ("reversed", "shuffled")]
    rows = [
        ("people (recordings)", "person"), ("people → codec → vocoder", "person_coded"),
        ("unseen voices of Kokoro", "unseen"), ("the same → codec → vocoder", "unseen_coded"),
        *((f"teacher of {v}", f"teacher_{v}") for v in own),
        *((f"Talker, {v}", f"talker_{v}") for v in own),
        ("**Talker, all voices**", "talker"), ("80 words in one breath", "long"),
        ("control: against another sentence", "talker_shuffled"),
        ("control: Talker, backwards", "talker_reversed"),
        ("control: random codes", "control_random"), ("control: shuffled codes", "control_shuffled"),
        ("control: mean frames", "control_mean"),
    ]
    return table(
        ["speech", "estimated MOS", "word error rate, Whisper tiny.en"],
        [[what, *(show(results, "speech", f"{name}/{key}") for key in ("mos", "wer"))]
         for what, name in rows],
    )


def vocoder(results: Results) -> str:
    """The vocoder beside Griffin-Lim."""
    rows = [
        ("mel → Griffin-Lim, 32 rounds", "griffinlim"), ("mel → vocoder", "vocoder"),
        ("codec → Griffin-Lim, 32 rounds", "codec_griffinlim"),
        ("codec → vocoder", "codec_vocoder"),
    ]
    return grid(
        results, "vocoder", ["", "STOI", "PESQ", "times real time, one thread", "all threads"], rows,
        ["stoi", "pesq", "times_real_time_one_thread", "times_real_time"],
    )


def speaking(results: Results) -> str:
    """How the Talker speaks, beside its teacher; speed."""
    rows = [
        [what, show(results, "speech", f"talker/{key}"), show(results, "speech", f"{teacher}/{key}")]
        for what, key, teacher in (
            ("letter error rate of words never seen", "unseen_cer", "teacher"),
            ("questions that end higher than statements", "rises", "teacher"),
            ("how much higher", "rise", "teacher"),
            ("sentences with lost words", "skips", "teacher"),
            ("sentences with words said twice", "repeats", "teacher"),
        )
    ]
    rows += [
        [what, show(results, "speech", key), ""]
        for what, key in (
            ("length beside the teacher's", "talker/duration_ratio"),
            ("random sentences, twice the teacher's length or more", "robust/looped"),
            ("random sentences, half the teacher's length or less", "robust/cut"),
            ("computing time per second of speech", "talker/real_time_factor"),
            ("from the sentence to its first sound", "talker/first_sound"),
        )
    ]
    return table(["", "Talker", "teacher"], rows)


def codec(results: Results) -> str:
    """Codebooks, bits and what they bring."""
    books = names_of(results, "speech", "books_") or ["1"]
    keys = ("bitrate", "mel", "stoi", "mos", "wer")
    rows = []
    for book in books:
        last = int(book) - 1
        rows.append([
            book, *(show(results, "speech", f"books_{book}/{key}") for key in keys),
            show(results, "speech", f"codebook_{last}/perplexity"),
            show(results, "speech", f"codebook_{last}/use"),
        ])
    return table(
        ["codebooks", "kbit/s", "mel distance", "STOI", "estimated MOS", "word error rate",
         "perplexity of the last", "of its size"],
        rows,
    )


def small_world(results: Results) -> str:
    """What preset nano can do, and its controls."""
    rows = [
        ("questions in unseen wordings", "answers", "another question"),
        ("shape and colour of what a picture shows", "pictures", "a grey picture"),
        ("a dozen words by unseen voices", "hears", "another clip"),
        ("what it says, by pocketsphinx among all that it can say", "says", "its codes in another order"),
    ]
    return table(
        ["a small world (`nano`)", "right", "control"],
        [
            [what, show(results, "small_world", name),
             f"{show(results, 'small_world', f'{name}/control')}, {which}"]
            for what, name, which in rows
        ],
    )


TABLES: dict[str, Callable[[Results], str]] = {
    "summary": summary, **picturetables.TABLES,
    "audio": audio, "long": long, "voices": voices, "joint": joint,
    "sounds": sounds, "text": text, "interleaved": dialogues, "speech": speech,
    "vocoder": vocoder, "speaking": speaking, "codec": codec,
    "caches": speedtables.caches, "speed": speedtables.speed,
    "context": speedtables.context, "batch": speedtables.batch, "memory": speedtables.memory,
    "attention": speedtables.attention, "memory-bank": speedtables.bank, "routers": speedtables.routers,
    "quantisers": speedtables.quantisers, "serving": speedtables.serving,
    "realtime": speedtables.realtime, "recipe": speedtables.recipe, "small-world": small_world,
}  # fmt: skip


def renewed(document: str, results: Results, where: str) -> str:
    """The document with its tables made anew."""

    def fill(match: re.Match) -> str:
        if match[2] not in TABLES:
            raise UserError(
                f"{where}: there is no table results:{match[2]}; there are {', '.join(TABLES)}"
            )
        return match[1] + TABLES[match[2]](results) + match[3]

    return BLOCK.sub(fill, document)


def documents(root: Path) -> list[Path]:
    """Every document that may hold tables."""
    found = [root / "README.md", *sorted((root / "docs").rglob("*.md"))]
    found += sorted((root / "checkpoints").glob("*/README.md"))
    return [path for path in found if path.is_file()]


def stale(root: Path, results: Results) -> list[Path]:
    """Documents whose tables differ from the results."""
    texts = {path: path.read_text(encoding="utf-8") for path in documents(root)}
    return [path for path, text in texts.items() if renewed(text, results, str(path)) != text]


def write(root: Path, results: Results) -> list[Path]:
    """Renew the tables in place; returns the documents that changed."""
    changed = stale(root, results)
    for path in changed:
        text = renewed(path.read_text(encoding="utf-8"), results, str(path))
        with replacing(path) as temporary:
            temporary.write_text(text, encoding="utf-8")
    return changed
