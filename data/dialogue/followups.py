"""Second turns that only make sense with the first: "And of Spain?", "And plus 2?"."""

from __future__ import annotations

from data.dialogue import numbers, words, world
from data.dialogue.draw import Draw, Turn
from data.dialogue.facts import ANIMALS, CAPITALS, COLORS
from data.dialogue.things import THINGS
from data.english import upper

AND_OF = ("And of {x}?", "And the one of {x}?", "What about that of {x}?", "And for {x}?",
          "Now of {x}?",
          "And that of {x}?", "What about the one of {x}?", "And what about {x}?",
          "What about {x}?",
          "And {x}?", "How about {x}?", "Now {x}.", "And now for {x}?", "Okay, and of {x}?")
AND = ("And {x}?", "What about {x}?", "And what about {x}?", "How about {x}?", "Now {x}?",
       "Okay, and {x}?", "And now {x}?", "{x}?", "Then what about {x}?", "The same for {x}?",
       "Good. And {x}?", "And for {x}?", "Tell me the same about {x}.", "So how about {x}?")
AND_PLUS = ("And plus {b}?", "Plus {b}?", "Now add {b}.", "And if I add {b}?", "Add {b} to that.",
            "And {b} more?", "What if you add {b}?", "Now plus {b}?", "Then add {b}.",
            "Add {b} more.",
            "And now plus {b}?", "Plus {b} makes what?", "And with {b} added?",
            "What is that plus {b}?")
AND_MINUS = ("And minus {b}?", "Minus {b}?", "Now take away {b}.", "And if I take {b} away?",
             "Subtract {b} from that.", "And {b} less?", "Take {b} from that.", "Now minus {b}?",
             "Then subtract {b}.", "What is that minus {b}?", "And now minus {b}?",
             "Take away {b} more.",
             "And with {b} taken away?", "That minus {b}?")
IT_LEGS = ("How many legs does it have?", "And how many legs does it have?",
           "How many legs has it?",
           "Does it have legs? How many?", "Tell me how many legs it has.", "It has how many legs?",
           "How many legs are on it?")
IT_HOME = ("Where does it live?", "And where does it live?", "Where can I find it?",
           "Where is its home?",
           "Tell me where it lives.", "Where would I see one?", "In which place does it live?")
IT_COLOR = ("What color is it?", "And what color is it?", "Which color is it?",
            "What is its color?",
            "And which color is it?", "Tell me its color.", "What color does it have?")
IT_SPELL = ("How do you spell it?", "Can you spell it?", "Spell it.", "And how is it spelled?",
            "How is that spelled?", "Please spell that.", "How do you write it?")
WHAT_ASKED = ("What did I just ask?", "What was my question?", "What did I ask you?",
              "Repeat my question.", "Do you remember my question?", "What was my last question?",
              "Tell me what I asked.", "Can you repeat my question?", "What have I just asked you?",
              "Say my question again.", "What was it that I asked?", "Which question did I ask?",
              "Read my question back to me.", "What did I ask before?")
WHAT_SAID = ("What did you say?", "Say that again.", "Repeat that, please.", "Pardon?",
             "Can you say that again?", "Please repeat your answer.", "What was that?",
             "Could you repeat that?", "I did not hear you.", "Once more, please.",
             "Tell me again.",
             "Come again?", "What was your answer?", "Sorry, what did you say?")


def _capital(draw: Draw) -> list[Turn]:
    first, second = draw.fresh(lambda: tuple(draw.rng.sample(list(CAPITALS), 2)))
    return [world.capital_turn(draw.say(world.CAPITAL, c=first), first),
            world.capital_turn(draw.say(AND_OF, x=second), second)]


def _color(draw: Draw) -> list[Turn]:
    first, second = draw.fresh(lambda: tuple(draw.rng.sample(list(COLORS), 2)))
    return [world.color_turn(upper(draw.say(world.COLOR, o=first)), first),
            world.color_turn(upper(draw.say(AND, x=second)), second)]


def _sum(draw: Draw) -> list[Turn]:
    sign, word, a, b, start = numbers.sum_of(draw)
    wordings = {"+": numbers.ADD, "-": numbers.SUBTRACT, "x": numbers.TIMES}[sign]
    first = Turn(draw.say(wordings, a=a, b=b),
                 *numbers.result(f"{a} {word} {b} is {start}.", start))

    def make() -> tuple[str, int, int]:
        less = start > 0 and draw.chance() < 0.4
        return "-" if less else "+", start, draw.number(1, min(10, start) if less else 10)

    then, _, step = draw.fresh(make) if draw.split == "train" else make()
    less = then == "-"
    value = start - step if less else start + step
    word = "minus" if less else "plus"
    question = draw.say(AND_MINUS if less else AND_PLUS, b=step)
    return [first, Turn(question, *numbers.result(f"{start} {word} {step} is {value}.", value))]


def _opposite(draw: Draw) -> list[Turn]:
    first, second = words.opposite(draw)[0], words.opposite(draw)[0]
    word = second.answer.split(" is ")[0].removeprefix("The opposite of ")
    return [first, second._replace(question=draw.say(AND_OF, x=word))]


def _animal(draw: Draw) -> list[Turn]:
    way = draw.pick((0, 2, 3))
    first = world.animal_turn(draw, way)
    second = draw.pick([a for a in ANIMALS if a[way + 1]])
    question = draw.say(AND, x=world.article(second[0]))
    return [first, world.animal_turn(draw, way, [second], question)]


def _thing(draw: Draw) -> list[Turn]:
    first, second = world.definition(draw)[0], draw.pick(THINGS)
    _, named, meaning, _ = second
    answer = f"{upper(named)} {world.verb(named)} {meaning}."
    return [first, Turn(upper(draw.say(AND, x=named)), answer, (upper(meaning),))]


def _it(draw: Draw) -> list[Turn]:
    animals = {row[0]: row for row in ANIMALS}
    known = [t for t in THINGS if t[0] in animals or t[1] in COLORS]
    word, named, meaning, _ = draw.pick(known)
    turns = [Turn(draw.say(world.DEFINE, x=named, w=word),
                  f"{upper(named)} {world.verb(named)} {meaning}.", (upper(meaning),))]
    if named in COLORS and (word not in animals or draw.chance() < 0.5):
        turns.append(world.color_turn(draw.say(IT_COLOR), named))
    elif word in animals:
        way = draw.pick((2, 3))
        question = draw.say(IT_LEGS if way == 2 else IT_HOME)
        turns.append(world.animal_turn(draw, way, [animals[word]], question))
    if word in words.SPELLABLE and draw.chance() < 0.3:
        turns.append(Turn(draw.say(IT_SPELL), "-".join(word.upper()) + ".", (word.upper(),)))
    return turns


def _spell(draw: Draw) -> list[Turn]:
    first = draw.pick(words.SPELLABLE)
    second = draw.pick(words.SPELLABLE)
    return [Turn(draw.say(words.SPELL, w=first), "-".join(first.upper()) + ".", (first.upper(),)),
            Turn(draw.say(AND, x=second), "-".join(second.upper()) + ".", (second.upper(),))]


def _asked(draw: Draw) -> list[Turn]:
    makers = (world.capital, world.color, world.animal, words.opposite, numbers.arithmetic,
              world.definition)
    first = draw.pick(makers)(draw)[0]._replace(keep=True)
    if draw.chance() < 0.5:
        return [first, Turn(draw.say(WHAT_SAID), first.answer, first.accept)]
    asked = f'You asked: "{first.question}"'
    return [first, Turn(draw.say(WHAT_ASKED), asked, (first.question,))]


CHOICES = (_capital, _capital, _color, _color, _sum, _sum, _opposite, _animal, _animal, _thing, _it,
           _it, _spell, _asked, _asked)


def followup(draw: Draw) -> list[Turn]:
    """Two or three turns of which the later ones lean on the earlier."""
    return draw.pick(CHOICES)(draw)
