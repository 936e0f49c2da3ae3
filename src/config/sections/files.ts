/** Files of people: how large they may be, how much of them a model is shown, and who turns speech into text. */
import { secretSchema } from "../secret.ts";
import { amount, httpUrl, section, text, wholeNumber } from "../values.ts";

export const fileDefaults = {
  maxBytes: 20_000_000,
  quotaBytes: 1_000_000_000,
  unusedHours: 24,
  textCharacters: 50_000,
  imagePixels: 1_568,
} as const;

/** A file is read into memory as a whole. */
const MAX_BYTES = 100_000_000;
/** Every function that reads a text is measured at this length (M34). */
const MAX_CHARACTERS = 1_000_000;

export const filesSchema = section({
  /** Of one file. */
  maxBytes: wholeNumber(1_000, MAX_BYTES).default(fileDefaults.maxBytes),
  /** Of all files of one person. */
  quotaBytes: wholeNumber(1_000, Number.MAX_SAFE_INTEGER).default(fileDefaults.quotaBytes),
  /** How long a file is kept that nothing refers to. */
  unusedHours: amount(87_600).default(fileDefaults.unusedHours),
  /** How much text of one file a model is shown. */
  textCharacters: wholeNumber(1_000, MAX_CHARACTERS).default(fileDefaults.textCharacters),
  /** The longer side of an image as a model is shown it. */
  imagePixels: wholeNumber(64, 8_000).default(fileDefaults.imagePixels),
  /** A server with the OpenAI API for transcription. Absent: speech is not turned into text. */
  transcriber: section({
    url: httpUrl(),
    model: text("the name of a model"),
    apiKey: secretSchema.optional(),
  }).optional(),
}).prefault({});
