"""Messages as the tokenizer encodes them: a user's turn with its reply, and their parts."""


def turn(question: list, answer: str, *thinking: dict) -> list[dict]:
    """A user message and the reply to it, which may open with a chain of thought."""
    reply = [*thinking, text_part(answer)]
    return [{"role": "user", "content": question}, {"role": "assistant", "content": reply}]


def text_part(text: str) -> dict:
    """The content part of typed words."""
    return {"type": "text", "text": text}


def thinking_part(heard: list[str], seen: str, asked: dict) -> dict:
    """The content part of a chain of thought: a line a sound, then what is seen and the rationale.

    Args:
        asked: the question, which may have a rationale: what of all that decides its answer.
    """
    rationale = asked.get("rationale", "")
    last = f"{seen} Asked: {rationale}." if rationale else seen
    return {"type": "thinking", "text": "\n".join([*heard, last.strip()])}
