"""Animals, colors, capitals, definitions and categories: facts, asked in many ways."""

from __future__ import annotations

from data.dialogue.draw import Draw, Turn
from data.dialogue.facts import ANIMALS, CAPITALS, COLORS, MIXES
from data.dialogue.things import CATEGORIES, MASS, NESTED, THINGS, UNKNOWN
from data.english import article, upper

CAPITAL = ("What is the capital of {c}?", "Which city is the capital of {c}?",
           "Tell me the capital of {c}.",
           "Do you know the capital of {c}?", "What's the capital city of {c}?", "Capital of {c}?",
           "Can you tell me the capital of {c}?", "Name the capital of {c}.",
           "The capital of {c} is what?",
           "What city is the capital of {c}?", "Please tell me the capital of {c}.",
           "What is {c}'s capital?",
           "Which is the capital city of {c}?", "Say the capital of {c}.",
           "What is the main city of {c}?")
COUNTRY = ("{t} is the capital of which country?", "Which country has the capital {t}?",
           "In which country is {t}?", "Where is {t}?", "What country is {t} in?",
           "Of which country is {t} the capital?", "Tell me which country {t} is in.",
           "Which country is {t} in?", "{t} is in which country?", "In what country is {t}?",
           "What country has {t} as its capital?", "Do you know where {t} is?",
           "Name the country whose capital is {t}.")
COLOR = ("What color is {o}?", "Which color is {o}?", "What is the color of {o}?",
         "Tell me the color of {o}.",
         "What color does {o} have?", "Do you know what color {o} is?", "{o} has what color?",
         "What's the color of {o}?", "What color would you paint {o}?", "Name the color of {o}.",
         "Say what color {o} is.", "Of what color is {o}?", "Which color does {o} have?",
         "What colour is {o}?")
IS_COLOR = ("Is {o} {k}?", "Is it true that {o} is {k}?", "Would you say {o} is {k}?",
            "Is the color of {o} {k}?",
            "Do you think {o} is {k}?", "Can you say if {o} is {k}?", "Tell me if {o} is {k}.")
MIX = ("What color do you get if you mix {a} and {b}?", "What is {a} mixed with {b}?",
       "Mix {a} and {b}.",
       "What color do {a} and {b} make?", "If I mix {a} and {b}, what do I get?",
       "Which color comes from {a} and {b}?", "What do {a} and {b} make together?",
       "What happens when I mix {a} and {b}?", "What color is made from {a} and {b}?",
       "{a} and {b} make which color?", "Which color do I get from {a} and {b}?",
       "What color appears when {a} and {b} are mixed?",
       "I mix {a} paint with {b} paint. What color is it?")
SOUND = ("What sound does {a} make?", "What does {a} say?", "Which sound does {a} make?",
         "How does {a} sound?", "Tell me the sound of {a}.", "What noise does {a} make?",
         "Make the sound of {a}.", "What is the sound of {a}?", "Do you know what {a} says?",
         "{a} makes what sound?", "Can you sound like {a}?", "What do you hear from {a}?",
         "Which noise does {a} make?", "Say what {a} says.")
BABY = ("What is a baby {a} called?", "What do you call a baby {a}?",
        "What is the name of a baby {a}?",
        "What is a young {a} called?", "How do you call a baby {a}?", "A baby {a} is called what?",
        "What do we call a young {a}?", "Tell me what a baby {a} is called.",
        "What is the young of {x} called?", "What is the word for a baby {a}?", "Name a baby {a}.",
        "Which word means a baby {a}?", "What do people call a baby {a}?")
LEGS = ("How many legs does {x} have?", "How many legs has {x}?", "Tell me how many legs {x} has.",
        "{x} has how many legs?", "What is the number of legs of {x}?",
        "On how many legs does {x} walk?",
        "How many legs are on {x}?", "Do you know how many legs {x} has?", "Count the legs of {x}.",
        "How many legs do you see on {x}?", "Say how many legs {x} has.",
        "Can you tell how many legs {x} has?")
HOME = ("Where does {x} live?", "Where do you find {x}?", "Where can I see {x}?",
        "Where is the home of {x}?",
        "Tell me where {x} lives.", "In which place does {x} live?", "Where would I find {x}?",
        "Where do we find {x}?", "What is the home of {x}?", "Do you know where {x} lives?",
        "Where might {x} live?", "Say where {x} lives.")
DEFINE = ("What is {x}?", "Tell me what {x} is.", "What's {x}?", "Do you know what {x} is?",
          "Can you tell me what {x} is?", "Explain what {x} is.", "What does the word {w} mean?",
          "Define {w}.", "What is meant by {x}?", "Please explain what {x} is.",
          "Could you tell me what {x} is?", "Say what {x} is.", "Describe {x}.",
          "What do you know about {x}?",
          "What does {w} mean?", "I don't know what {x} is.", "Give me a definition of {w}.")
IS_A = ("Is {x} {c}?", "Would you call {x} {c}?", "Is it true that {x} is {c}?",
        "Tell me if {x} is {c}.",
        "Do you think {x} is {c}?", "Can we say {x} is {c}?", "Is {x} a kind of {k}?",
        "Would you say that {x} is {c}?", "{x} is {c}, right?", "Is {x} a type of {k}?",
        "Could {x} be called {c}?", "Say whether {x} is {c}.", "Does {x} count as {c}?")
KIND = ("What kind of thing is {x}?", "What sort of thing is {x}?",
        "To which group does {x} belong?",
        "Which category is {x}?", "What type of thing is {x}?", "In which group is {x}?",
        "What group does {x} belong to?", "What is {x} a kind of?", "{x} is a kind of what?",
        "What kind of thing would you call {x}?", "Name the group of {x}.",
        "Which kind of thing is {x}?")

PALETTE = sorted(set(COLORS.values()))
TOWNS = {town: country for country, town in CAPITALS.items() if town.split()[0] not in country}
UNKNOWN_ANSWER = "I don't know that word."


def verb(named: str) -> str:
    """is or are."""
    return "are" if named == "scissors" else "is"


def group(category: str) -> str:
    """A category with the article it takes."""
    return category if category in MASS else article(category)


def made_up(draw: Draw) -> str:
    """A word that does not exist."""
    syllables = ("bor", "fim", "zal", "tek", "wug", "mip", "glo", "pra", "dax", "nur", "vel", "quo",
                 "sna", "tro", "kip", "lem", "jor", "hix", "yad", "blu")
    return "".join(draw.pick(syllables) for _ in range(draw.number(2, 3)))


def capital(draw: Draw) -> list[Turn]:
    """A capital, the country of a capital, or a country that does not exist."""
    if draw.chance() < 0.05:
        place = draw.fresh(lambda: upper(made_up(draw)))
        return [Turn(draw.say(CAPITAL, c=place), f"I don't know the capital of {place}.",
        ("I don't know.",))]
    if draw.chance() < 0.2:
        town = draw.pick(list(TOWNS))
        return [Turn(draw.say(COUNTRY, t=town), f"{town} is the capital of {TOWNS[town]}.",
                     (TOWNS[town], f"{town} is in {TOWNS[town]}."))]
    country = draw.pick(list(CAPITALS))
    return [capital_turn(draw.say(CAPITAL, c=country), country)]


def capital_turn(question: str, country: str) -> Turn:
    """A question about the capital of `country`, however it is worded."""
    town = CAPITALS[country]
    return Turn(question, f"The capital of {country} is {town}.",
                (town, f"It is {town}.", f"{town} is the capital of {country}."))


def color(draw: Draw) -> list[Turn]:
    """The color of a thing, a yes or no about it, or a mixture."""
    if draw.chance() < 0.2:
        (a, b), made = draw.pick(list(MIXES.items()))
        a, b = (a, b) if draw.chance() < 0.5 else (b, a)
        return [Turn(upper(draw.say(MIX, a=a, b=b)), f"{upper(a)} and {b} make {made}.", (made,))]
    thing = draw.pick(list(COLORS))
    if draw.chance() < 0.3:
        real = COLORS[thing]
        asked = real if draw.chance() < 0.5 else draw.pick(PALETTE)
        yes = asked == real
        answer = f"Yes, {thing} is {real}." if yes else f"No, {thing} is {real}."
        return [Turn(upper(draw.say(IS_COLOR, o=thing, k=asked)),
        answer, ("Yes" if yes else "No",))]
    return [color_turn(upper(draw.say(COLOR, o=thing)), thing)]


def color_turn(question: str, thing: str) -> Turn:
    """A question about the color of `thing`, however it is worded."""
    found = COLORS[thing]
    also = ("grey",) if found == "gray" else ()
    return Turn(question, f"{upper(thing)} is {found}.", (found, f"It is {found}.", *also))


def animal(draw: Draw) -> list[Turn]:
    """Sound, young, legs or home of an animal."""
    return [animal_turn(draw, draw.number(0, 3))]


def animal_turn(draw: Draw, way: int, animals=ANIMALS, question: str = "") -> Turn:
    """A question of kind `way` (0 sound, 1 young, 2 legs, 3 home) about one of `animals`."""
    name, sound, baby, legs, home = draw.pick([a for a in animals if a[way + 1]])
    named = article(name)
    a = named if way == 0 else name
    asked = upper(question or draw.say((SOUND, BABY, LEGS, HOME)[way], a=a, x=named))
    if way == 0:
        return Turn(asked, f"{upper(named)} says {sound}.", (sound, f"It says {sound}."))
    if way == 1:
        return Turn(asked, f"A baby {name} is called {article(baby)}.", (baby, article(baby)))
    if way == 2:
        if legs == "0":
            return Turn(asked, f"{upper(named)} has no legs.", ("0", "No legs", "None", "zero"))
        return Turn(asked, f"{upper(named)} has {legs} legs.", (legs, f"{legs} legs"))
    return Turn(asked, f"{upper(named)} lives {home}.", (home, f"It lives {home}."))


def definition(draw: Draw) -> list[Turn]:
    """What a thing is; an honest answer about words outside the world."""
    if draw.chance() < 0.12:
        word = draw.fresh(lambda: draw.pick(UNKNOWN) if draw.chance() < 0.5 else made_up(draw))
        return [Turn(draw.say(DEFINE, x=article(word), w=word), UNKNOWN_ANSWER, ("I don't know.",))]
    word, named, meaning, _ = draw.pick(THINGS)
    question = draw.say(DEFINE, x=named, w=word).replace("scissors is", "scissors are")
    question = question.replace("What is scissors", "What are scissors")
    return [Turn(question, f"{upper(named)} {verb(named)} {meaning}.", (upper(meaning),))]


def category(draw: Draw) -> list[Turn]:
    """Is it a fruit? What kind of thing is it?"""
    rows = [row for row in THINGS if row[3] and row[3] != row[0] and row[0] != "scissors"]
    _, named, _, real = draw.pick(rows)
    if draw.chance() < 0.35:
        return [Turn(upper(draw.say(KIND, x=named)), f"{upper(named)} is {group(real)}.",
                     (real, group(real)))]
    asked = real
    while draw.chance() < 0.6 and asked == real:
        asked = draw.pick(CATEGORIES)
        asked = real if (real, asked) in NESTED or asked == named.split()[-1] else asked
    yes = asked == real
    answer = (f"Yes, {named} is {group(real)}." if yes
              else f"No, {named} is not {group(asked)}.")
    question = upper(draw.say(IS_A, x=named, c=group(asked), k=asked))
    return [Turn(question, answer, ("Yes" if yes else "No",))]
