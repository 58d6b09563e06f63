"""Values from JSON or YAML held against the types of a dataclass's fields."""

import dataclasses
import types
import typing

LARGEST = 2**31 - 1  # what PyTorch's sizes and counts hold everywhere


def misfits(config_class: type, values: dict, text: bool = False) -> tuple[dict, list[str]]:
    """Values converted to their fields' types, and one line for each that cannot be.

    Args:
        values: by field name; names that are no fields are lines, too.
        text: whether "1e-2" stands for the number, as in YAML, where it is no number by itself.
    """
    kinds = typing.get_type_hints(config_class)
    known = {field.name for field in dataclasses.fields(config_class)}
    good, lines = {}, []
    for name, value in values.items():
        if name not in known:
            lines.append(f"unknown {name}")
            continue
        try:
            good[name] = fit(value, kinds[name], text)
        except (ValueError, OverflowError):
            lines.append(f"{name} must be {named(kinds[name])}, not {shown(value)}")
    return good, lines


def broken(rules: dict, values: dict) -> list[str]:
    """One line for each value that its rule (fits, words) refuses; None and what is missing break none."""
    given = {name: values[name] for name in rules if values.get(name) is not None}
    return [f"{name} must be {rules[name][1]}, not {shown(value)}" for name, value in given.items()
            if not rules[name][0](value)]


def fit(value, kind, text: bool = False):
    """The value as `kind` wants it, without loss: 3.0 is an integer, "3" only as `text`, True none.

    Raises:
        ValueError: it does not fit.
    """
    if isinstance(kind, types.UnionType) or typing.get_origin(kind) is typing.Union:
        for choice in typing.get_args(kind):
            try:
                return fit(value, choice, text)
            except ValueError:
                continue
        raise ValueError
    if kind is types.NoneType or kind is bool:
        if type(value) is kind:
            return value
        raise ValueError
    if kind in (int, float):
        return number(value, kind, text)
    holder = typing.get_origin(kind) or kind
    if holder is tuple and isinstance(value, list | tuple):
        inner = typing.get_args(kind)[0]
        return tuple(fit(item, inner, text) for item in value)
    if holder is list and isinstance(value, list):
        return [fit(item, *typing.get_args(kind), text) for item in value]
    if holder is dict and isinstance(value, dict):
        inner = typing.get_args(kind)
        return {fit(k, inner[0]): fit(v, inner[1], text) for k, v in value.items()} if inner else value
    if holder is str and isinstance(value, str):
        return value
    raise ValueError


def number(value, kind: type, text: bool):
    """A number of the kind, without loss."""
    if text and isinstance(value, str) and len(value) < 40:
        value = float(value) if not value.strip().lstrip("+-").isdigit() else int(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError
    if kind is float:
        return float(value)
    if value != value or value in (float("inf"), float("-inf")) or int(value) != value:
        raise ValueError
    return int(value)


def named(kind) -> str:
    """A type in words."""
    words = {int: "a whole number", float: "a number", str: "a text", bool: "true or false"}
    words |= {types.NoneType: "null"}
    if isinstance(kind, types.UnionType) or typing.get_origin(kind) is typing.Union:
        return " or ".join(named(choice) for choice in typing.get_args(kind))
    holder = typing.get_origin(kind) or kind
    return words.get(kind, "a list" if holder in (list, tuple) else "a set of keys and values")


def shown(value) -> str:
    """A value in a message, however long it is."""
    try:
        text = repr(value)
    except ValueError:  # an integer of more digits than Python writes
        text = "a number of very many digits"
    return text if len(text) <= 60 else text[:57] + "…"
