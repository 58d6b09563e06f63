"""Arithmetic, counting, comparing, days and months. Answers are computed, never looked up."""

from __future__ import annotations

from functools import cache

from num2words import num2words

from data.dialogue.draw import Draw, Turn
from data.dialogue.facts import AMOUNTS, DAYS, MONTH_DAYS, MONTHS
from data.dialogue.names import a_name
from data.english import upper

ADD = ("What is {a} plus {b}?", "How much is {a} plus {b}?", "{a} + {b} = ?", "What is {a} + {b}?",
       "Add {a} and {b}.", "{a} plus {b}", "Calculate {a} plus {b}.",
       "What is {a} and {b} together?",
       "Can you add {a} and {b}?", "What do you get when you add {a} and {b}?", "{a}+{b}",
       "What is the sum of {a} and {b}?", "How much do {a} and {b} make?", "Work out {a} plus {b}.",
       "{a} plus {b} equals what?", "Please add {b} to {a}.", "{a} plus {b} is?")
SUBTRACT = ("What is {a} minus {b}?", "How much is {a} minus {b}?", "{a} - {b} = ?",
            "What is {a} - {b}?", "Take {b} from {a}.", "{a} minus {b}", "Subtract {b} from {a}.",
            "What is {a} take away {b}?", "Calculate {a} minus {b}.", "{a}-{b}",
            "What is left when you take {b} from {a}?", "Work out {a} minus {b}.",
            "Can you take {b} from {a}?", "{a} minus {b} equals what?", "{a} minus {b} is?")
TIMES = ("What is {a} times {b}?", "How much is {a} times {b}?", "{a} x {b} = ?",
         "What is {a} x {b}?",
         "Multiply {a} by {b}.", "{a} times {b}", "What is {a} multiplied by {b}?",
         "Calculate {a} times {b}.", "Multiply {a} and {b}.", "{a} * {b}", "{a} x {b}",
         "What do you get when you multiply {a} by {b}?", "Can you multiply {a} by {b}?",
         "Work out {a} times {b}.", "{a} times {b} is?")
GAIN = ("{n} has {a} {t}. {n} gets {b} more. How many {t} does {n} have now?",
        "I have {a} {t} and I buy {b} more. How many {t} do I have?",
        "There are {a} {t} in a box. I put in {b} more. How many {t} are in the box?",
        "{n} finds {a} {t} and then {b} more. How many {t} is that?",
        "There are {a} {t} on one table and {b} on the other. How many {t} are there?",
        "{n} has {a} {t}. A friend gives {n} {b} {t}. How many {t} does {n} have?",
        "I had {a} {t} and found {b} more {t}. How many are there now?")
LOSE = ("{n} has {a} {t}. {n} gives away {b}. How many {t} are left?",
        "I have {a} {t} and I lose {b}. How many {t} do I have left?",
        "There are {a} {t} in a box. I take out {b}. How many {t} are in the box?",
        "{n} had {a} {t} and sold {b}. How many {t} are left?",
        "There are {a} {t} on the table. {b} fall down. How many {t} are still on the table?",
        "{n} has {a} {t}. {n} loses {b} {t}. How many {t} does {n} have now?",
        "Out of {a} {t}, {b} are gone. How many {t} remain?")
ITEMS = ("apples books balls cups eggs coins pens cards shells stones cookies "
         "flowers keys toys").split()

BIGGER = ("Which is bigger, {a} or {b}?", "Which number is larger, {a} or {b}?",
          "What is more, {a} or {b}?",
          "Which is greater, {a} or {b}?", "Tell me the bigger number, {a} or {b}.",
          "Which is the bigger number: {a} or {b}?", "What is larger, {a} or {b}?",
          "Of {a} and {b}, which is bigger?", "Which one is bigger, {a} or {b}?",
          "Which is higher, {a} or {b}?", "Find the larger number: {a}, {b}.",
          "Which of {a} and {b} is the larger one?", "Name the greater of {a} and {b}.")
SMALLER = ("Which is smaller, {a} or {b}?", "Which number is smaller, {a} or {b}?",
           "What is less, {a} or {b}?",
           "Which is the smaller number, {a} or {b}?", "Tell me the smaller number, {a} or {b}.",
           "Which is the smaller number: {a} or {b}?", "What is smaller, {a} or {b}?",
           "Of {a} and {b}, which is smaller?", "Which one is smaller, {a} or {b}?",
           "Which is lower, {a} or {b}?", "Find the smaller number: {a}, {b}.",
           "Which of {a} and {b} is the smaller one?", "Name the lesser of {a} and {b}.")
IS_BIGGER = ("Is {a} bigger than {b}?", "Is {a} larger than {b}?", "Is {a} more than {b}?",
             "Is {a} greater than {b}?", "Is the number {a} bigger than {b}?",
             "Would you say {a} is bigger than {b}?", "Is {a} higher than {b}?")
EVEN = ("Is {a} even or odd?", "Is {a} odd or even?", "Is the number {a} even or odd?",
        "Tell me if {a} is even or odd.", "Even or odd: {a}?", "Would you call {a} even or odd?",
        "Is {a} an odd or an even number?")
NEXT = ("What comes after {a}?", "What number comes after {a}?", "Which number follows {a}?",
        "What is the next number after {a}?", "What comes next after {a}?",
        "Tell me the number after {a}.",
        "Which number comes right after {a}?", "What follows {a}?", "{a}, and then?",
        "After {a} comes which number?", "Say the number that comes after {a}.",
        "What is one more than {a}?",
        "What number is after {a}?", "Name the number that follows {a}.")
BEFORE = ("What comes before {a}?", "What number comes before {a}?", "Which number is before {a}?",
          "What is the number before {a}?", "What comes just before {a}?",
          "Tell me the number before {a}.",
          "Which number comes right before {a}?", "What is one less than {a}?",
          "Before {a} comes which number?", "Say the number that comes before {a}.",
          "What number is just before {a}?", "Name the number before {a}.")
COUNT = ("Count from {a} to {b}.", "Please count from {a} to {b}.",
         "Can you count from {a} to {b}?",
         "Count from {a} up to {b}.", "Say the numbers from {a} to {b}.", "Count {a} to {b}.",
         "List the numbers from {a} to {b}.", "Give me the numbers from {a} to {b}.",
         "Start at {a} and count to {b}.", "I want you to count from {a} to {b}.",
         "Could you count from {a} to {b}?", "Name the numbers from {a} to {b}.",
         "Start from {a} and go on to {b}.", "Tell me all numbers from {a} to {b}.")
DAY_AFTER = ("Which day comes after {d}?", "What comes after {d}?", "What day is after {d}?",
             "Which day follows {d}?", "What is the day after {d}?",
             "Today is {d}. What day is tomorrow?",
             "If today is {d}, what is tomorrow?", "Tell me the day after {d}.",
             "What day follows {d}?",
             "Which day is next after {d}?", "Name the day after {d}.",
             "After {d} comes which day?",
             "It is {d}. Which day will it be tomorrow?")
DAY_BEFORE = ("Which day comes before {d}?", "What comes before {d}?", "What day is before {d}?",
              "What is the day before {d}?", "Today is {d}. What day was yesterday?",
              "If today is {d}, what was yesterday?", "Tell me the day before {d}.",
              "Which day is right before {d}?", "Name the day before {d}.")
MONTH_AFTER = ("Which month comes after {d}?", "What comes after {d}?", "What month is after {d}?",
               "Which month follows {d}?", "What is the month after {d}?",
               "Tell me the month after {d}.",
               "What month follows {d}?", "Which month is next after {d}?",
               "Name the month after {d}.")
MONTH_BEFORE = ("Which month comes before {d}?", "What comes before {d}?",
                "What month is before {d}?",
                "What is the month before {d}?", "Tell me the month before {d}.",
                "Which month is right before {d}?", "Name the month before {d}.")
AMOUNT = ("How many {p} are in {w}?", "How many {p} are there in {w}?",
          "How many {p} does {w} have?",
          "Tell me how many {p} {w} has.", "{w} has how many {p}?", "How many {p} has {w}?",
          "What is the number of {p} in {w}?", "How many {p} make {w}?", "How many {p} in {w}?",
          "Do you know how many {p} are in {w}?", "Can you say how many {p} {w} has?",
          "Give me the number of {p} in {w}.", "Say how many {p} {w} has.")


@cache
def words(number: int) -> str:
    """A whole number in words, as Americans say it: "one hundred five"."""
    return num2words(number).replace(" and ", " ").replace(",", "")


def result(sentence: str, number: int) -> tuple[str, tuple[str, ...]]:
    """The answer sentence and the short answers that are as right."""
    return sentence, (f"{number}.", f"It is {number}.", f"The answer is {number}.")


def sum_of(draw: Draw) -> tuple[str, str, int, int, int]:
    """(operation, its word, a, b, result), within what the world knows."""
    def make():
        kind = draw.pick("++--x")
        if kind == "x":
            return kind, draw.number(0, 10), draw.number(0, 10)
        a, b = draw.number(0, 60 if draw.practice(0.3) else 20), draw.number(0, 20)
        return kind, (a if kind == "+" else max(a, b)), (b if kind == "+" else min(a, b))

    kind, a, b = draw.fresh(make)
    if kind == "+":
        return kind, "plus", a, b, a + b
    return (kind, "minus", a, b, a - b) if kind == "-" else (kind, "times", a, b, a * b)


def arithmetic(draw: Draw) -> list[Turn]:
    """a plus, minus or times b."""
    kind, word, a, b, value = sum_of(draw)
    question = draw.say({"+": ADD, "-": SUBTRACT, "x": TIMES}[kind], a=a, b=b)
    if draw.chance() < 0.2:
        question = question.replace(str(a), words(a), 1) if a != b else question
    return [Turn(question, *result(f"{a} {word} {b} is {value}.", value))]


def word_problem(draw: Draw) -> list[Turn]:
    """One small step with things: more of them, or fewer."""
    most = (40, 20) if draw.practice(0.6) else (12, 10)

    def make() -> tuple[str, int, int]:  # kept for dev and test are the sums that `sum_of` keeps
        a, b = draw.number(2, most[0]), draw.number(2, most[1])
        return "+" if draw.chance() < 0.5 or a <= b else "-", a, b

    sign, a, b = draw.fresh(make)
    name, thing, more = a_name(draw), draw.pick(ITEMS), sign == "+"
    value, word = (a + b, "plus") if more else (a - b, "minus")
    question = draw.say(GAIN if more else LOSE, a=a, b=b, n=name, t=thing)
    noun = thing if value != 1 else thing[:-1]
    _, short = result("", value)
    # The sum is said first: it is then read off, as an answer to arithmetic is.
    answer = f"{a} {word} {b} is {value}, so {value} {noun}."
    return [Turn(question, answer, (f"{value} {noun}.", f"{a} {word} {b} is {value}.", *short))]


def compare(draw: Draw) -> list[Turn]:
    """Bigger, smaller, even or odd."""
    a, b = draw.fresh(lambda: tuple(draw.rng.sample(range(0, 100 if draw.chance() < 0.5 else 20),
    2)))
    way = draw.number(0, 3)
    if way == 0:
        return [Turn(draw.say(BIGGER, a=a, b=b), f"{max(a, b)} is bigger.", result("",
        max(a, b))[1])]
    if way == 1:
        return [Turn(draw.say(SMALLER, a=a, b=b), f"{min(a, b)} is smaller.", result("",
        min(a, b))[1])]
    if way == 2:
        yes = a > b
        answer = f"Yes, {a} is bigger than {b}." if yes else f"No, {a} is smaller than {b}."
        return [Turn(draw.say(IS_BIGGER, a=a, b=b), answer, ("Yes" if yes else "No",))]
    kind = "odd" if a % 2 else "even"
    return [Turn(draw.say(EVEN, a=a), f"{a} is {kind}.", (kind, f"It is {kind}."))]


def counting(draw: Draw) -> list[Turn]:
    """The next number, the one before, or a short count."""
    if draw.chance() < 0.5:
        start, length = draw.fresh(lambda: (draw.number(0, 30), draw.number(2, 9)))
        shown = ", ".join(str(start + i) for i in range(length + 1)) + "."
        return [Turn(draw.say(COUNT, a=start, b=start + length), shown)]
    _, a = draw.fresh(lambda: ("next", draw.number(1, 99)))
    if draw.chance() < 0.6:
        return [Turn(draw.say(NEXT, a=a), *result(f"{a + 1} comes after {a}.", a + 1))]
    return [Turn(draw.say(BEFORE, a=a), *result(f"{a - 1} comes before {a}.", a - 1))]


def calendar(draw: Draw) -> list[Turn]:
    """Days, months and how many of one thing are in another."""
    way = draw.number(0, 7)
    if way < 4:
        names = DAYS if way < 2 else MONTHS
        after, before = (DAY_AFTER, DAY_BEFORE) if way < 2 else (MONTH_AFTER, MONTH_BEFORE)
        place = draw.number(0, len(names) - 1)
        step = 1 if way % 2 == 0 else -1
        found = names[(place + step) % len(names)]
        answer = f"{found} comes {'after' if step == 1 else 'before'} {names[place]}."
        question = draw.say(after if step == 1 else before, d=names[place])
        return [Turn(question, answer, (found, f"It is {found}."))]
    if way == 4:
        month = draw.pick(MONTHS)
        days = MONTH_DAYS[month]
        return [Turn(draw.say(AMOUNT, p="days", w=month), *result(f"{month} has {days} days.",
        days))]
    part, whole, number = draw.pick(AMOUNTS)
    question = upper(draw.say(AMOUNT, p=part, w=whole))
    return [Turn(question, f"{upper(whole)} has {number} {part}.",
                 (f"{number}.", f"{number} {part}.", f"There are {number} {part} in {whole}."))]
