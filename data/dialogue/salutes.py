"""Greetings and goodbyes of all sorts, as people type them."""

from __future__ import annotations

from data.dialogue.social import fixed
from data.dialogue.wordings import WORDINGS

SALUTES = (
    (WORDINGS["hello"], ("Hello! How can I help you?", "Hello!", "Hi! How can I help you?")),
    (WORDINGS["going"], ("I am fine, thank you. How can I help you?", "I am fine, thank you.",
                         "Hello! How can I help you?")),
    (WORDINGS["afternoon"], ("Good afternoon! How can I help you?", "Good afternoon!",
                             "Hello! How can I help you?")),
    (WORDINGS["bye"], ("Goodbye! See you soon.", "Goodbye!")),
)
salute = fixed(SALUTES)
