"""Stop strings: found across tokens, cut from the text, the same alone and in a batch."""

import pytest

from inference import generate, generate_batch
from inference.stopping import StopWatch, cut, until
from models.errors import UserError
from tests.inference.turns import plain_turn

STOPS = ("END", "stop it")


@pytest.mark.parametrize(
    "text",
    [
        "one END two",
        "no such thing",
        "s",
        "sto",
        "stop",
        "EN",
        "EENDx",
        "a stop its END",
        "END",
        "",
    ],
)
def test_pieces_of_any_size_join_to_the_cut_text(text):
    for size in (1, 2, 3, 50):
        pieces = [text[i : i + size] for i in range(0, len(text), size)]
        assert "".join(until(pieces, STOPS)) == cut(text, STOPS)
    assert "".join(until([text], ())) == text


def test_text_is_held_back_only_while_it_could_be_a_stop_string():
    assert list(until(["ab", "s", "t", "u", "c"], STOPS)) == ["ab", "stu", "c"]


def test_an_answer_ends_before_the_string_alone_in_a_batch_and_in_a_chat(omni):
    whole = omni.chat("hello", max_new_tokens=24)
    stop = whole[len(whole) // 2 :][:4]  # in all likelihood across two tokens
    settings = {"max_new_tokens": 24, "stop_strings": [stop]}
    expected = whole[: whole.index(stop)]
    assert omni.chat("hello", **settings) == expected
    assert omni.batch([{"text": "hello"}, {"text": "and"}], **settings)[0] == expected
    assert omni.session(**settings).ask("hello") == expected


def test_the_token_loop_stops_and_needs_the_tokenizer(omni):
    decode, config = omni.tokenizer.decode, omni.config(max_new_tokens=24)
    asked = [plain_turn(omni, text) for text in ("hello", "what?", "a b c", "and so on", "the end")]
    replies = [generate(omni.model, prompt, config) for prompt in asked]
    prompt, whole, place, stop = next(  # a token after the first whose text is new
        (prompt, whole, i, decode([token]))
        for prompt, whole in zip(asked, replies)
        for i, token in enumerate(whole)
        if i and "\ufffd" not in decode([token]) and decode([token]) not in decode(whole[:i])
    )
    config = omni.config(max_new_tokens=24, stop_strings=(stop,))
    reply = generate(omni.model, prompt, config, omni.tokenizer)
    assert reply == whole[: place + 1]
    assert generate_batch(omni.model, [prompt], config, omni.tokenizer) == [reply]
    with pytest.raises(UserError, match="tokenizer"):
        generate(omni.model, prompt, config)


def test_a_string_out_of_two_tokens_is_complete_with_the_second(omni):
    encode = omni.tokenizer.encode
    watch = StopWatch(("ND o",), omni.tokenizer)
    pushed = [watch.push(token) for token in encode("END of it")]
    assert pushed.count(True) >= 1 and not pushed[0]
    decode, config = omni.tokenizer.decode, omni.config(max_new_tokens=24)
    prompt = plain_turn(omni, "hello")
    whole = generate(omni.model, prompt, config)
    texts = [decode([token]) for token in whole]
    place, stop = next(  # neither token holds it alone, and it stands nowhere before
        (i, stop)
        for i in range(1, len(whole))
        if (stop := texts[i - 1][-1:] + texts[i][:1]) and len(stop) == 2 and "\ufffd" not in stop
        and stop not in decode(whole[:i]) and stop not in texts[i]
    )
    config = omni.config(max_new_tokens=24, stop_strings=(stop,))
    assert generate(omni.model, prompt, config, omni.tokenizer) == whole[: place + 1]
