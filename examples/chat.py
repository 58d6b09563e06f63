"""A conversation that remembers: `python -m examples.chat`."""

from inference import Omni

session = Omni.from_pretrained().session()
for question in ("Hello!", "What is the capital of France?", "And of Spain?"):
    print("You:", question)
    print("μOmni:", session.ask(question))
print(session.level())  # how full the context is
