"""The alphabet of speech: phones with stress, and the pauses between them.

The American English phones of flite; a vowel carries its syllable's stress (0 or 1). Id 0 is
padding in phone sequences and the blank in CTC.
"""

PAUSE = "pau"
VOWELS = "aa ae ah ao aw ax ay eh er ey ih iy ow oy uh uw".split()
CONSONANTS = "b ch d dh f g hh jh k l m n ng p r s sh t th v w y z zh".split()
PHONES = ("<pad>", PAUSE, *CONSONANTS, *(vowel + stress for vowel in VOWELS for stress in "01"))
IDS = {phone: i for i, phone in enumerate(PHONES)}
PAD_ID, PAUSE_ID = 0, IDS[PAUSE]
MARKS = ",.?!"  # what ends a phrase; each phone knows the mark that ends its own
