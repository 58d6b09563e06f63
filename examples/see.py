"""Questions about a picture, one by one and together: `python -m examples.see`."""

from inference import Omni

PICTURE = "examples/sample_image.png"
QUESTIONS = ("What do you see?", "What color is the star?", "How many objects are there?")

omni = Omni.from_pretrained()
print(omni.chat("What happens?", video="examples/sample_video.mp4"))
requests = [{"text": question, "image": PICTURE} for question in QUESTIONS]
for question, answer in zip(QUESTIONS, omni.batch(requests), strict=True):
    print(f"{question} {answer}")
