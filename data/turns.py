"""Messages as the tokenizer encodes them: a user's turn with its reply, and their parts."""

from collections.abc import Sequence

RATIONALE = "Question:"  # opens the line of thinking that decides the answer


def turn(question: list, answer: str, *thinking: dict) -> list[dict]:
    """A user message and the reply to it, which may open with a chain of thought."""
    reply = [*thinking, text_part(answer)]
    return [{"role": "user", "content": question}, {"role": "assistant", "content": reply}]


def text_part(text: str) -> dict:
    """The content part of typed words."""
    return {"type": "text", "text": text}


def thinking_part(heard: Sequence[str], seen: str, asked: dict) -> dict:
    """The content part of a chain of thought: a line a sound, one for what is seen, one for the question.

    Args:
        asked: the question, which may have a rationale: what of all that decides its answer.
    """
    rationale = asked.get("rationale", "")
    last = [line for line in (seen, rationale and f"{RATIONALE} {rationale}.") if line]
    return {"type": "thinking", "text": "\n".join([*heard, "\n".join(last)])}
