/** Files of people: how large they may be, and who turns speech into text. */
import { secretSchema } from "../secret.ts";
import { httpUrl, section, text, wholeNumber } from "../values.ts";

export const fileDefaults = {
  maxBytes: 20_000_000,
  quotaBytes: 1_000_000_000,
} as const;

/** A file is read into memory as a whole. */
const MAX_BYTES = 100_000_000;

export const filesSchema = section({
  /** Of one file. */
  maxBytes: wholeNumber(1_000, MAX_BYTES).default(fileDefaults.maxBytes),
  /** Of all files of one person. */
  quotaBytes: wholeNumber(1_000, Number.MAX_SAFE_INTEGER).default(fileDefaults.quotaBytes),
  /** A server with the OpenAI API for transcription. Absent: speech is not turned into text. */
  transcriber: section({
    url: httpUrl(),
    model: text("the name of a model"),
    apiKey: secretSchema.optional(),
  }).optional(),
}).prefault({});
