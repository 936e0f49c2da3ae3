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
  /** `Authorization: Bearer …` must be this. */
  token: secretSchema.optional(),
  /** The body must be signed with this. */
  hmac: section({
    secret: secretSchema,
    /** Whose way of signing it is. All but `body` sign a timestamp too. */
    scheme: oneOf(["body", "rookery", "stripe", "slack", "standard"]).default(hookDefaults.scheme),
    /** How far the timestamp may be from now, and how long a call without one is remembered. */
    toleranceSeconds: wholeNumber(1, 2_592_000).default(hookDefaults.toleranceSeconds),
    /** Of the scheme `body`, like the next. */
    header: text("the name of a header").default(hookDefaults.header),
    algorithm: oneOf(["sha256", "sha512", "sha1"]).default(hookDefaults.algorithm),
  }).optional(),
  prompt: text("the text of a prompt").optional(),
  target: oneOf(["main", "isolated"]).default(hookDefaults.target),
  profile: text("the name of a profile").optional(),
  deliver: text('"last" or "channel:id"').optional(),
  idempotencyHeader: text("the name of a header").optional(),
}).refine(({ token, hmac }) => token !== undefined || hmac !== undefined, {
  error: "expected a token or an hmac: a hook without either would take anybody's word",
});

export const hooksSchema = named(hookSchema).prefault({});
