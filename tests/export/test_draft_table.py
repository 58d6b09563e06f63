"""The table of guesses as its command writes it: answers alone are counted, the model's own too."""

from export.draft_table import main, own_answers, training_chats
from inference import Omni, Prompt, generate
from inference.speculative.table import DraftTable
from models.tokenizer import Tokenizer


def test_the_table_counts_what_assistants_say(nano_omni_dir, tmp_path):
    out = tmp_path / "table.safetensors"
    flags = ["--conversations", "60", "--scenes", "2", "--out", str(out), "--ckpt_dir", str(nano_omni_dir)]
    assert main(flags) == 0
    tokenizer = Tokenizer(nano_omni_dir / "tokenizer.model")
    texts = [tokenizer.encode_chat_targets(chat) for chat in training_chats(60, 2)]
    table = DraftTable.load(out).tables
    assert table == DraftTable.count(texts).tables
    everything = [(ids, [1] * len(ids)) for ids, _ in texts]
    assert table != DraftTable.count(everything).tables and any(table)


def test_own_answers_are_the_models(nano_omni_dir):
    omni = Omni.from_pretrained(nano_omni_dir)
    found = list(own_answers(nano_omni_dir, 2))
    assert len(found) == 2 and not list(own_answers(nano_omni_dir, 0))
    for ids, mask in found:
        start = mask.index(1)
        assert mask == [0] * start + [1] * (len(ids) - start)
        reply = generate(omni.model, Prompt(ids[:start]), omni.config(max_new_tokens=64))
        end = [omni.tokenizer.eos] if len(reply) < 64 else []
        assert ids[start:] == reply + end
