"""Write down a recording; answer a spoken question about a picture: `python -m examples.hear`."""

from inference import Omni

omni = Omni.from_pretrained()
print(omni.transcribe("examples/sample_audio.wav"))
print(omni.chat(audio="examples/question.wav", image="examples/sample_image.png"))
