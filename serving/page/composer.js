// The message box: what is typed, dropped, pasted or picked, until it is sent.

import { attachment } from "./attachments.js";
import { element, find, icon, iconButton, notify, setIcon } from "./dom.js";
import { preview } from "./message-view.js";

const MAX_ATTACHED = 6;

export class Composer {
  #attached = [];
  #reading = 0; // files that are being read
  #attaching = Promise.resolve(); // until all have been
  #submitting = false;

  /** submit(text, attachments); stop(). */
  constructor({ submit, stop }) {
    Object.assign(this, { submit, stop, busy: false });
    const prompt = find("prompt");
    find("composer").onsubmit = (event) => this.#submit(event);
    prompt.oninput = () => this.#settle();
    prompt.onkeydown = (event) => {
      if (event.key === "Enter" && !event.shiftKey && !event.isComposing) this.#submit(event);
    };
    prompt.onpaste = (event) => this.#take(event, event.clipboardData);
    find("attach").onclick = () => find("file").click();
    find("file").onchange = ({ target }) => {
      this.attach([...target.files]);
      target.value = "";
    };
    this.#drops();
    this.#settle();
  }

  attach(files) {
    const taken = files.slice(0, MAX_ATTACHED - this.#attached.length - this.#reading);
    if (taken.length < files.length) notify(`At most ${MAX_ATTACHED} files go with one message.`);
    this.#reading += taken.length;
    this.#attaching = this.#attaching.then(() => this.#read(taken));
  }

  async #read(files) {
    for (const file of files) {
      try {
        this.#attached.push(await attachment(file));
      } catch (error) {
        notify(error.message);
      }
      this.#reading -= 1;
    }
    this.#showTray();
    find("prompt").focus();
  }

  /** While an answer is made or sounds, the button stops it. */
  setBusy(busy) {
    this.busy = busy;
    this.#settle();
  }

  async #submit(event) {
    event.preventDefault();
    if (this.#submitting) return;
    this.#submitting = true;
    await this.#attaching;
    this.#submitting = false;
    const text = find("prompt").value.trim();
    if (!text && !this.#attached.length) return this.busy && event.type === "submit" ? this.stop() : undefined;
    const attached = this.#attached;
    this.#attached = [];
    find("prompt").value = "";
    notify();
    this.#showTray();
    this.submit(text, attached);
  }

  #settle() {
    const prompt = find("prompt");
    prompt.style.height = "auto";
    prompt.style.height = `${prompt.scrollHeight}px`;
    const empty = !prompt.value.trim() && !this.#attached.length;
    const stops = this.busy && empty;
    setIcon(find("send"), stops ? "stop" : "send", stops ? "Stop" : "Send");
    find("send").disabled = empty && !this.busy;
  }

  #showTray() {
    find("tray").hidden = !this.#attached.length;
    find("tray").replaceChildren(...this.#attached.map((each) => this.#entry(each)));
    this.#settle();
  }

  #entry(attached) {
    const { kind, name } = attached;
    const shown = kind === "audio" ? element("div", { className: "name" }, icon("sound"), name) : preview(attached);
    shown.controls = false;
    const remove = iconButton("close", `Remove ${name}`, () => {
      this.#attached = this.#attached.filter((each) => each !== attached);
      this.#showTray();
      find("prompt").focus();
    });
    return element("li", {}, shown, remove);
  }

  #drops() {
    let depth = 0; // dragenter and dragleave come for every element on the way
    const files = (event) => event.dataTransfer?.types.includes("Files");
    const mark = () => document.body.classList.toggle("dropping", depth > 0);
    addEventListener("dragenter", (event) => files(event) && (depth++, mark()));
    addEventListener("dragleave", (event) => files(event) && (depth--, mark()));
    addEventListener("dragover", (event) => files(event) && event.preventDefault());
    addEventListener("drop", (event) => {
      depth = 0;
      mark();
      this.#take(event, event.dataTransfer);
    });
  }

  #take(event, { files }) {
    if (!files.length) return; // text goes its own way
    event.preventDefault();
    this.attach([...files]);
  }
}
