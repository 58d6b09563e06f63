// Base64, as JSON carries pictures and sounds. Runs in a browser and in Node.

const CHUNK = 0x8000; // bytes; String.fromCharCode takes a bounded number of arguments

export function encode(bytes) {
  let text = "";
  for (let start = 0; start < bytes.length; start += CHUNK) {
    text += String.fromCharCode(...bytes.subarray(start, start + CHUNK));
  }
  return btoa(text);
}

export function decode(text) {
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}

export async function encodeBlob(blob) {
  return encode(new Uint8Array(await blob.arrayBuffer()));
}

export async function dataUri(blob) {
  return `data:${blob.type || "application/octet-stream"};base64,${await encodeBlob(blob)}`;
}
