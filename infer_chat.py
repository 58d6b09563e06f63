"""Talk to μOmni from the command line: one request from flags, or a conversation without any.

    python infer_chat.py --image examples/sample_image.png --text "What do you see?"

Thin: it checks flags, calls `inference`, prints. Answers go to stdout, everything else to stderr
(with `--audio_out -` the speech goes to stdout and the text to stderr); bad input is one line and
exit code 2.
"""

import os

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # read by OpenMP when torch is imported
os.environ.setdefault("OMP_NUM_THREADS", "1")  # networks this small are quicker on one thread

import argparse
import sys
import warnings
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from inference.config import GenerateConfig
from inference.media import LIMITS, SAMPLE_RATE, Limits, check_file
from inference.notice import Notice, notices_after, show_notice
from inference.opening import check_chunks, open_model
from inference.output import (
    AUDIO_FORMATS,
    AudioFile,
    WavStream,
    check_apart,
    check_audio_path,
    check_page_path,
)
from inference.progress import ProgressBar
from inference.subtitles import FORMATS, check_transcript_path, line, write_transcript
from inference.timing import statistics
from models.errors import Parser, UserError, one_line_errors, output_lost, remark
from models.fields import misfits

if TYPE_CHECKING:
    from inference.session import ChatSession

ABOUT = """With no input this is a conversation. A recording without --text is itself the question;
--text "What did you hear?" transcribes it. --audio_out and --play speak the answer while it is
being written, or what --say gives."""
STDOUT = "-"  # the --audio_out that pipes

SETTINGS = (  # flags that are fields of GenerateConfig
    *("max_new_tokens", "think", "temperature", "num_beams", "ctc_weight", "top_k", "top_p", "min_p"),
    *("repetition_penalty", "do_sample", "vad", "video_sound"),
    *("stop_strings", "seed", "prefill_chunk", "native", "cache_kind"),
    *("max_seq_len", "cache_budget_mb", "cache_plan_path", "decode_plan", "decode_table"),
)


def build_parser() -> argparse.ArgumentParser:
    """All flags; their meaning together is checked in `check`."""
    parser = Parser("infer_chat.py", description=ABOUT)
    for add_group in (add_input, add_transcripts, add_speech, add_generation, add_running, add_chunks):
        add_group(parser)
    return parser


def add_input(parser: argparse.ArgumentParser) -> None:
    """What is asked, and what is read aloud."""
    add = parser.add_argument_group("input").add_argument
    add("--text", "--prompt", action="append", metavar="TEXT", help="what to ask")
    add("--image", action="append", default=[], metavar="PATH", help="a picture; repeatable")
    add("--audio_in", action="append", default=[], metavar="PATH", help="a sound; repeatable")
    add("--video", action="append", default=[], metavar="PATH", help="a clip; repeatable")
    add(
        "--video_sound", action="store_true", default=True, help="hear the speech of videos, too (default)"
    )
    add("--no_video_sound", dest="video_sound", action="store_false", help="only see them")
    add(
        "--no_vad", dest="vad", action="store_false", help="transcribe sounds in which nobody speaks, too"
    )
    add(
        "--limit", action="append", default=[], metavar="NAME=NUMBER",
        help=f"how much of media is read, one of {', '.join(vars(LIMITS))}; repeatable",
    )
    add("--say", metavar="TEXT", help="read exactly this aloud")
    add("--system_prompt", metavar="TEXT", help="what stands before the conversation")


def add_transcripts(parser: argparse.ArgumentParser) -> None:
    """How transcripts are written."""
    add = parser.add_argument_group("transcripts, of recordings of any length").add_argument
    add("--timestamps", action="store_true", help="each segment with its times")
    add("--transcript_out", metavar="PATH", help=f"write {', '.join(FORMATS)}")


def add_speech(parser: argparse.ArgumentParser) -> None:
    """How speech sounds, and where it goes."""
    add = parser.add_argument_group("speech").add_argument
    add("--audio_out", metavar="PATH", help=f"speech to {', '.join(AUDIO_FORMATS)}; - is WAV to stdout")
    add("--play", action="store_true", help="speech to the sound device")
    add("--voice", help="who speaks (a wrong name lists them)")
    add("--speed", type=float, help="1 = normal, 2 = twice as fast")
    add("--vocoder", help="neural (default) or griffinlim")


def add_generation(parser: argparse.ArgumentParser) -> None:
    """How answers are made."""
    add = parser.add_argument_group("generation").add_argument
    add("--max_new_tokens", type=int, default=GenerateConfig.max_new_tokens, help="an answer's length")
    add("--temperature", type=float, default=0.0, help="0 = greedy (default)")
    add("--do_sample", action="store_const", const=True, help="sample; at temperature 1 unless given")
    add("--num_beams", type=int, help="default: 6 for a transcript, else 1")
    add(
        "--ctc_weight", type=float, default=GenerateConfig.ctc_weight,
        help="of CTC and n-gram in transcripts; 0 = the Thinker alone (default 0.75)"
    )
    add(
        "--think", action="store_true", default=True,
        help="write down first what is seen and heard, as a chain of thought (default)"
    )
    add("--no_think", dest="think", action="store_false", help="answer directly")
    add("--no_notes", dest="think", action="store_false", help=argparse.SUPPRESS)
    add("--show_thinking", action="store_true", help="print the thinking before the answer")
    add("--top_k", type=int, help="keep the k likeliest tokens; 0 = off (default)")
    add("--top_p", type=float, help="keep this much probability; 1 = off (default)")
    add("--min_p", type=float, help="drop below this share of the likeliest; 0 = off")
    add("--repetition_penalty", type=float, default=1.0, help="1 = off (default)")
    add("--stop_strings", nargs="+", default=(), metavar="TEXT", help="end before it")
    add("--seed", type=int, help="makes sampling repeatable")


def add_running(parser: argparse.ArgumentParser) -> None:
    """Where and how the model runs."""
    add = parser.add_argument_group("running").add_argument
    add(
        "--ckpt_dir", metavar="FOLDER", help="ours, or any dense Qwen3; default: checkpoints/omni_sft_tiny"
    )
    add("--model_name", metavar="FOLDER", help="another folder's (or name's) tokenizer")
    add("--device", default="cpu", help="cpu (default), cuda, …")
    add("--dtype", choices=["fp32", "bf16", "int8"], default="fp32")
    add("--native", default="auto", help="compiled decoding: auto (default), on (or fail), off")
    add(
        "--max_context_length", dest="max_seq_len", type=int, metavar="TOKENS",
        help="of prompt and answers; default: the model's",
    )
    add("--stats", action="store_true", help="cache and times after each answer")
    add("--prefill_chunk", type=int, metavar="TOKENS", help="read prompts in chunks")
    add("--cache_kind", help="fp32 fp16 bf16 q8_0 q4_0 nf4, KEYS/VALUES as in q8_0/nf4, or auto")
    add("--cache_budget_mb", type=float, metavar="MB", help="the most auto may take")
    add("--cache_plan", dest="cache_plan_path", metavar="FILE", help="keeps what auto measured")
    add("--decode_plan", default="none", help="none (default), fixed or auto")
    add("--decode_table", metavar="CONTEXT:CHUNK:WINDOW,…", help="of the plan: 512:0:0,max:256:0")
    add("--draft", metavar="table|lookup|FILE|FOLDER", help="decode speculatively: same answers")
    add("--spec_k", type=int, default=4, help="tokens the draft guesses at once")
    add("--adapter_dir", metavar="FOLDER", help="a LoRA adapter, ours or PEFT's")
    add("--memory_dir", metavar="FOLDER", help="a memory bank, as checkpoints/memory_tiny")
    add("--routing_strategy", help="of its chapters: sequence rolling token hybrid")
    add("--trace", metavar="PAGE.html", help="write a page that shows the inside")
    add("--quiet", action="store_true", help="print nothing but the answer")


def add_chunks(parser: argparse.ArgumentParser) -> None:
    """A model that was exported in chunks."""
    add = parser.add_argument_group("exported chunks (python -m export.chunks)").add_argument
    add("--model_dir", metavar="DIR", help="chat from these, not from a checkpoint")
    add("--chunked", action="store_true", help="DIR holds several chunks")
    add("--num_chunks", type=int, metavar="N", help="how many; default: as DIR says")
    add("--embeddings", metavar="FILE.npy", help="default: embeddings.npy in DIR")
    add("--lm_head", metavar="FILE", help="default: lm_head in DIR")
    add("--cache_compiled", action="store_true", help="keep compiled forms beside them")
    add("--analyze_compute_plan", action="store_true", help="print what runs where")


def check(args: argparse.Namespace) -> None:
    """Refuse flags that contradict each other and files that are not there, before loading."""
    asked = [flag for flag in ("text", "image", "audio_in", "video") if getattr(args, flag)]
    if args.text and len(args.text) > 1:
        raise UserError("--text (or --prompt, its other name) was given more than once")
    if args.say is not None and asked:
        raise UserError(f"--say reads its own text: it does not go with --{asked[0]}")
    speaks = args.audio_out is not None or args.play
    if args.say is not None and not speaks:
        raise UserError("--say needs --audio_out, the file to write the speech to, or --play")
    if args.say is not None and not args.say.strip():
        raise UserError("--say has no text to read")
    one_shot = args.say is not None or bool(asked)
    if args.audio_out is not None and not one_shot:
        raise UserError("--audio_out needs something to answer (--text, --image, …) or --say")
    speech = [flag for flag in ("voice", "speed", "vocoder") if getattr(args, flag) is not None]
    if speech and one_shot and not speaks:
        raise UserError(f"--{speech[0]} needs --audio_out or --play: else nothing is spoken")
    for flag, folder in ("adapter_dir", args.adapter_dir), ("memory_dir", args.memory_dir):
        if folder and not Path(folder).is_dir():
            raise UserError(f"--{flag} {folder}: no such folder")
    if args.routing_strategy and not args.memory_dir:
        raise UserError("--routing_strategy goes with --memory_dir")
    if args.speed is not None and not 0 < args.speed < float("inf"):
        raise UserError(f"--speed must be above 0, not {args.speed}")
    if args.audio_out == STDOUT and sys.stdout.isatty():
        raise UserError("--audio_out - writes sound, not text: pipe it, as in `… | aplay`")
    if args.audio_out not in (None, STDOUT):
        check_audio_path(args.audio_out)
    if args.trace is not None:
        if not asked:
            raise UserError("--trace needs something to answer; in a conversation, /trace PAGE.html")
        check_page_path(args.trace)
    check_transcript(args)
    check_chunks(args)
    for kind, paths in ("image", args.image), ("audio", args.audio_in), ("video", args.video):
        for path in paths:
            check_file(path, kind)
    for out in filter(None, (args.audio_out, args.transcript_out, args.trace)):
        check_apart(out, args.image + args.audio_in + args.video)


def check_transcript(args: argparse.Namespace) -> None:
    """Refuse transcripts of anything but one recording."""
    if not (args.timestamps or args.transcript_out is not None):
        return
    flag = "--timestamps" if args.timestamps else "--transcript_out"
    others = [name for name in ("text", "image", "audio_out", "trace") if getattr(args, name)]
    if len(args.audio_in) + len(args.video) != 1 or others or args.play:
        raise UserError(f"{flag} goes with one recording: --audio_in (or --video) and nothing to ask")
    if args.transcript_out is not None:
        check_transcript_path(args.transcript_out)


def read_limits(given: list[str]) -> Limits:
    """The limits with NAME=NUMBER settings in place of their defaults."""
    pairs = [text.partition("=")[::2] for text in given]
    values, wrong = misfits(Limits, dict(pairs), text=True)
    if wrong:
        raise UserError(f"--limit: {'; '.join(wrong)}")
    return replace(LIMITS, **values)


@one_line_errors
def main(argv: list[str] | None = None) -> int:
    """Run; returns the exit code."""
    args = build_parser().parse_args(argv)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if not args.quiet:
            warnings.simplefilter("always", Notice)
            warnings.showwarning = show_notice
        try:
            settings = {name: getattr(args, name) for name in SETTINGS}
            GenerateConfig(**settings)
            limits = read_limits(args.limit)
            check(args)
            return run(args, settings, limits)
        except OSError as error:
            return output_lost(error)


def run(args: argparse.Namespace, settings: dict, limits: Limits) -> int:
    """Read aloud, answer, transcribe or converse."""
    with ExitStack() as stack:
        sinks = [stack.enter_context(sink) for sink in open_sinks(args)]
        omni = open_model(args)
        if args.analyze_compute_plan:
            from inference.chunked.plan import compute_plan

            print(compute_plan(omni.folder))
            return 0
        omni.limits = limits
        if args.draft:
            omni.use_draft(args.draft, args.spec_k)
        names = ("voice", "speed", "vocoder", "seed")
        speech = {name: getattr(args, name) for name in names if getattr(args, name) is not None}
        if sinks or speech.keys() - {"seed"}:
            omni.check_speech(**speech)
        if args.timestamps or args.transcript_out is not None:
            return transcribe(omni, args, settings)
        if args.say is None and args.text is None and not any(media_of(args).values()):
            return converse(omni, args, settings, sinks, speech)
        pieces, session = reply(omni, args, settings)
        seconds = speak(omni, pieces, sinks, speech)
    report(args, session, seconds, speech if sinks else None)
    return 0


def media_of(args: argparse.Namespace) -> dict[str, list[str]]:
    """Files to ask about, by kind."""
    return {"image": args.image, "audio": args.audio_in, "video": args.video}


def converse(omni, args: argparse.Namespace, settings: dict, sinks: list, speech: dict) -> int:
    """A conversation until its user leaves."""
    from inference.repl import Repl

    repl = Repl(omni, args.system_prompt, speech, args.quiet, sinks, args.show_thinking, **settings)
    repl.timed = args.stats
    repl.run()
    return 0


def reply(omni, args: argparse.Namespace, settings: dict) -> tuple[Iterable[str], "ChatSession | None"]:
    """What is said, in pieces, and the session that knows how it came about, where one is wanted."""
    if args.say is not None:
        return [args.say], None
    question, media, out = args.text[0] if args.text else None, media_of(args), text_stream(args)
    if not (args.trace or args.stats or args.show_thinking):
        answer = omni.stream(question, **media, system_prompt=args.system_prompt, **settings)
        return shown(answer, out), None
    session = omni.session(args.system_prompt, **settings)
    answer = session.stream(question, **media)
    if args.show_thinking and session.thinking and out:
        print(f"<think>\n{session.thinking}\n</think>", file=out)
    return shown(answer, out), session


def report(
    args: argparse.Namespace, session: "ChatSession | None", seconds: float, speech: dict | None
) -> None:
    """What was written, the statistics and the page that flags asked for."""
    if args.audio_out not in (None, STDOUT) and not args.quiet:
        remark(f"wrote {args.audio_out}: {seconds:.1f} s")
    if args.stats and session is not None and session.generator.ids:
        remark(statistics(session.generator))
    if args.trace:
        from inference.tracepage import write_page

        write_page(args.trace, session, speech)
        if not args.quiet:
            remark(f"wrote {args.trace}: open it in a browser")


def transcribe(omni, args: argparse.Namespace, settings: dict) -> int:
    """Print the transcript segment by segment, with a bar of progress, and write it."""
    (source,) = args.audio_in + args.video
    found = []
    with ProgressBar(args.quiet) as progress:
        timed = Path(args.transcript_out or "").suffix.lower() == ".json"
        for segment in omni.segments(source, progress, word_times=timed, **settings):
            found.append(segment)
            progress.write(line(segment) if args.timestamps else segment.text)
    if args.transcript_out is not None:
        write_transcript(args.transcript_out, found)
        if not args.quiet:
            remark(f"wrote {args.transcript_out}: {len(found)} segments")
    return 0


def speak(omni, pieces: Iterable[str], sinks: list, speech: dict) -> float:
    """Speak the pieces to all sinks; returns the seconds. Without a sink they are only shown."""
    if not sinks:
        deque(pieces, maxlen=0)
        return 0.0
    samples = 0
    for chunk in omni.speak_stream(pieces, **speech):
        samples += len(chunk)
        for sink in sinks:
            sink.write(chunk)
    return samples / SAMPLE_RATE


def open_sinks(args: argparse.Namespace) -> Iterator:
    """Where speech goes: each has `write`, and finishes when its context is left."""
    if args.audio_out == STDOUT:
        yield WavStream(sys.stdout.buffer, SAMPLE_RATE)
    elif args.audio_out is not None:
        yield AudioFile(args.audio_out, SAMPLE_RATE)
    if args.play:
        from inference.player import open_player

        yield open_player(SAMPLE_RATE)


def text_stream(args: argparse.Namespace) -> TextIO | None:
    """Where the answer's text goes: never into a sound."""
    if args.audio_out != STDOUT:
        return sys.stdout
    return None if args.quiet else sys.stderr


def shown(pieces: Iterable[str], out: TextIO | None) -> Iterator[str]:
    """The same pieces, each printed on its way."""
    with notices_after():
        for piece in pieces:
            if out is not None:
                print(piece, end="", file=out, flush=True)
            yield piece
        if out is not None:
            print(file=out, flush=True)


if __name__ == "__main__":
    sys.exit(main())
