"""Messages as the tokenizer encodes them: a user's turn with its reply, and their parts."""


def turn(question: list, answer: str, *thinking: dict) -> list[dict]:
    """A user message and the reply to it, which may open with a chain of thought."""
    reply = [*thinking, text_part(answer)]
    return [{"role": "user", "content": question}, {"role": "assistant", "content": reply}]


def text_part(text: str) -> dict:
    """The content part of typed words."""
    return {"type": "text", "text": text}


def thinking_part(*lines: str) -> dict:
    """The content part of a chain of thought; a line a sound, then one for the pictures."""
    return {"type": "thinking", "text": "\n".join(lines)}
