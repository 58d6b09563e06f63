"""Text normalisation: every rule is needed by a line, and what no other line holds is said right."""

import pytest

from inference import normalisation
from inference.normalisation import RULES, normalise
from tests.inference import test_normalisation

SAID = {
    "THE DOG RAN HOME": "the dog ran home",
    "Nice one :) thanks": "nice one thanks",
    "I <3 you": "i love you",
    "Good night <3": "good night",
    "See http://localhost/a": "see localhost slash ay",
    "Write to ann_b@mail.org.": "write to ann underscore bee at mail dot org .",
    "the my_notes.txt file": "the my underscore notes dot tee ex tee file",
    "C# and F# code": "see sharp and eff sharp code",
    "so #HappyNewYear": "so hashtag happy new year",
    "some 1.250.000.000 people": "some one billion two hundred and fifty million people",
    "some 1.234.567 people":
        "some one million two hundred and thirty four thousand five hundred and sixty seven people",
    "Call 1-800-555-0199": "call one eight hundred , five five five , zero one nine nine",
    "Dial 1-800-FLOWERS": "dial one eight hundred flowers",
    "Ring 1300 555 019": "ring one three zero zero , five five five , zero one nine",
    "(020) 7946 0018": "zero two zero , seven nine four six , zero zero one eight",
    "in 90210-1234 now": "in nine zero two one zero , one two three four now",
    "He rang 911 twice": "he rang nine one one twice",
    "(555) 123-4567": "five five five , one two three , four five six seven",
    "555-123-4567": "five five five , one two three , four five six seven",
    "Ring 020 7946": "ring zero two zero , seven nine four six",
    "123-45-6789": "one two three , four five , six seven eight nine",
    "4111 1111 1111 1111": "four one one one , one one one one , one one one one , one one one one",
    "Please text 311 today": "please text three one one today",
    "ping 192.168.0.1":
        "ping one hundred and ninety two dot one hundred and sixty eight dot zero dot one",
    "UTC-5": "you tee see minus five",
    "on 1.5.2024": "on may first , twenty twenty four",
    "on 15-3-2024": "on march fifteenth , twenty twenty four",
    "on 2024/3/5": "on march fifth , twenty twenty four",
    "Jan-5-2024": "january fifth , twenty twenty four",
    "next Wed we go": "next wednesday we go",
    "until then, 12/25 it is": "until then , december twenty fifth it is",
    "in March 1984 people sang": "in march nineteen eighty four people sang",
    "Jan. and Feb. are cold": "january and february are cold",
    "open Monday-Friday": "open monday to friday",
    "Tues. and Wed. only": "tuesday and wednesday only",
    "after 9/11 ended": "after nine eleven ended",
    "at 5.30 pm": "at five thirty pee em",
    "version v2 works": "version two works",
    "the v2.5 release": "the version two point five release",
    "the TCP/80 port": "the tee see pee slash eighty port",
    "$5-10 each": "five to ten dollars each",
    "a loss of $-5": "a loss of minus five dollars",
    "it costs 1¢ now": "it costs one cent now",
    "ten bills/month": "ten bills per month",
    "Go to 12 Elm St Tomorrow": "go to twelve elm street tomorrow",
    "Fresno, CA 93701": "fresno , california nine three seven zero one",
    "Smith and Co. sells": "smith and company sells",
    "the '80s-'90s": "the eighties to nineties",
    "in his 30s": "in his thirties",
    "the class of '05": "the class of oh five",
    "from 1914-1918": "from nineteen fourteen to nineteen eighteen",
    "he died there 1066.": "he died there ten sixty six .",
    "The 1984 film": "the nineteen eighty four film",
    "a sharp 90° turn": "a sharp ninety degree turn",
    "worth 2.5B then": "worth two point five billion then",
    "chapter V begins": "chapter five begins",
    "the XIX century": "the nineteenth century",
    "a Sony IX here": "a sony nine here",
    "the 3-A form": "the three ay form",
    "CaCO and NaCl": "see ay see oh and en ay see ell",
    "X7K9 and B52s": "ex seven kay nine and bee fifty twos",
    "the 7A gate": "the seven ay gate",
    "my web2FBI page": "my web two eff bee eye page",
    "my iOS and eBAY": "my eye oh ess and ee bee ay why",
    "my preFBI days": "my pre eff bee eye days",
    "a PhD and PhDs": "a pee aitch dee and pee aitch dees",
    "Plan A works": "plan ay works",
    "8−3 and a − b": "eight minus three and a minus bee",
    "2*3 and a * b": "two times three and a times bee",
}
TEXTS = [*test_normalisation.SAID, *SAID]


@pytest.mark.parametrize("text", SAID)
def test_normalise(text):
    assert " ".join(normalise(text)) == SAID[text]


def test_every_rule_is_needed_by_a_line(monkeypatch):
    touched = [[] for _ in RULES]
    said = {text: normalise(text) for text in TEXTS}

    def spied(number, pattern, read):
        def note(match):
            touched[number].append(text)
            return read(match)

        return pattern, note

    monkeypatch.setattr(normalisation, "RULES", [spied(n, *rule) for n, rule in enumerate(RULES)])
    for text in TEXTS:
        normalise(text)
    for number, (pattern, _) in enumerate(RULES):
        assert touched[number], pattern.pattern
        monkeypatch.setattr(normalisation, "RULES", RULES[:number] + RULES[number + 1 :])
        needed = any(normalise(text) != said[text] for text in dict.fromkeys(touched[number]))
        assert needed, pattern.pattern
