/** How conversations are separated, when a new session begins, and whether they may send. */
import { z } from "zod";
import { DEFAULT_RESET_HOUR, RESET_MODES } from "../../core/agent/session-freshness.ts";
import { DEFAULT_DM_SCOPE, DEFAULT_MAIN_KEY, DM_SCOPES } from "../../core/agent/session-key.ts";
import { list, named, oneOf, section, text, wholeNumber } from "../values.ts";

export const sessionDefaults = {
  dmScope: DEFAULT_DM_SCOPE,
  mainKey: DEFAULT_MAIN_KEY,
  reset: { mode: "daily", atHour: DEFAULT_RESET_HOUR },
  thread: { inheritParent: true },
  sendPolicy: { default: "allow" },
} as const;

const mode = () => oneOf(RESET_MODES);
const atHour = () => wholeNumber(0, 23);
const idleMinutes = () => wholeNumber(1, 525_600);

const partSchema = section({
  mode: mode().optional(),
  atHour: atHour().optional(),
  idleMinutes: idleMinutes().optional(),
});

const resetSchema = section({
  mode: mode().default(sessionDefaults.reset.mode),
  atHour: atHour().default(sessionDefaults.reset.atHour),
  idleMinutes: idleMinutes().optional(),
  byType: section({ dm: partSchema.optional(), group: partSchema.optional(), thread: partSchema.optional() }).prefault(
    {},
  ),
}).prefault({});

const yesOrNo = () => z.boolean({ error: "expected true or false" });
const action = () => oneOf(["allow", "deny"]);

const ruleSchema = section({
  action: action(),
  match: section({
    channel: text("the name of a channel").optional(),
    /** `channel` is the older name of `room`. */
    chatType: oneOf(["direct", "group", "room", "channel"])
      .transform((type) => (type === "channel" ? ("room" as const) : type))
      .optional(),
    keyPrefix: text("the beginning of a session key").optional(),
  }).optional(),
});

const ZONE = 'the name of a time zone, such as "Europe/Berlin"';
const KEY = "a word of letters, digits, dashes and underscores";

export const sessionSchema = section({
  dmScope: oneOf(DM_SCOPES).default(sessionDefaults.dmScope),
  mainKey: text(KEY)
    .regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/, `expected ${KEY}`)
    .default(sessionDefaults.mainKey),
  identityLinks: named(list(text('an id, or "channel:id"'))).prefault({}),
  timeZone: text(ZONE).optional(),
  reset: resetSchema,
  thread: section({
    inheritParent: yesOrNo().default(sessionDefaults.thread.inheritParent),
  }).prefault({}),
  sendPolicy: section({
    default: action().default(sessionDefaults.sendPolicy.default),
    rules: list(ruleSchema).prefault([]),
  }).prefault({}),
}).prefault({});
