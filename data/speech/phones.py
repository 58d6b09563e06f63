"""flite's American ("radio") phones, as tokens: a vowel carries its syllable's stress, 0 or 1.

Only the inventory: how words become phones is models/frontend.py's business.
"""

PAUSE = "pau"
VOWELS = ("aa", "ae", "ah", "ao", "aw", "ax", "ay", "eh", "er", "ey", "ih", "iy", "ow", "oy",
          "uh", "uw")
CONSONANTS = ("b", "ch", "d", "dh", "f", "g", "hh", "jh", "k", "l", "m", "n", "ng", "p", "r", "s",
              "sh", "t", "th", "v", "w", "y", "z", "zh")
PHONES = (PAUSE, *CONSONANTS, *(vowel + stress for vowel in VOWELS for stress in "01"))


def phone_token(phone: str, stress: int) -> str:
    """("ow", 1) -> "ow1"; consonants and the pause stand alone."""
    if phone in VOWELS:
        return f"{phone}{1 if stress else 0}"
    if phone == PAUSE or phone in CONSONANTS:
        return phone
    raise ValueError(f"unknown phone {phone!r}")
