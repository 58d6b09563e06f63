"""What things are, names of a group, and what animals eat."""

from __future__ import annotations

from data.dialogue import world
from data.dialogue.draw import Draw, Turn
from data.dialogue.things import NESTED
from data.dialogue.told import NUMBER, plural
from data.dialogue.wordings import LISTS, WORDINGS
from data.english import article, joined, upper

KINDS: dict[str, dict] = LISTS["kinds"]  # "bird": what that is, and its members
GROUPS: dict[str, dict] = LISTS["groups"]  # "birds": one of them, and the members
EATS: dict[str, str] = LISTS["eats"]
BARE = {"color", "number", "country", "city", "day of the week", "month", "season"}  # members without "a"
# Of the wordings that two kinds share, each is in the training of one of them: dev and test have their own.
HELD_OUT = {"dev": "Should {x} be seen as {c}?", "test": "Would it be fair to call {x} {c}?"}
_NO_IS_A = tuple(w for w in world.IS_A if "kind of" not in w and "type of" not in w)


def is_a(draw: Draw) -> list[Turn]:
    """"Is a whale an animal?": as often no as yes."""
    kind = draw.pick(tuple(KINDS))
    member = draw.pick(KINDS[kind]["members"])
    named = member if kind in BARE else article(member)
    true = {kind, KINDS[kind]["kind"]} - {""}
    yes = draw.chance() < 0.5
    asked = draw.pick(sorted(true)) if yes else draw.pick(("animal", "plant", *KINDS))
    while not yes and (asked in true or member in KINDS.get(asked, {"members": ()})["members"]
                       or {(one, asked) for one in true} & NESTED):
        asked = draw.pick(("animal", "plant", *KINDS))
    said = upper(f"Yes, {named} is {article(asked)}." if yes else f"No, {named} is not {article(asked)}.")
    wordings = _NO_IS_A if draw.split == "train" else (HELD_OUT[draw.split],)
    question = upper(draw.say(wordings, x=named, c=article(asked)))
    return [Turn(question, said, ("Yes" if yes else "No", said.split(", ", 1)[1]))]


def name_them(draw: Draw) -> list[Turn]:
    """All names of a short group, some of a long one, or one."""
    way = draw.number(0, 4)
    if way < 2:
        group = draw.pick(LISTS["whole"])
        members = GROUPS[group]["members"]
        said = upper(joined(members)) + "."
        return [Turn(draw.say(WORDINGS["name_all"], g=group), said, (" ".join(members),))]
    group = draw.pick(tuple(GROUPS))
    one, members = GROUPS[group]["one"], GROUPS[group]["members"]
    if way == 2:
        question = draw.say(WORDINGS["name_one"], o=one).replace(f"a {one}", article(one))
        member = upper(draw.pick(members))
        return [Turn(question, f"{member}.", rule=("names", 1, *members))]
    count = draw.number(2, min(4, len(members)))
    chosen = draw.rng.sample(members, count)
    question = draw.say(WORDINGS["name_some"], n=NUMBER[count], g=group)
    return [Turn(question, upper(joined(chosen)) + ".", rule=("names", count, *members))]


def eats(draw: Draw) -> list[Turn]:
    """What an animal eats."""
    animal = draw.pick(tuple(EATS))
    food, one = EATS[animal], article(animal)
    many = plural(animal)
    question = upper(draw.say(WORDINGS["eats"], x=one, xs=many))
    accept = (food, f"It eats {food}.", f"{many} eat {food}.")
    return [Turn(question, f"{upper(one)} eats {food}.", accept)]
