"""Speech, whole and sentence by sentence: `python -m examples.speak`."""

from pathlib import Path

import soundfile

from inference import Omni

omni = Omni.from_pretrained()
wave, rate = omni.speak("Hello world.", speed=0.9)
folder = Path("build")
folder.mkdir(exist_ok=True)
soundfile.write(folder / "hello.wav", wave, rate)
print(f"build/hello.wav: {len(wave) / rate:.1f} s")
for chunk in omni.speak_stream("This is one sentence. And this is another."):
    print(f"a sentence of {len(chunk) / rate:.1f} s is ready")
