// The dialog of settings: voices and speed, thinking, appearance, key.

import { find } from "./dom.js";

const FIELDS = { model: "model", voice: "voice", speak: "speak", thinking: "thinking", theme: "theme", apiKey: "api-key" };
const dark = matchMedia("(prefers-color-scheme: dark)");

export class SettingsDialog {
  constructor(settings, { deleteAll, keyChanged }) {
    this.settings = settings;
    for (const [name, id] of Object.entries(FIELDS)) this.#bind(name, find(id));
    find("speed").oninput = ({ target }) => settings.set("speed", Number(target.value));
    find("api-key").addEventListener("change", keyChanged);
    find("open-settings").onclick = () => this.open();
    find("delete-all").onclick = () => {
      if (confirm("Delete all chats in this browser?")) deleteAll();
    };
    settings.addEventListener("change", () => this.apply());
    dark.addEventListener("change", () => this.apply());
    this.apply();
  }

  open() {
    find("settings").showModal();
  }

  /** Models and voices as the server lists them; the first is used until another is chosen. */
  offer(models) {
    fill(find("model"), models.map(({ id }) => id), this.settings, "model");
    find("model-row").hidden = models.length < 2;
    const chosen = models.find(({ id }) => id === this.settings.get("model"));
    fill(find("voice"), chosen?.voices ?? [], this.settings, "voice");
    find("voice").closest(".row").hidden = !chosen?.voices?.length;
  }

  apply() {
    const { theme, thinking, speed } = this.settings.values;
    const night = theme === "dark" || (theme === "system" && dark.matches);
    document.documentElement.dataset.theme = night ? "dark" : "light";
    document.body.classList.toggle("hide-thinking", thinking !== "show");
    find("speed").value = speed;
    find("speed-value").value = `${speed.toFixed(1)} ×`;
    for (const [name, id] of Object.entries(FIELDS)) show(find(id), this.settings.get(name));
  }

  #bind(name, field) {
    field.addEventListener("change", () => {
      this.settings.set(name, field.type === "checkbox" ? field.checked : field.value);
    });
  }
}

function show(field, value) {
  if (field.type === "checkbox") field.checked = value;
  else field.value = value;
}

function fill(select, names, settings, setting) {
  select.replaceChildren(...names.map((name) => new Option(name, name)));
  if (names.length && !names.includes(settings.get(setting))) settings.set(setting, names[0]);
  select.value = settings.get(setting);
}
