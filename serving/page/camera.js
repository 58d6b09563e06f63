// The camera: a picture, or a clip of a few seconds.

import { find } from "./dom.js";

const CLIP = 4; // seconds

export class Camera {
  #stream = null;
  #opening = false;

  /** onFile(file): a picture was taken or a clip recorded. */
  constructor(onFile) {
    this.onFile = onFile;
    find("camera-take").onclick = () => this.#take();
    find("camera-clip").onclick = () => this.#record();
    find("camera-close").onclick = () => find("camera").close();
    find("camera").onclose = () => this.#stop();
  }

  async open() {
    if (!navigator.mediaDevices) {
      throw new Error("The browser gives the camera to https:// and localhost only.");
    }
    if (this.#opening || this.#stream) return; // a second click
    this.#opening = true;
    const video = { facingMode: "environment", width: { ideal: 1280 } };
    this.#stream = await navigator.mediaDevices.getUserMedia({ video }).catch((error) => {
      const blocked = error.name === "NotAllowedError";
      throw new Error(blocked ? "The camera is blocked." : "No camera was found.");
    }).finally(() => (this.#opening = false));
    find("viewfinder").srcObject = this.#stream;
    find("camera").showModal();
  }

  async #take() {
    const view = find("viewfinder");
    const canvas = document.createElement("canvas");
    canvas.width = view.videoWidth;
    canvas.height = view.videoHeight;
    canvas.getContext("2d").drawImage(view, 0, 0);
    const blob = await new Promise((resolve) => canvas.toBlob(resolve, "image/jpeg", 0.92));
    this.#done(blob, "camera.jpg");
  }

  async #record() {
    const recorder = new MediaRecorder(this.#stream);
    const parts = [];
    recorder.ondataavailable = ({ data }) => parts.push(data);
    recorder.onstop = () => {
      find("camera-clip").textContent = "Record a clip";
      find("camera-clip").disabled = false;
      if (!this.#stream) return; // cancelled
      const type = recorder.mimeType.split(";")[0];
      this.#done(new Blob(parts, { type }), type === "video/mp4" ? "clip.mp4" : "clip.webm");
    };
    recorder.start();
    find("camera-clip").disabled = true;
    find("camera-clip").textContent = `Recording ${CLIP} s …`;
    setTimeout(() => recorder.state === "recording" && recorder.stop(), 1000 * CLIP);
  }

  #done(blob, name) {
    this.onFile(new File([blob], name, { type: blob.type }));
    find("camera").close();
  }

  #stop() {
    this.#stream?.getTracks().forEach((track) => track.stop());
    this.#stream = null;
  }
}
