// One message in the document: a question with what was attached, or an answer with its figures.

import { announce, element, icon, iconButton, notify } from "./dom.js";

export class MessageView {
  /** actions: { say, retry, inside }, functions of the message. */
  constructor(message, actions) {
    this.message = message;
    this.actions = actions;
    this.node = message.role === "user" ? this.#question() : this.#answer();
    this.update();
  }

  update() {
    if (this.message.role === "user") this.#updateQuestion();
    else this.#updateAnswer();
  }

  #question() {
    this.text = element("div", { className: "text" });
    const shown = this.message.attachments.map(preview);
    return element("li", { className: "question" }, label("You"), element("div", { className: "shown" }, ...shown), this.text);
  }

  #updateQuestion() {
    const { text, pending } = this.message;
    this.text.textContent = pending ? "…" : text;
    this.text.classList.toggle("pending", Boolean(pending));
  }

  #answer() {
    this.thought = element("div", { className: "text" });
    this.thinking = element("details", { hidden: true }, element("summary", { textContent: "Thinking" }), this.thought);
    this.text = element("div", { className: "text" });
    this.error = element("p", { className: "error", hidden: true });
    this.notices = element("p", { className: "notices", hidden: true });
    this.times = element("span", { className: "times" });
    const actions = element("div", { className: "actions" }, ...this.#buttons());
    const foot = element("div", { className: "foot" }, actions, this.times);
    const waiting = element("div", { className: "waiting" });
    return element("li", { className: "answer" }, label("μOmni"), this.thinking, this.text, waiting, this.error, this.notices, foot);
  }

  #buttons() {
    const { message, actions } = this;
    const copy = iconButton("copy", "Copy", async () => {
      try {
        await navigator.clipboard.writeText(message.text);
      } catch {
        return notify("The browser lets pages of https:// and localhost copy, no others.");
      }
      copy.replaceChildren(icon("done"));
      announce("Copied");
      setTimeout(() => copy.replaceChildren(icon("copy")), 1500);
    });
    this.retry = iconButton("retry", "Try again", () => actions.retry(message));
    return [
      copy,
      iconButton("speaker", "Read aloud", () => actions.say(message)),
      this.retry,
      iconButton("inside", "See inside", () => actions.inside(message)),
    ];
  }

  #updateAnswer() {
    const { text, thinking, error, notices, busy } = this.message;
    this.text.textContent = text;
    this.thought.textContent = thinking;
    if (this.thinking.hidden && thinking) this.thinking.open = true;
    this.thinking.hidden = !thinking;
    this.error.textContent = error ?? "";
    this.error.hidden = !error;
    this.notices.textContent = notices?.join(" · ") ?? "";
    this.notices.hidden = !notices;
    this.times.textContent = figures(this.message);
    const wasBusy = this.node.getAttribute("aria-busy") === "true";
    this.node.setAttribute("aria-busy", String(Boolean(busy)));
    if (wasBusy && !busy) announce(error ? `Failed: ${error}` : `μOmni: ${text}`);
  }
}

/** "first word 0.12 s · first sound 0.34 s · stopped" */
function figures({ firstWord, firstSound, stopped }) {
  const seconds = (milliseconds) => `${(milliseconds / 1000).toFixed(2)} s`;
  return [
    firstWord === undefined ? "" : `first word ${seconds(firstWord)}`,
    firstSound === undefined ? "" : `first sound ${seconds(firstSound)}`,
    stopped ? "stopped" : "",
  ]
    .filter(Boolean)
    .join(" · ");
}

export function preview({ kind, name, blob }) {
  if (!blob) return element("span", { className: "gone", textContent: `${name} (not kept)` });
  const src = URL.createObjectURL(blob);
  const free = () => URL.revokeObjectURL(src);
  if (kind === "image") {
    const picture = element("img", { src, alt: `Picture: ${name}`, onload: free });
    picture.onerror = () => picture.replaceWith(element("span", { className: "gone", textContent: name }));
    return picture;
  }
  const media = element(kind, { src, controls: true, preload: "metadata", onerror: free });
  media.setAttribute("aria-label", `${kind === "audio" ? "Recording" : "Video"}: ${name}`);
  return media;
}

function label(who) {
  return element("span", { className: "hidden", textContent: `${who}: ` });
}
