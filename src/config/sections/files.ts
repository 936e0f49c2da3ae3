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
  maxBytes: wholeNumber(1_000, MAX_BYTES)
    .default(fileDefaults.maxBytes)
    .describe("the bytes of one file; a larger one is refused, and not fetched from a channel"),
  quotaBytes: wholeNumber(1_000, Number.MAX_SAFE_INTEGER)
    .default(fileDefaults.quotaBytes)
    .describe("the bytes of all files of one person"),
  /** A server with the OpenAI API for transcription. Absent: speech is not turned into text. */
  transcriber: section({
    url: httpUrl().describe(
      "a server with the OpenAI API for transcription, such as `https://api.openai.com/v1`; without one, recordings are not turned into text",
    ),
    model: text("the name of a model").describe("the model that transcribes"),
    apiKey: secretSchema.optional().describe("the key of that server"),
  }).optional(),
})
  .prefault({})
  .meta({ description: "files of people", page: "files.md" });
