"""Fixtures that every test package shares: an untrained nano omni-model and the shipped weights."""

import os
import resource
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch

torch.set_num_threads(1)  # nano tensors: more threads only wait for each other
os.environ.setdefault("OMP_NUM_THREADS", "1")  # and for the subprocesses that tests start

ROOT = Path(__file__).resolve().parent.parent
os.environ.setdefault("MUOMNI_NATIVE_DIR", str(ROOT / "build" / "native"))  # compiled once for all


@pytest.fixture(scope="session", autouse=True)
def compiled_step():
    """Compile the decode step before a test looks at what is printed; None without a compiler."""
    from inference.native.library import library

    found = library(None)
    return None if isinstance(found, str) else found


@contextmanager
def full_disk(size: int = 100):
    """No file can grow beyond so many bytes within the block."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.fixture(scope="session")
def nano_omni_dir(tmp_path_factory) -> Path:
    """An omni checkpoint of random weights, speech included. Its answers mean nothing."""
    return make_nano_omni(tmp_path_factory.mktemp("nano_omni"))


def make_nano_omni(folder: Path) -> Path:
    """Write it to a folder."""
    from models.audio import AudioConfig, AudioEncoder
    from models.omni import OmniModel
    from models.projector import Projector, ProjectorConfig
    from models.thinker import Thinker, ThinkerConfig
    from models.tokenizer import Tokenizer
    from models.vision import VisionConfig, VisionEncoder
    from training.objectives.tokenizer import train_tokenizer

    folder.mkdir(exist_ok=True)
    # A text that never changes: with other pieces, random weights give other answers.
    lines = (ROOT / "LICENSE").read_text(encoding="utf-8").splitlines()
    train_tokenizer(lines, folder / "tokenizer.model", 512)
    tokenizer = Tokenizer(folder / "tokenizer.model")
    torch.manual_seed(0)
    block = {"num_heads": 2, "num_kv_heads": 1, "head_dim": 32, "intermediate_size": 128}
    model = OmniModel(
        Thinker(
            ThinkerConfig(
                vocab_size=len(tokenizer),
                hidden_size=64,
                num_hidden_layers=2,
                num_attention_heads=2,
                num_key_value_heads=1,
                head_dim=32,
                intermediate_size=128,
                max_position_embeddings=1024,
            )
        ),
        VisionEncoder(VisionConfig(hidden_size=64, num_layers=2, **block)),
        Projector(ProjectorConfig(64, 64)),
        AudioEncoder(AudioConfig(hidden_size=64, num_layers=2, **block)),
        Projector(ProjectorConfig(64, 64)),
        tokenizer.image,
        tokenizer.audio,
    )
    # At its initial scale the model only repeats its last token: make it depend on all of them.
    for parameter in model.parameters():
        if parameter.dim() == 2:
            torch.nn.init.normal_(parameter, std=0.25)
    model.save_pretrained(folder)
    save_nano_speech(folder)
    return folder


def save_nano_speech(folder: Path) -> None:
    """Untrained speaking parts beside the others: noise of a plausible length."""
    from models.codec import CodecConfig, MelCodec
    from models.frontend import Frontend, FrontendConfig
    from models.omni import save_part
    from models.talker import Talker, TalkerConfig
    from models.vocoder import Vocoder, VocoderConfig

    books = {"codebook_size": 64, "codebook_dim": 16}
    parts = {
        "codec": MelCodec(CodecConfig(hidden_size=48, intermediate_size=96, num_layers=1, **books)),
        "vocoder": Vocoder(VocoderConfig(hidden_size=48, intermediate_size=96, num_layers=2)),
        "talker": Talker(TalkerConfig(hidden_size=64, num_hidden_layers=1, head_dim=16, **books)),
        "frontend": Frontend(FrontendConfig()),
    }
    for name, part in parts.items():
        save_part(folder, name, part)


@pytest.fixture(scope="session")
def nano_text_dir(nano_omni_dir, tmp_path_factory) -> Path:
    """The Thinker of `nano_omni_dir` as a text-only checkpoint, as checkpoints/thinker_tiny is."""
    from models.thinker import Thinker

    folder = tmp_path_factory.mktemp("nano_text")
    Thinker.from_pretrained(nano_omni_dir, "thinker").save_pretrained(folder)
    (folder / "tokenizer.model").write_bytes((nano_omni_dir / "tokenizer.model").read_bytes())
    return folder


@pytest.fixture(scope="session")
def shipped_dir() -> Path:
    """The shipped omni checkpoint; MUOMNI_TEST_CKPT names another to run the same tests on."""
    return Path(os.environ.get("MUOMNI_TEST_CKPT", ROOT / "checkpoints" / "omni_sft_tiny"))
