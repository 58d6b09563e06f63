"""Looking inside an answer: what is seen is true, nothing is changed by it, and the page holds it."""

import base64
import copy
import io
import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from PIL import Image

import infer_chat
from inference import Omni
from inference.memory import set_strategy
from inference.repl import Repl
from inference.trace import trace, trace_speech
from inference.tracepage import kept_layers, page_data, write_page
from models.audio import AudioConfig, AudioEncoder
from models.block import causal_mask, rope_table, rotate
from models.errors import UserError
from models.memory import MemoryAdapter, MemoryConfig
from models.projector import Projector, ProjectorConfig
from models.tokenizer import IMAGE_TOKENS
from tests.inference.conftest import picture, speech

ROOT = Path(__file__).resolve().parents[2]
SOUND = (speech(), 16_000)
CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
REQUESTS = [
    ({"text": "Hi"}, {}),
    ({"text": "What is it?", "image": picture(1)}, {}),
    ({"audio": SOUND}, {"temperature": 0.8, "seed": 3}),
    ({"text": "Both?", "image": [picture(1), picture(2)], "audio": SOUND}, {"cache_kind": "q8_0"}),
]


def ask(omni, system_prompt=None, max_new_tokens=6, text=None, settings=None, **media):
    """A session that has answered, and what it said."""
    settings = {"max_new_tokens": max_new_tokens} | (settings or {})
    session = omni.session(system_prompt, **settings)
    return session, session.ask(text, **media)


class Page(HTMLParser):
    """What a page holds: ids, links to elsewhere, and the data in its script."""

    def __init__(self, path):
        super().__init__()
        self.ids, self.links, self.data, self._inside = set(), [], "", False
        self.feed(path.read_text(encoding="utf-8"))
        self.trace = json.loads(self.data)

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        self.ids.add(values.get("id"))
        self.links += [values[name] for name in ("src", "href") if name in values]
        self._inside = tag == "script" and values.get("id") == "trace"

    def handle_data(self, data):
        if self._inside:
            self.data += data

    def handle_endtag(self, tag):
        self._inside = False


# ---- the trace


@pytest.mark.parametrize(("request_", "settings"), REQUESTS)
def test_a_traced_run_says_the_same(omni, request_, settings):
    plain = omni.chat(**request_, max_new_tokens=6, **settings)
    session, answer = ask(omni, settings=settings, **request_)
    first = trace(session)
    assert answer == plain
    assert torch.equal(trace(session).attention, first.attention)
    twin, _ = ask(omni, settings=settings, **request_)
    assert session.ask("And now?") == twin.ask("And now?")  # the cache was left alone
    assert not any(module._forward_hooks for module in omni.model.modules())


@pytest.mark.parametrize(("request_", "settings"), REQUESTS)
def test_attention_is_attention(omni, request_, settings):
    session, _ = ask(omni, settings=settings, **request_)
    seen = trace(session)
    R, L, S = seen.attention.shape
    assert (R, L) == (len(seen.chosen), len(omni.model.thinker.model.layers))
    assert len(seen.sequence) == S
    assert torch.allclose(seen.attention.sum(-1), torch.ones(R, L), atol=1e-5)
    for row in range(R):
        assert not seen.attention[row, :, seen.start + row :].any()  # nothing yet to come
    assert torch.allclose(seen.probabilities.sum(-1), torch.ones(R), atol=1e-4)
    assert sum(span.count for span in seen.spans) == S
    sizes = [span.count for span in seen.spans if span.kind == "picture"]
    assert sizes == [IMAGE_TOKENS] * len(seen.sequence.images)


def test_an_answer_with_a_memory_bank_is_traced(nano_omni_dir):
    omni = Omni.from_pretrained(nano_omni_dir)
    bank = MemoryConfig(num_chapters=4, layers=[0, 1])
    omni.model.thinker = set_strategy(MemoryAdapter.around(omni.model.thinker, bank))
    session, _ = ask(omni, text="Hi")
    seen = trace(session)
    assert seen.attention.shape == (len(seen.chosen), 2, len(seen.sequence))
    assert torch.allclose(seen.attention.sum(-1), torch.ones(seen.attention.shape[:2]), atol=1e-5)


def test_probabilities_are_those_of_the_model(omni):
    session, _ = ask(omni, text="Tell me.")
    seen = trace(session)
    ids = torch.tensor([seen.sequence.ids])
    with torch.inference_mode():
        logits = omni.model.thinker(ids)[0, seen.start - 1 : seen.start - 1 + len(seen.chosen)]
    assert torch.allclose(seen.probabilities, logits.softmax(-1), atol=1e-5)
    allowed = logits.index_fill(1, torch.tensor(session.config.suppress_tokens), float("-inf"))
    assert allowed.argmax(-1).tolist() == seen.chosen


@torch.inference_mode()
def test_the_weights_are_those_the_layer_uses(omni):
    """The mean over heads of softmax(q·k), worked out once more beside the model."""
    session, _ = ask(omni, text="Hi", max_new_tokens=1)
    seen, thinker = trace(session), omni.model.thinker
    layer = thinker.model.layers[0]
    own, T = layer.self_attn, len(seen.sequence)
    x = layer.input_layernorm(thinker.embed(torch.tensor(seen.sequence.ids)))  # (T, D)
    rope = rope_table(torch.arange(T), own.head_dim, thinker.config.rope_theta)
    q = own.q_norm(own.q_proj(x).view(1, T, own.num_heads, -1)).transpose(1, 2)
    k = own.k_norm(own.k_proj(x).view(1, T, own.num_kv_heads, -1)).transpose(1, 2)
    k = rotate(k, rope).repeat_interleave(own.num_heads // own.num_kv_heads, 1)  # (1, H, T, d)
    scores = rotate(q, rope) @ k.transpose(-1, -2) * own.head_dim**-0.5  # (1, H, T, T)
    weights = scores.masked_fill(~causal_mask(T, T), float("-inf")).softmax(-1).mean(1)[0]
    assert torch.allclose(seen.attention[0, 0], weights[seen.start - 1], atol=1e-5)


def heat(omni, image, text="What do you see?"):
    """Attention on the picture's tokens at the answer's first word. (L, 49)"""
    session, _ = ask(omni, text=text, image=image, max_new_tokens=1)
    seen = trace(session)
    (span,) = [span for span in seen.spans if span.kind == "picture"]
    return seen.attention[0, :, span.first : span.first + span.count]


def test_another_picture_changes_the_heat(omni, red):
    own, blank = heat(omni, red), heat(omni, Image.new("RGB", (64, 64), "gray"))
    assert torch.equal(own, heat(omni, red))
    assert (own - blank).abs().max() > 0.01 * own.max()


def test_the_shipped_model_looks_elsewhere_in_a_blank_picture(shipped_dir):
    omni = Omni.from_pretrained(shipped_dir)
    own = heat(omni, ROOT / "examples" / "sample_image.png").mean(0)
    blank = heat(omni, Image.new("RGB", (224, 224), "gray")).mean(0)
    apart = (own / own.sum() - blank / blank.sum()).abs().sum() / 2  # 0 the same, 1 disjoint
    assert apart > 0.05


def test_nothing_to_look_into_is_refused(omni):
    with pytest.raises(UserError, match="no answer yet"):
        trace(omni.session())


def test_text_alone_and_a_second_turn(nano_text_dir):
    session, _ = ask(Omni.from_pretrained(nano_text_dir), text="one")
    session.ask("two")
    seen = trace(session)
    assert {span.kind for span in seen.spans} == {"words", "answer"}
    assert seen.start > len(session.turns[0].prompt) + len(session.turns[0].reply)


def test_an_audio_encoder_with_fast_layers_show_them(omni):
    """Another build of the audio encoder and a wider projector: nothing here knows sizes by heart."""
    config = {"hidden_size": 64, "num_layers": 2, "num_heads": 2, "num_kv_heads": 1, "head_dim": 32}
    model = copy.copy(omni.model)
    model._modules = dict(omni.model._modules)
    model.audio = AudioEncoder(AudioConfig(**config, fast_layers=1, kernel=3)).eval()
    model.audio_projector = Projector(ProjectorConfig(64, 64, 96)).eval()
    session, _ = ask(Omni(model, omni.tokenizer, omni.folder), audio=SOUND)
    lanes = page_data(session, trace(session), [])["lanes"]
    titles = [stage["title"] for stage in lanes[0]["stages"]]
    assert "1 blocks at 25 Hz" in titles
    assert lanes[0]["stages"][titles.index("1 blocks at 25 Hz")]["shape"] == [1, 14, 64]


def test_speech_is_what_was_spoken(omni):
    text = "Hello there. A red fox."
    wave, _ = omni.speak(text)
    spoken = trace_speech(omni.speaker, text)
    assert np.array_equal(np.concatenate([said.wave.numpy() for said in spoken]), wave)
    for said in spoken:
        T, books = said.codes.shape
        assert said.mel.shape[1] * 160 == len(said.wave)
        assert said.mel.shape[1] == T * omni.speaker.codec.config.stack
        assert len(said.phones) == len(said.seconds)


# ---- the page


@pytest.fixture(scope="module")
def page(omni, tmp_path_factory):
    """A page with everything on it, and the session it shows."""
    path = tmp_path_factory.mktemp("page") / "page.html"
    question = 'What </script><b>is</b> "this"?'
    session, _ = ask(omni, text=question, image=picture(1), audio=SOUND, system_prompt="be kind")
    session.messages[-1]["content"] = "Hello there."  # random weights write nothing speakable
    write_page(path, session, {"speed": 1.2})
    return path, session, question


def test_thinking_is_told_from_the_question(omni):
    session, _ = ask(omni, audio=SOUND)
    data = page_data(session, trace(session), [])
    assert data["question"] == data["thinking"] != ""
    session, _ = ask(omni, text="Hi")
    assert page_data(session, trace(session), [])["thinking"] == ""


def test_the_page_contains_every_piece(page):
    path, session, question = page
    seen, held = trace(session), Page(path)
    data = held.trace
    assert path.stat().st_size < 2_000_000
    assert {"see", "hear", "guess", "deep", "read", "pipeline", "speak"} <= held.ids
    assert not held.links  # nothing is fetched
    assert data["question"] == question
    R, L, S = seen.attention.shape
    stored = np.frombuffer(base64.b64decode(data["attention"]), np.uint8).reshape(R, L + 1, S)
    assert np.abs((stored[:, 1:] / 255.0) ** 2 - seen.attention.numpy()).max() < 0.005
    assert len(data["tokens"]) == S
    assert sorted(row for word in data["words"] for row in word["rows"]) == list(range(R))
    for guess, token in zip(data["guesses"], seen.chosen):
        assert guess["id"] == token
        assert 0 <= guess["p"] <= 1
        assert len(guess["top"]) == 8
    pictures = [*data["pictures"], data["sounds"][0]["mel"], data["speech"][0]["mel"]]
    images = [Image.open(io.BytesIO(base64.b64decode(uri.split(",")[1]))) for uri in pictures]
    assert images[0].size == (224, 224)
    assert images[1].size == (50, 128)
    names = [lane["name"] for lane in data["lanes"]]
    assert names == ["Vision encoder", "Audio encoder", "Words", "Thinker", "Voice"]
    shapes = {stage["title"]: stage["shape"] for stage in data["lanes"][0]["stages"]}
    assert shapes["pixels"] == [1, 3, 224, 224]
    assert shapes["projector"] == [1, IMAGE_TOKENS, 64]
    assert data["lanes"][3]["stages"][0]["shape"] == [1, seen.start, 64]


CLICKS = """<script>
for (const place of ["#overview", ".rows", "#layers", "#words"])
  document.querySelector(place).lastElementChild.click();
for (const name of ["exact", "contrast"]) document.getElementById(name).click();
const pixels = canvas => canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
document.body.dataset.painted = [...document.querySelectorAll("canvas")]
  .filter(canvas => new Set(pixels(canvas)).size > 4).length;
document.body.dataset.canvases = document.querySelectorAll("canvas").length;
document.body.dataset.pressed = document.querySelectorAll("[aria-pressed=true]").length;
</script>"""


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
def test_the_page_draws_itself_in_a_browser(shipped_dir, tmp_path):
    """Of the shipped model: it opens with no error, draws the maps, and follows clicks."""
    examples = ROOT / "examples"
    session, _ = ask(
        Omni.from_pretrained(shipped_dir),
        text="What do you see, and what do you hear?",
        image=examples / "sample_image.png",
        audio=examples / "question.wav",
        max_new_tokens=20,
    )
    page, clicked = tmp_path / "page.html", tmp_path / "clicked.html"
    write_page(page, session, {})
    clicked.write_text(page.read_text("utf-8").replace("</body>", CLICKS + "</body>"), "utf-8")
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=5000"]
    done = subprocess.run(
        [CHROMIUM, *flags, "--enable-logging=stderr", f"--user-data-dir={tmp_path / 'profile'}",
         "--dump-dom", clicked.as_uri()],
        capture_output=True, text=True, timeout=240, check=True,
    )  # fmt: skip
    assert 'data-ready="yes"' in done.stdout
    assert "data-error" not in done.stdout.split("<body")[0]
    assert "CONSOLE" not in done.stderr
    words = len(Page(page).trace["words"])
    assert f'data-canvases="{2 + 2 * words}"' in done.stdout  # picture, sound, each for each word
    painted = int(re.search(r'data-painted="(\d+)"', done.stdout)[1])
    assert painted > words  # some words look at nothing more than the others do
    assert 'data-pressed="4"' in done.stdout
    for piece in ("This picture got", "This sound got", "layer 2", "✓", "(1, 3, 224, 224)"):
        assert piece in done.stdout


def test_layers_are_thinned_out_before_the_page_grows_heavy():
    assert kept_layers(torch.zeros(10, 6, 100)) == [0, 1, 2, 3, 4, 5]
    few = kept_layers(torch.zeros(128, 28, 1024))
    assert (few[0], few[-1]) == (0, 27)
    assert 128 * 1024 * (len(few) + 1) <= 1_000_000
    assert kept_layers(torch.zeros(900, 6, 1024)) == []


# ---- the command line


def test_trace_flag_writes_the_page_and_changes_no_answer(nano_omni_dir, tmp_path, capsys):
    common = ["--ckpt_dir", str(nano_omni_dir), "--text", "Hi", "--max_new_tokens", "5"]
    assert infer_chat.main(common) == 0
    plain = capsys.readouterr().out
    assert infer_chat.main([*common, "--trace", str(tmp_path / "a.html")]) == 0
    done = capsys.readouterr()
    assert done.out == plain
    assert "a.html" in done.err
    assert Page(tmp_path / "a.html").trace["question"] == "Hi"
    assert [path.name for path in tmp_path.iterdir()] == ["a.html"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["--text", "Hi", "--trace", "nowhere/page.html"],
        ["--text", "Hi", "--trace", "page.txt"],
        ["--text", "Hi", "--trace", "folder.html"],
        ["--trace", "page.html"],
    ],
)
def test_mistakes_are_one_line_and_leave_nothing(
    arguments, nano_omni_dir, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.html").mkdir()
    assert infer_chat.main([*arguments, "--ckpt_dir", str(nano_omni_dir)]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert [path.name for path in tmp_path.rglob("*")] == ["folder.html"]


def test_chunks_are_refused_in_one_line(omni):
    session, _ = ask(omni, text="Hi", max_new_tokens=1)
    session.omni = SimpleNamespace(model=torch.nn.Module())  # no Thinker of PyTorch's
    with pytest.raises(UserError, match="exported chunks cannot be looked into"):
        trace(session)


def test_a_page_without_a_name_is_one_line(capsys):
    with pytest.raises(SystemExit, match="2"):
        infer_chat.main(["--text", "Hi", "--trace", ""])
    assert capsys.readouterr().err == "error: argument --trace: its value is empty\n"


def test_trace_in_a_conversation(omni, tmp_path, capsys):
    repl = Repl(omni, None, {}, False, [], max_new_tokens=4)
    for wrong in ("/trace", "/trace page.html", "/trace page.txt"):
        with pytest.raises(UserError):
            repl.handle(wrong)
    repl.handle("hello")
    repl.handle(f"/trace {tmp_path / 'page.html'}")
    assert "page.html" in capsys.readouterr().out
    assert Page(tmp_path / "page.html").trace["question"] == "hello"
    repl.session.ask(audio=(np.zeros(16_000, np.float32), 16_000))  # silence is no turn of the model's
    with pytest.raises(UserError, match="nobody spoke"):
        repl.handle(f"/trace {tmp_path / 'page.html'}")
