"""Chit-chat: what people say besides questions of the world: remarks, wishes, what nobody here can know.

Trained and measured in interleaved dialogues (data/interleaved.py). The conversations of
data/dialogue/conversation.py hold none of it, so that figures of different weights compare.
"""

from __future__ import annotations

from data.dialogue import numbers, world
from data.dialogue.draw import Draw, Turn, upper
from data.dialogue.out_of_scope import unknown
from data.dialogue.social import fixed
from data.dialogue.things import SINGLE, THINGS, article
from data.dialogue.told import plural

GO_ON = "Okay. What else would you like to know?"
NICE = "That is nice!"
UNCLEAR = "I don't understand that. Please ask me in another way."
STORY = "Once upon a time a small fox found a red ball. It played with all its friends. The end."

REACTIONS = (
    (("Okay", "OK", "I see.", "Alright.", "Fine.", "Sure.", "Got it.", "Ah, okay.", "Hm.", "Right.",
      "ok", "All right.", "Yes", "No", "Interesting.", "Understood.", "Oh.", "Good to know.", "Aha.",
      "yes", "no", "Okay then.", "Well.", "Oh, I see.", "Hmm, okay.", "Okay, good.", "Makes sense.",
      "Yeah."),
     (GO_ON,)),
    (("Haha", "Lol", "That is funny.", "You are funny.", "Hahaha!", "Hehe", "Very funny.", "lol", "haha!",
      "Ha ha.", "Good joke.", "That made me laugh.", "Funny!", "Ha!"),
     ("I am glad that you like it!",)),
    (("Tell me a story.", "Can you tell a story?", "Do you know a story?", "I want to hear a story.",
      "Please tell me a story.", "A story, please.", "Tell me a short story.", "Tell a story.",
      "Could you tell me a story?", "Say a story.", "Tell us a story.", "Give me a story.",
      "Read me a story.", "Story time!"),
     (STORY,)),
    (("Bonjour", "Hola", "Guten Tag", "Ciao", "Salut", "Hallo, wie geht es dir?", "Konnichiwa",
      "Parlez-vous français?", "Buenos dias", "Wie heißt du?", "Comment ça va?", "Namaste", "Olá", "Servus",
      "Can you speak Spanish?", "Say something in Italian.", "¿Cómo estás?", "Was ist das?", "Ni hao",
      "Do you understand Chinese?", "Say hello in Russian."),
     ("I only speak simple English.", "Hello! How can I help you?")),
)
LIKES = ("I like {x}.", "I love {x}.", "I really like {x}.", "My favorite thing is {x}.",
         "I enjoy {x}.", "I am a fan of {x}.", "I think {x} is great.", "I want {x}.",
         "{x} makes me happy.", "I like {x} a lot.", "Today I had {x}.", "Yesterday I saw {x}.",
         "I bought {x}.", "I would like to have {x}.")
HAVES = ("I have {x}.", "We have {x} at home.", "I got {x} for my birthday.",
         "There is {x} in my house.", "My brother has {x}.", "My friend has {x}.",
         "My sister owns {x}.", "I own {x}.", "I have {x}, too.", "At home we have {x}.",
         "I also have {x}.", "My family has {x}.", "We own {x}.", "My mother has {x}.")
PLEASURES = ("music", "pizza", "football", "swimming", "reading", "dancing", "the sun", "summer",
             "winter", "my job", "school", "long walks", "coffee", "tea", "ice cream", "chocolate",
             "soup", "old films", "painting", "cooking", "singing", "my garden", "the sea",
             "the mountains", "running", "games")
ABOUT = ("Tell me about {x}.", "What do you know about {x}?", "Tell me something about {x}.",
         "Talk about {x}.", "Can you tell me about {x}?", "Say something about {x}.",
         "Teach me about {x}.", "What are {x}?", "I want to know about {x}.", "Explain {x}.",
         "Please tell me about {x}.", "What can you say about {x}?", "Let's talk about {x}.",
         "I'd like to hear about {x}.")
BIGGER = ("Which is bigger, {x} or {y}?", "What is bigger, {x} or {y}?", "Is {x} or {y} bigger?",
          "Which one is larger, {x} or {y}?", "Which animal is bigger, {x} or {y}?",
          "Who is bigger, {x} or {y}?", "Which is larger, {x} or {y}?", "{x} or {y}: which is bigger?",
          "Tell me which is bigger, {x} or {y}.", "Do you know which is bigger, {x} or {y}?",
          "Of {x} and {y}, which is bigger?", "What is larger, {x} or {y}?",
          "Name the bigger one: {x} or {y}.", "Which is the bigger animal, {x} or {y}?")
BY_SIZE = ("ant", "fly", "bee", "spider", "snail", "mouse", "frog", "hamster", "squirrel", "rabbit",
           "cat", "fox", "dog", "sheep", "pig", "deer", "lion", "bear", "horse", "cow", "camel",
           "giraffe", "elephant", "whale")
APART = 3  # places in that order between animals that are compared
NEXT_LETTER = ("What letter comes after {x}?", "Which letter comes after {x}?",
               "What comes after {x} in the alphabet?", "Which letter follows {x}?",
               "What is the letter after {x}?", "Tell me the letter after {x}.",
               "The letter after {x}?", "What is the next letter after {x}?",
               "Name the letter after {x}.", "After {x} comes which letter?",
               "What letter follows {x}?", "Say the letter after {x}.",
               "In the alphabet, what comes after {x}?", "Which is the next letter after {x}?")
HALF = ("What is half of {a}?", "What's half of {a}?", "Half of {a}?", "How much is half of {a}?",
        "Tell me half of {a}.", "What is a half of {a}?", "How much is {a} divided by two?",
        "What do you get if you halve {a}?", "Halve {a}.", "What is {a} divided by 2?",
        "{a} divided by 2?", "What is {a} / 2?", "Divide {a} by 2.", "What is one half of {a}?")
DOUBLE = ("What is double {a}?", "What is the double of {a}?", "Double {a}.", "What is twice {a}?",
          "How much is twice {a}?", "Twice {a}?", "What do you get if you double {a}?",
          "How much is double {a}?", "Tell me the double of {a}.", "What's twice {a}?",
          "Two times {a}?", "What is {a} doubled?", "{a} doubled?", "What is {a} and {a}?")


def statement(draw: Draw) -> list[Turn]:
    """Something the user likes or has."""
    if draw.chance() < 0.5:
        x = draw.pick(PLEASURES)
        return [Turn(upper(draw.say(LIKES, x=x)), NICE)]
    named = draw.pick(THINGS)[1]
    wordings = HAVES if draw.chance() < 0.6 else LIKES
    return [Turn(upper(draw.say(wordings, x=named)), NICE)]


def about(draw: Draw) -> list[Turn]:
    """"Tell me about dogs." """
    word, named, meaning, _ = draw.pick(SINGLE)
    answer = f"{upper(named)} {world.verb(named)} {meaning}."
    return [Turn(draw.say(ABOUT, x=plural(word)), answer, (upper(meaning),))]


def bigger(draw: Draw) -> list[Turn]:
    """Which of two animals is bigger."""
    one, two = draw.fresh(lambda: tuple(draw.rng.sample(BY_SIZE, 2)))
    places = BY_SIZE.index(one), BY_SIZE.index(two)
    if abs(places[0] - places[1]) < APART:
        return bigger(draw)
    large = article(BY_SIZE[max(places)])
    question = upper(draw.say(BIGGER, x=article(one), y=article(two)))
    return [Turn(question, f"{upper(large)} is bigger.", (large, f"The {BY_SIZE[max(places)]} is bigger."))]


def letter(draw: Draw) -> list[Turn]:
    """The letter after a letter."""
    place = draw.number(0, 24)
    x, y = chr(65 + place), chr(66 + place)
    return [Turn(upper(draw.say(NEXT_LETTER, x=x)), f"{y} comes after {x}.", (y,), keep=True)]


def halves(draw: Draw) -> list[Turn]:
    """Half of an even number, or twice a number."""
    a = draw.number(1, 20)
    if draw.chance() < 0.5:
        return [Turn(draw.say(HALF, a=2 * a), *numbers.result(f"Half of {2 * a} is {a}.", a))]
    return [Turn(draw.say(DOUBLE, a=a), *numbers.result(f"2 times {a} is {2 * a}.", 2 * a))]


def gibberish(draw: Draw) -> list[Turn]:
    """Keys hit at random."""
    if draw.chance() < 0.15:
        return [Turn(draw.pick(("?", "...", "!", "??", ".", "-", "???", "!!!", ",")), UNCLEAR)]
    typed = " ".join(
        "".join(draw.pick("qwertzuiopasdfghjklyxcvbnm") for _ in range(draw.number(3, 9)))
        for _ in range(draw.number(1, 3))
    )
    return [Turn(typed, UNCLEAR, keep=True)]


# kind -> (maker, weight)
CHITCHAT = {
    "reaction": (fixed(REACTIONS), 6), "statement": (statement, 4), "about": (about, 5),
    "bigger": (bigger, 3),
    "letter": (letter, 2), "halves": (halves, 3), "gibberish": (gibberish, 2), "unknown": (unknown, 7),
}
