// "See inside": the trace of one answer, in a dialog or in a tab of its own.

import { find } from "./dom.js";

export class Inside {
  #address = "";

  constructor() {
    find("inside-close").onclick = () => find("inside").close();
    find("inside").onclose = () => {
      find("inside-page").removeAttribute("srcdoc");
      URL.revokeObjectURL(this.#address);
    };
  }

  show(html) {
    this.#address = URL.createObjectURL(new Blob([html], { type: "text/html" }));
    find("inside-tab").href = this.#address;
    find("inside-page").srcdoc = html;
    find("inside").showModal();
  }
}
