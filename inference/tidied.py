"""Text as it was typed -> as the Thinker has mostly read it: quotes, blanks and capitals.

A vocabulary of 4,096 tokens has few in capitals: a shouted word is a row of single letters.
"""

import re

STRAIGHT = str.maketrans("\u2018\u2019\u201c\u201d", "''\"\"")
SHOUTED = re.compile(r"\b[A-Z]{2,}\b")


def tidied(text: str) -> str:
    """Straight quotes, single blanks, no blank before the last mark; shouting as a sentence.

    Shouting is a text without a small letter and with two words in capitals at least: "NASA?" stays.
    """
    text = re.sub(r"[ \t\xa0]+", " ", text.translate(STRAIGHT)).strip()
    text = re.sub(r"(?<=\w) ([?!.])$", r"\1", text)
    if text.isupper() and len(SHOUTED.findall(text)) > 1:
        text = re.sub(r"\bi\b", "I", text.capitalize())
    return text
