// Pictures, recordings and videos as they are attached: their kind, their limits, smaller pictures.

const LARGEST = { image: 20e6, audio: 20e6, video: 24e6 }; // bytes; in base64 within the server's 32 MB
const AS_IT_IS = 1e6; // bytes; a smaller picture is sent untouched
const SIDE = 1280; // pixels of the longer side of a picture that is made smaller
const ENDINGS = {
  image: /\.(png|jpe?g|webp|gif|bmp|tiff?|heic|heif|avif)$/i,
  audio: /\.(wav|mp3|flac|ogg|opus|m4a|aac|amr|aiff?)$/i,
  video: /\.(mp4|m4v|mov|webm|mkv|avi|gif|3gp)$/i,
};

/** The File as an attachment { kind, name, blob }. Throws an Error to be shown. */
export async function attachment(file) {
  const kind = kindOf(file);
  if (!kind) throw new Error(`${file.name} is neither a picture, a recording nor a video.`);
  if (!file.size) throw new Error(`${file.name} is empty.`);
  if (file.size > LARGEST[kind]) {
    throw new Error(`${file.name} is larger than ${LARGEST[kind] / 1e6} MB.`);
  }
  return { kind, name: file.name, blob: kind === "image" ? await smaller(file) : file };
}

/** By the type that the browser knows, else by the name's ending; "" for anything else. */
function kindOf({ type, name }) {
  const [kind] = type.split("/");
  if (kind in ENDINGS) return kind;
  return Object.keys(ENDINGS).find((each) => ENDINGS[each].test(name)) ?? "";
}

async function smaller(file) {
  if (file.size <= AS_IT_IS) return file;
  // What this browser cannot open, such as HEIC, goes as it is: the server opens more formats.
  const picture = await createImageBitmap(file).catch(() => null);
  if (!picture) return file;
  const scale = Math.min(1, SIDE / Math.max(picture.width, picture.height));
  const canvas = document.createElement("canvas");
  canvas.width = Math.round(picture.width * scale);
  canvas.height = Math.round(picture.height * scale);
  canvas.getContext("2d").drawImage(picture, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve) => canvas.toBlob((blob) => resolve(blob ?? file), "image/jpeg", 0.92));
}
