"""Chatting from exported chunks: as an `Omni`, or by the names that Core ML chat scripts use.

    model = CoreMLLanguageModel("DIR", is_chunked=True, num_chunks=4)
    generate(model, tokenizer, "What is a dog?", temperature=0.0)
"""

from __future__ import annotations

from pathlib import Path

from inference.chunked.manifest import ChunkFiles
from inference.chunked.thinker import ChunkedThinker
from inference.hf_tokenizer import HFTokenizer, as_ours, load_tokenizer
from inference.omni import Omni
from inference.repl import Repl
from models.checkpoint import read_json
from models.errors import UserError
from models.omni import OmniModel
from models.tokenizer import Tokenizer


def load_chunks(
    model_dir: str | Path,
    chunked: bool = False,
    num_chunks: int | None = None,
    embeddings: str | Path | None = None,
    lm_head: str | Path | None = None,
    cache_compiled: bool = False,
    model_name: str | Path | None = None,
) -> Omni:
    """Exported chunks as an `Omni`: with pictures, sounds and voice where the checkpoint has them.

    Args:
        model_dir: a folder of `export.chunks`, or its only program.
        chunked, num_chunks: what the folder holds, if more than one program.
        embeddings, lm_head: else the folder's.
        cache_compiled: keep compiled forms.
        model_name: the tokenizer's: a folder or Hugging Face name.

    Raises:
        UserError: anything is missing, damaged, or does not fit.
    """
    files, manifest = ChunkFiles.find(model_dir, chunked, num_chunks, embeddings, lm_head)
    thinker = ChunkedThinker.open(files, manifest, cache_compiled)
    model: OmniModel | ChunkedThinker = thinker
    if read_json(files.folder / "config.json").get("model_type") == "muomni":
        model = OmniModel.from_pretrained(files.folder, thinker=thinker)
    tokenizer = load_tokenizer(files.folder, model_name)
    check_vocabulary(tokenizer, thinker)
    return Omni(model.eval(), tokenizer, files.folder)


def check_vocabulary(tokenizer: Tokenizer | HFTokenizer, thinker: ChunkedThinker) -> None:
    """Refuse a tokenizer whose ids the model does not have."""
    if len(tokenizer) > thinker.config.vocab_size:
        raise UserError(
            f"the tokenizer has {len(tokenizer)} ids, the chunks {thinker.config.vocab_size}: "
            "it is another model's"
        )


class CoreMLLanguageModel(ChunkedThinker):
    """A language model of exported chunks; `.onnx` ones as well as Core ML's.

    Args:
        model_dir: a folder of chunks, or its only program.
        embeddings_path, lm_head_path: default: the folder's.
        is_chunked, num_chunks: what the folder holds, if more than one program.
        max_context_length: tokens of a conversation; default: what the states hold.
        cache_compiled: keep compiled forms.
    """

    def __init__(
        self,
        model_dir: str | Path,
        embeddings_path: str | Path | None = None,
        lm_head_path: str | Path | None = None,
        is_chunked: bool = False,
        num_chunks: int | None = None,
        max_context_length: int | None = None,
        cache_compiled: bool = False,
    ) -> None:
        found = ChunkFiles.find(model_dir, is_chunked, num_chunks, embeddings_path, lm_head_path)
        opened = ChunkedThinker.open(*found, cache_compiled)
        table = opened.model.embed_tokens.weight
        super().__init__(opened.manifest, table, opened.chunks, opened.lm_head)
        self.files, self.max_context_length = found[0], max_context_length
        self.eval()


def as_omni(model: ChunkedThinker | Omni, tokenizer) -> Omni:
    """Model and tokenizer together; the tokenizer may be one of `transformers`."""
    if isinstance(model, Omni):
        return model
    if tokenizer is None:
        raise UserError("a tokenizer is needed: AutoTokenizer.from_pretrained(...), or ours")
    tokenizer = as_ours(tokenizer)
    check_vocabulary(tokenizer, model)
    return Omni(model, tokenizer, model.files.folder)


def settings_for(model, sampling: dict) -> dict:
    """Sampling settings, with the context that the model was given."""
    return {"max_seq_len": getattr(model, "max_context_length", None)} | sampling


def generate(
    model: CoreMLLanguageModel,
    tokenizer,
    prompt: str,
    max_new_tokens: int = 100,
    temperature: float = 0.8,
    top_k: int | None = 40,
    top_p: float | None = 0.95,
    system_prompt: str | None = None,
    **settings,
) -> str:
    """The answer to one prompt, asked by the tokenizer's chat template.

    Args:
        tokenizer: from `AutoTokenizer.from_pretrained`, or ours.
        temperature: 0 is greedy.
        top_k, top_p: 0 and 1.0 keep all tokens.
        settings: further fields of GenerateConfig, such as `seed`.
    """
    sampling = {"max_new_tokens": max_new_tokens, "temperature": temperature}
    sampling |= {"top_k": top_k, "top_p": top_p} | settings
    omni = as_omni(model, tokenizer)
    return omni.chat(prompt, system_prompt=system_prompt, **settings_for(model, sampling))


def chat_loop(
    model: CoreMLLanguageModel,
    tokenizer,
    system_prompt: str | None = None,
    max_new_tokens: int = 100,
    temperature: float = 0.8,
    top_k: int | None = 40,
    top_p: float | None = 0.95,
    quiet: bool = False,
    **settings,
) -> None:
    """Talk in the terminal until `/quit`; the KV states live across turns. See `generate`."""
    sampling = {"max_new_tokens": max_new_tokens, "temperature": temperature}
    sampling |= {"top_k": top_k, "top_p": top_p} | settings
    omni = as_omni(model, tokenizer)
    Repl(omni, system_prompt, {}, quiet, [], **settings_for(model, sampling)).run()
