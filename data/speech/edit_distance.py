"""Comparing what was said with what was heard. It compares; it neither normalises nor hears."""


def edit_distance(a: list, b: list) -> int:
    """Insertions, deletions and substitutions from a to b (Levenshtein)."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        above, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            above, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, above + (x != y))
    return row[-1]
