// The bar of a spoken conversation: what is going on, mute, end.

import { find, setIcon } from "./dom.js";
import { loudness } from "./activity.js";

const WORDS = { listening: "Listening", hearing: "Hearing you", thinking: "Thinking", speaking: "Speaking" };

export class VoiceBar {
  constructor(handsFree) {
    handsFree.addEventListener("open", () => this.show(true));
    handsFree.addEventListener("close", () => this.show(false));
    handsFree.addEventListener("state", ({ detail }) => this.#state(detail));
    find("hang-up").onclick = () => handsFree.stop();
    find("mute").onclick = () => {
      handsFree.muted = !handsFree.muted;
      find("mute").setAttribute("aria-pressed", String(handsFree.muted));
      setIcon(find("mute"), handsFree.muted ? "mic-off" : "mic", "Mute the microphone");
    };
  }

  show(open) {
    const moves = open || find("voice-bar").contains(document.activeElement);
    find("voice-bar").hidden = !open;
    for (const id of ["talk", "hands-free"]) find(id).hidden = open;
    if (moves) find(open ? "hang-up" : "hands-free").focus();
  }

  #state({ state, level }) {
    find("voice-bar").dataset.state = state;
    find("orb").style.setProperty("--level", state === "speaking" ? 0 : loudness(level));
    if (find("voice-state").textContent !== WORDS[state]) find("voice-state").textContent = WORDS[state];
  }
}
