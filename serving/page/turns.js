// Turn-taking of a spoken conversation: a pure state machine. Events with times go in; what to do
// comes out. No clock, no sound and no network in here, so that Node can test it.
//
//   listening ── speech ──► hearing ── its end ──► thinking ── first sound ──► speaking
//       ▲                     ▲ ▲                     │                        │   │
//       │                     │ └──── goes on ────────┘ ◄── interrupts ────────┘   │
//       └───────────────────── the sound has ended ────────────────────────────────┘
//
// Two detectors watch the microphone. `sound` comes from the page at once, by level. `speech` comes
// from the server's voice activity detection, later and surer. While an answer sounds, the
// microphone is held back from the server until there is a sound, so its own echo costs nothing.

export const CONFIRM = 300; // ms of sound, and the server's word, that interrupt an answer
const GAP = 200; // ms of quiet that end a sound; shorter gaps are within a word
const DOUBT = 1500; // ms a sound may keep the answer ducked without being speech
export const GOES_ON = 1500; // ms after speech in which more speech continues the same turn

export class Turns {
  state = "listening";
  ducked = false;
  #sounding = 0; // ms of sound since the answer was ducked
  #duckedAt = 0;
  #soundAt = -Infinity; // when the last sound was
  #spokeAt = -Infinity; // when speech last ended
  #speech = false; // the server's word
  #asked = false; // a question was still to be answered when the last sound began, or came meanwhile
  #ignored = false; // a long sound turned out not to be speech: wait for its end

  /** The microphone's frames: is there a sound? Returns actions, in order. */
  frame(sound, at, ms) {
    if (sound) this.#soundAt = at;
    if (this.state !== "speaking") return [];
    const quiet = at - this.#soundAt >= GAP;
    if (this.ducked) return this.#judge(sound, quiet, at, ms);
    if (quiet) this.#ignored = false;
    if (!sound || this.#ignored) return [];
    this.ducked = true;
    this.#duckedAt = at;
    this.#sounding = ms;
    return ["duck", "forward"];
  }

  #judge(sound, quiet, at, ms) {
    if (sound) this.#sounding += ms;
    if (this.#speech && this.#sounding >= CONFIRM) return this.#interrupt(this.#duckedAt);
    if (!quiet && at - this.#duckedAt < DOUBT) return [];
    this.#ignored = !quiet;
    this.#unduck();
    return ["restore", "hold"];
  }

  #unduck() {
    this.ducked = false;
    this.#speech = false;
  }

  #interrupt(began) {
    this.#unduck();
    return ["interrupt", ...this.#hear(began)];
  }

  #hear(began) {
    const goesOn = began - this.#spokeAt < GOES_ON;
    if (!goesOn) this.#asked = this.state === "thinking";
    this.state = "hearing";
    return goesOn ? ["join"] : [];
  }

  /** The server hears speech begin. */
  speechStarted(at) {
    this.#speech = true;
    if (this.state === "listening") return this.#hear(at);
    if (this.state === "thinking") return ["interrupt", ...this.#hear(at)];
    return []; // hearing: already; speaking: frame() confirms it
  }

  /** The server hears speech end; `at` is when it ended, not when that became certain. */
  speechStopped(at) {
    this.#speech = false;
    if (this.state === "hearing") this.#spokeAt = at;
    return [];
  }

  /** What was said has become an item of the conversation. */
  committed() {
    if (this.state !== "hearing") return ["discard"]; // an echo or a cough while an answer sounds
    this.state = "thinking";
    return ["respond"];
  }

  /** A message was typed meanwhile: it is answered at once, or with what is being said. */
  typed() {
    if (this.state === "hearing") {
      this.#asked = true;
      return [];
    }
    const underWay = this.state === "thinking" || this.state === "speaking";
    const held = this.state === "speaking" && !this.ducked;
    this.#unduck();
    this.#spokeAt = -Infinity;
    this.state = "thinking";
    return [...(underWay ? ["interrupt"] : []), ...(held ? ["forward"] : []), "respond"];
  }

  /** The user silences the answer by a key. */
  hushed() {
    if (this.state !== "thinking" && this.state !== "speaking") return [];
    return ["interrupt", ...this.answerEnded()];
  }

  /** Nothing was said after all: the transcript is empty. */
  nothingSaid() {
    if (this.state !== "thinking") return [];
    if (this.#asked) return ["forget"]; // what was asked before or meanwhile is still to be answered
    this.state = "listening";
    this.#spokeAt = -Infinity;
    return ["interrupt", "discard"];
  }

  /** The answer's first sample sounds. */
  soundStarted() {
    if (this.state !== "thinking") return [];
    this.state = "speaking";
    this.#ignored = false;
    return ["hold"];
  }

  /** The answer has been heard to its end, or it had no sound. */
  answerEnded() {
    if (this.state !== "speaking" && this.state !== "thinking") return [];
    const wasSpeaking = this.state === "speaking";
    const began = this.ducked;
    this.ducked = false;
    this.#spokeAt = -Infinity; // answered: what is said now is a new turn
    this.state = "listening";
    if (!wasSpeaking) return [];
    if (!began) return ["forward"];
    // Somebody began to speak over the last word: what was forwarded stays, at full attention.
    return this.#speech ? this.#hear(this.#duckedAt) : [];
  }
}
