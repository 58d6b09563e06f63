// What the user has chosen, kept in this browser.

const KEY = "uomni-settings";
const DEFAULTS = {
  model: "",
  voice: "",
  speed: 1,
  speak: false, // typed messages get spoken answers too
  thinking: "show", // chain of thought: show, hide, or off (answers come without it)
  theme: "system",
  apiKey: "",
};

/** Events: "change" after any of its values was set. */
export class Settings extends EventTarget {
  constructor(storage = kept()) {
    super();
    this.storage = storage;
    this.values = { ...DEFAULTS, ...read(storage) };
    globalThis.addEventListener?.("storage", ({ key }) => key === KEY && this.#follow()); // another tab
  }

  get(name) {
    return this.values[name];
  }

  set(name, value) {
    this.values = { ...this.values, ...read(this.storage), [name]: value };
    this.storage.setItem(KEY, JSON.stringify(this.values));
    this.dispatchEvent(new Event("change"));
  }

  #follow() {
    this.values = { ...this.values, ...read(this.storage) };
    this.dispatchEvent(new Event("change"));
  }
}

/** What keeps them; nothing does where the browser keeps no data for this page. */
function kept() {
  try {
    return localStorage;
  } catch {
    return { getItem: () => null, setItem: () => {} };
  }
}

function read(storage) {
  try {
    return JSON.parse(storage.getItem(KEY)) ?? {};
  } catch {
    return {}; // written by something else
  }
}
