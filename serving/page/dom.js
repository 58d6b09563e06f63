// Small helpers for the document. Text always goes in as text, never as HTML.

export const find = (id) => document.getElementById(id);

export function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

export function icon(name) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const use = document.createElementNS("http://www.w3.org/2000/svg", "use");
  svg.setAttribute("aria-hidden", "true");
  use.setAttribute("href", `icons.svg#${name}`);
  svg.append(use);
  return svg;
}

export function iconButton(name, label, onclick) {
  const button = element("button", { type: "button", className: "icon", title: label, onclick }, icon(name));
  button.setAttribute("aria-label", label);
  return button;
}

export function setIcon(button, name, label) {
  button.querySelector("use").setAttribute("href", `icons.svg#${name}`);
  button.setAttribute("aria-label", label);
  button.title = label;
}

/** Said by screen readers once, without moving the focus. */
export function announce(text) {
  find("announcer").textContent = text;
}

let timer = 0;

/** One line above the message box; gone after a while, or at once without text. */
export function notify(text = "") {
  const notice = find("notice");
  notice.textContent = text;
  notice.hidden = !text;
  clearTimeout(timer);
  if (text) timer = setTimeout(notify, 12_000);
}
