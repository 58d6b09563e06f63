"""Tables of what `evaluate.py vision` measures: scenes, clips, several pictures, styles, photographs."""

from __future__ import annotations

from collections.abc import Callable

from evaluation.markdown import Results, by_kind, listed, show, table


def vision(results: Results) -> str:
    """Scenes by kind of question with their controls."""
    head = ["question", "right", "without thinking", "grey picture", "another picture"]
    columns = ["scene", "direct", "blank", "shuffled", "majority"]
    return by_kind(results, "vision", [*head, "most frequent answer"], columns)


def turns(results: Results) -> str:
    """Second questions about a picture."""
    return by_kind(results, "vision", ["second question", "right"], ["followup"])


def clips(results: Results) -> str:
    """Clips by kind of question with their controls."""
    head = ["question", "right", "grey frames", "frames backwards", "frames shuffled"]
    return by_kind(results, "vision", head, ["clip", "clip_blank", "clip_backwards", "clip_shuffled"])


def changes(results: Results) -> str:
    """Clips by what changes."""
    return by_kind(results, "vision", ["what changes", "right"], ["clip_change"])


def several(results: Results) -> str:
    """Two or three pictures in one request, by kind of question."""
    return by_kind(results, "vision", ["question", "right", "grey pictures"], ["several", "several_blank"])


def framed(results: Results) -> str:
    """The same scenes on other grounds, and in grey."""
    rows = [
        ("scenes as they are", "framed/plain"), ("on a wide white ground", "framed/wide"),
        ("on a tall black one", "framed/tall"), ("on a coloured one", "framed/coloured"),
        ("in grey, where no colour is asked", "framed/grey"), ("the same in colour", "framed/in_colour"),
        ("the colour of a circle, in all of CSS", "css/circle"),
        ("of a picture that is nothing else", "css/plain"),
        ("the colour or the shape of what is alone in it", "css/first"),
    ]
    return listed(results, "vision", ["pictures", "right"], rows)


def styles(results: Results) -> str:
    """Known things by other hands, with thinking and without."""
    rows = [
        ("drawn by an artist held out (EmojiOne)", "emojione"),
        ("the same scenes in Noto's drawings", "noto"),
        ("cut out of unseen photographs, on plain grounds", "cutout_plain"),
        ("on textured grounds", "cutout_textured"),
    ]
    head = ["\"What do you see?\", one known thing", "named", "without thinking"]
    keys = "style", "style_direct"
    named = [[what, *(show(results, "vision", f"{key}/{name}") for key in keys)] for what, name in rows]
    return table(head, named)


def photos(results: Results) -> str:
    """Photographs by set, with the controls of all of them."""
    rows = [
        ("10 kinds of things (CIFAR-10)", "photo/cifar10"),
        ("100 kinds of things (CIFAR-100)", "photo/cifar100"),
        ("10 kinds of clothing", "photo/clothing_cc0"),
        ("is it a …? (all sets)", "photo/check"),
        ("control: another photograph (all sets)", "photo_shuffled/all"),
        ("control of is it a …?: another photograph", "photo_shuffled/check"),
    ]
    return listed(results, "vision", ["photographs, unseen", "right"], rows)


TABLES: dict[str, Callable[[Results], str]] = {
    "vision": vision, "photos": photos, "styles": styles, "turns": turns, "clips": clips, "changes": changes,
    "several": several, "framed": framed,
}  # fmt: skip
