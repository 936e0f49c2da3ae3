/** Webhooks: which clients may call `POST /hooks/<name>`, how the body is used, and where the answer goes. */
import { secretSchema } from "../secret.ts";
import { named, oneOf, section, text, wholeNumber } from "../values.ts";

const hookDefaults = {
  target: "isolated",
  header: "x-signature",
  algorithm: "sha256",
  scheme: "body",
  toleranceSeconds: 300,
} as const;

const hookSchema = section({
  token: secretSchema.optional().describe("`Authorization: Bearer …` must be this"),
  /** The body must be signed with this. */
  hmac: section({
    secret: secretSchema.describe("the secret the body is signed with"),
    scheme: oneOf(["body", "rookery", "stripe", "slack", "standard"])
      .default(hookDefaults.scheme)
      .describe("the sender's way of signing; `body` signs the body alone, as GitHub does"),
    toleranceSeconds: wholeNumber(1, 2_592_000)
      .default(hookDefaults.toleranceSeconds)
      .describe("how far the signed timestamp may be from now; of `body`, how long a call is remembered"),
    header: text("the name of a header")
      .default(hookDefaults.header)
      .describe("of `body`: the header with the signature in hex, which may begin with `sha256=`"),
    algorithm: oneOf(["sha256", "sha512", "sha1"]).default(hookDefaults.algorithm).describe("of `body`: the algorithm"),
  }).optional(),
  prompt: text("the text of a prompt")
    .optional()
    .describe("the message the agent gets; `{{field.of.the.body}}` inserts a field. The whole body if it is not set"),
  target: oneOf(["main", "isolated"])
    .default(hookDefaults.target)
    .describe("a new session for each call, or the main conversation"),
  profile: text("the name of a profile").optional().describe("the profile of the agent; `main` if it is not set"),
  deliver: text('"last" or "channel:id"')
    .optional()
    .describe("where the answer goes: `last` or `channel:id`; nowhere if it is not set"),
  idempotencyHeader: text("the name of a header")
    .optional()
    .describe(
      "the header with the id of a call; a repeated call with the same id does nothing. `idempotency-key` counts too",
    ),
}).refine(({ token, hmac }) => token !== undefined || hmac !== undefined, {
  error: "expected a token or an hmac: a hook without either would take anybody's word",
});

export const hooksSchema = named(hookSchema)
  .prefault({})
  .meta({ description: "webhooks, `POST /hooks/<name>`", page: "hooks.md" });
