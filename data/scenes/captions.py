"""Scene -> English: noun phrases, lists and captions; and English -> the things it names.

Captions name every group of things, left to right, so that one picture has one right list. A
caption is right (`score_caption`) when it names exactly the groups of the scene, each with its
number, shapes with their colour and signs with their text; it ignores everything else it says.
"""

from __future__ import annotations

import random
import re
from functools import cache

from data.english import NUMBER_WORDS, article, upper
from data.scenes.objects import COLORS, KINDS, SYNONYMS, plural
from data.scenes.paraphrases import SAY, SAY_RELATION, Wordings, pick
from data.scenes.scene import Scene, Thing
from data.scenes.sights import Sight, total

Group = tuple[str, str, int, str]  # name, colour (shapes only), count, text (signs only)
MIN_GAP = 34  # pixels between centres before "left of" or "above" is said


def noun(thing: Thing, many: bool = False) -> str:
    """'red circle', 'dogs', 'sign that says stop'."""
    name = plural(thing.name) if many else thing.name
    if thing.kind == "sign":
        return f"{name} that says {thing.text.lower()}"
    return f"{thing.color} {name}" if thing.kind == "shape" and thing.color else name


def groups_in_order(scene: Scene) -> list[list[Thing]]:
    """Groups from left to right by their mean x."""
    return sorted(scene.groups().values(), key=lambda g: sum(t.x for t in g) / len(g))


def sight(thing: Thing) -> Sight:
    """A thing as the chain of thought tells it."""
    size = "" if thing.kind == "sign" else thing.size
    return Sight(noun(thing), noun(thing, many=True), size, thing.x, thing.y)


def sights(scene: Scene) -> list[Sight]:
    """The scene's things as the chain of thought tells them."""
    return [sight(thing) for thing in scene.things]


def track_sights(tracks: list[list[Thing | None]]) -> list[list[Sight | None]]:
    """Things in each frame of a clip, None where they are not, as the chain of thought tells them."""
    return [[thing and sight(thing) for thing in track] for track in tracks]


def list_phrase(scene: Scene) -> str:
    """'a dog, a red circle and three apples'."""
    return total(sights(scene))


def background_phrase(scene: Scene) -> str:
    """"a striped blue background"."""
    if not scene.background.color:
        return f"a {'colorless' if scene.gray else 'mixed'} background"
    striped = "striped " if scene.background.kind == "stripes" else ""
    return article(f"{striped}{scene.background.color} background")


def relation_between(one: Thing, other: Thing) -> str | None:
    """How `one` lies to `other` along the axis that clearly dominates, or None."""
    dx, dy = one.x - other.x, one.y - other.y
    if max(abs(dx), abs(dy)) < MIN_GAP or min(abs(dx), abs(dy)) > 0.6 * max(abs(dx), abs(dy)):
        return None
    if abs(dx) > abs(dy):
        return "to the left of" if dx < 0 else "to the right of"
    return "above" if dy < 0 else "below"


def _sayings(pair: Wordings, scene: Scene) -> Wordings:
    """Those that can be said: without the background where it has no one colour."""
    if scene.background.color:
        return pair
    given, held = (tuple(t for t in templates if "{b}" not in t) for templates in pair)
    return given, held or given


def caption(scene: Scene, rng: random.Random, split: str) -> str:
    """One caption; scenes of two single things are told by their relation half of the time."""
    groups, background = groups_in_order(scene), background_phrase(scene)
    if len(groups) == 2 and all(len(g) == 1 for g in groups) and rng.random() < 0.5:
        pair = [group[0] for group in groups]
        rng.shuffle(pair)
        relation = relation_between(*pair)
        if relation:
            text = pick(rng, _sayings(SAY_RELATION, scene), split)
            return upper(
                text.format(
                    x=article(noun(pair[0])), y=article(noun(pair[1])), r=relation, b=background
                )
            )
    verb = "is" if len(groups[0]) == 1 else "are"
    text = pick(rng, _sayings(SAY, scene), split).format(s=list_phrase(scene), b=background, **{"is": verb})
    return upper(text)


def scene_groups(scene: Scene) -> list[list]:
    """The groups as JSON: [name, colour of a shape, count, text of a sign]."""
    return [
        [g[0].name, g[0].color if g[0].kind == "shape" else "", len(g), g[0].text.lower()]
        for g in groups_in_order(scene)
    ]


@cache
def _names() -> tuple[dict[str, str], re.Pattern]:
    """Every way to say a thing -> its name, and a pattern that finds one with what precedes it."""
    said = {}
    for kind in KINDS.values():
        for form in (*SYNONYMS.get(kind.name, ()), kind.plural, kind.name):
            said[form.lower()] = kind.name
    either = "|".join(re.escape(form) for form in sorted(said, key=len, reverse=True))
    number = "|".join((*NUMBER_WORDS[1:], r"\d+"))
    pattern = re.compile(
        rf"\b(?:({number}) )?(?:(?:big|large|small|little|tiny|huge) )?"
        rf"(?:({'|'.join(COLORS)}|grey) )?({either})\b"
    )
    return said, pattern


def as_number(word: str) -> int | None:
    if word.isdecimal():
        return int(word)
    return NUMBER_WORDS.index(word) if word in NUMBER_WORDS else None


def mentions(text: str) -> list[Group]:
    """Everything a text names; the colour is "" where none is said, the count 1."""
    said, pattern = _names()
    text = re.sub(r"[^\w\s'-]", " ", text.lower())
    text = re.sub(r"\s+", " ", text).replace("grey", "gray").replace("colour", "color")
    found: list[Group] = []

    def note_sign(match: re.Match) -> str:
        found.append(("sign", "", 1, match[1]))
        return " , "

    text = re.sub(r"\bsigns? (?:that|which) (?:says?|reads?) (\S+)", note_sign, text)
    text = re.sub(r"\b(?:signs? )?(?:saying|with the (?:text|word)) (\S+)", note_sign, text)
    for number, color, name in pattern.findall(text):
        found.append((said[name], color, as_number(number) or 1 if number else 1, ""))
    return found


def score_caption(answer: str, groups: list[list]) -> bool:
    """Does the answer name exactly these groups? Colours count for shapes, numbers for all."""
    named = set()
    for name, color, count, text in mentions(answer):
        is_shape = name in KINDS and KINDS[name].category == "shape"
        named.add((name, color if is_shape else "", count, text))
    return named == {tuple(group) for group in groups}
