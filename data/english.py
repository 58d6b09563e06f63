"""A little English grammar that chains of thought and the data both need: articles and number words."""

NUMBER_WORDS = ("zero one two three four five six seven eight nine ten").split()


def article(phrase: str) -> str:
    """'an owl', 'a unicorn': by the first sound, which differs from the letter in a few names."""
    vowel = phrase[0].lower() in "aeiou" and not phrase.lower().startswith("uni")
    return f"{'an' if vowel else 'a'} {phrase}"


def count_word(count: int) -> str:
    """"three"; digits beyond ten."""
    return NUMBER_WORDS[count] if count < len(NUMBER_WORDS) else str(count)


def joined(phrases: list[str]) -> str:
    """'a dog, a red circle and three apples'."""
    return phrases[0] if len(phrases) == 1 else f"{', '.join(phrases[:-1])} and {phrases[-1]}"


def upper(text: str) -> str:
    """First letter capital, the rest as it is."""
    return text[:1].upper() + text[1:]
