"""Sums and differences of long numbers, and counting up, down and in steps."""

from __future__ import annotations

from data.dialogue import numbers
from data.dialogue.draw import Draw, Turn
from data.dialogue.wordings import WORDINGS

MOST = 12  # numbers that are counted, at most


def long_sum(draw: Draw) -> list[Turn]:
    """a plus or minus b, of three digits; in training also of two, and of one."""
    def make():
        lows = ((100, 999), (10, 99), (1, 9)) if draw.practice(0.4) else ((100, 999),)
        a, b = draw.number(*draw.pick(lows)), draw.number(*draw.pick(lows))
        return ("+", a, b) if draw.chance() < 0.5 else ("-", max(a, b), min(a, b))

    sign, a, b = draw.fresh(make)
    word, value = ("plus", a + b) if sign == "+" else ("minus", a - b)
    question = draw.say(numbers.ADD if sign == "+" else numbers.SUBTRACT, a=a, b=b)
    return [Turn(question, *numbers.result(f"{a} {word} {b} is {value}.", value))]


def count_on(draw: Draw) -> list[Turn]:
    """Counting to a number, down, or in steps."""
    way = draw.number(0, 4)
    if way == 0:
        end = draw.number(2, MOST)
        return [_counted(draw, "count_to", 1, end, 1)]
    step = 1 if way < 3 else draw.pick((2, 2, 3, 5, 10, 10, 100))
    most = 60 if step < 5 else 50 * step
    far = 10 * draw.number(0, 20) if step == 1 and draw.practice(0.3) else 0
    start, length = draw.fresh(lambda: (far + draw.number(0, most // step), draw.number(3, MOST - 2)))
    if step > 1 and draw.split == "train":
        start = start * step if draw.chance() < 0.7 else draw.number(0, 20)
        return [_counted(draw, "count_step", start, start + length * step, step)]
    if step > 1:
        while start * step <= 20:  # where training may begin whatever the length
            start, length = draw.fresh(lambda: (draw.number(0, most // step), draw.number(3, MOST - 2)))
        start *= step
        return [_counted(draw, "count_step", start, start + length * step, step)]
    return [_counted(draw, "count_down", start + length, start, -1)]


def _counted(draw: Draw, kind: str, start: int, end: int, step: int) -> Turn:
    """A question of a kind and all the numbers from `start` to `end`."""
    said = [str(n) for n in range(start, end + (1 if step > 0 else -1), step)]
    question = draw.say(WORDINGS[kind], a=start, b=end, s=abs(step))
    return Turn(question, ", ".join(said) + ".")
