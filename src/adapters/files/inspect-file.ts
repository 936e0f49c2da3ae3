/** Says what a file is by its content, and what a model is shown of it: an image, a text, or only that the file exists. */
import { cutText } from "../../core/cut-text.ts";
import type { FileInspector, Inspected, ShownContent } from "../../core/ports/file-inspector.ts";
import { mediaTypeOf, textOf } from "./media-type.ts";
import { shownPdf } from "./pdf-text.ts";
import { IMAGE_TYPES, shownImage } from "./show-image.ts";
import { shownSpeech, type Transcriber } from "./transcribe.ts";

export interface InspectorSettings {
  /** How much text of one file a model is shown. Default: 50,000. */
  readonly textCharacters?: number;
  /** The longer side of an image as a model is shown it. Default: 1,568. */
  readonly imagePixels?: number;
  readonly transcriber?: Transcriber;
}

const SHOWN_CHARACTERS = 50_000;
const SHOWN_PIXELS = 1_568;

/** `settings` is called for each file: a reload may change them. */
export const fileInspector = (settings: () => InspectorSettings): FileInspector => ({
  async inspect(data, name): Promise<Inspected> {
    const mimeType = await mediaTypeOf(data);
    return { mimeType, shown: await shownOf(data, { name, mimeType }, settings()) };
  },
});

async function shownOf(
  data: Uint8Array,
  file: { readonly name: string; readonly mimeType: string },
  { textCharacters: maxCharacters = SHOWN_CHARACTERS, imagePixels = SHOWN_PIXELS, transcriber }: InspectorSettings,
): Promise<ShownContent> {
  const { mimeType } = file;
  if (data.length === 0) return { as: "reference", why: "The file is empty." };
  const text = textOf(data);
  if (text !== undefined) return shownText(text, maxCharacters);
  if (IMAGE_TYPES.includes(mimeType)) return shownImage(data, mimeType, imagePixels);
  if (mimeType === "application/pdf") return shownPdf(data, { maxCharacters });
  if (transcriber && isSpeech(mimeType)) return shownSpeech(data, file, transcriber, maxCharacters);
  return { as: "reference" };
}

function shownText(text: string, maxCharacters: number): ShownContent {
  if (text.length <= maxCharacters) return { as: "text", characters: text.length };
  const shown = cutText(text, maxCharacters);
  return { as: "text", characters: shown.length, data: new TextEncoder().encode(shown), cut: true };
}

/** Voice messages are often in a container that may also hold a film. */
const isSpeech = (mimeType: string): boolean =>
  mimeType.startsWith("audio/") || ["video/webm", "video/mp4", "application/ogg", "video/ogg"].includes(mimeType);
