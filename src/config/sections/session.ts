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
  mode: mode().default(sessionDefaults.reset.mode).describe("when a conversation starts a new session by itself"),
  atHour: atHour().default(sessionDefaults.reset.atHour).describe("the hour of the daily reset, in `session.timeZone`"),
  idleMinutes: idleMinutes()
    .optional()
    .describe("minutes of silence before a reset; set together with `daily`, both apply. 60 where idle is on"),
  byType: section({
    dm: partSchema.optional().meta({ description: "the same for direct messages", as: "session.reset" }),
    group: partSchema.optional().meta({ description: "the same for groups and channels", as: "session.reset" }),
    thread: partSchema.optional().meta({ description: "the same for threads", as: "session.reset" }),
  }).prefault({}),
}).prefault({});

const yesOrNo = () => z.boolean({ error: "expected true or false" });
const action = () => oneOf(["allow", "deny"]);

const ruleSchema = section({
  action: action().describe("whether agents may send; a matching `deny` wins over every `allow`"),
  match: section({
    channel: text("the name of a channel").optional().describe("the channel; any if it is not set"),
    chatType: oneOf(["direct", "group", "room", "channel"])
      .transform((type) => (type === "channel" ? ("room" as const) : type))
      .optional()
      .describe("the type of the conversation; any if it is not set"),
    keyPrefix: text("the beginning of a session key")
      .optional()
      .describe("the start of a session key, with or without `agent:{profile}:`"),
  }).optional(),
});

const ZONE = 'the name of a time zone, such as "Europe/Berlin"';
const KEY = "a word of letters, digits, dashes and underscores";

export const sessionSchema = section({
  dmScope: oneOf(DM_SCOPES)
    .default(sessionDefaults.dmScope)
    .describe("how direct messages of other people are separated; `main` does not separate them"),
  mainKey: text(KEY)
    .regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/, `expected ${KEY}`)
    .default(sessionDefaults.mainKey)
    .describe("the name of the main conversation in its session key"),
  identityLinks: named(list(text('an id, or "channel:id"')))
    .prefault({})
    .describe("ids that belong to one person, each as `id` or `channel:id`, under a name for the person"),
  timeZone: text(ZONE)
    .optional()
    .describe("the time zone of resets, days and schedules; that of this machine if it is not set"),
  reset: resetSchema,
  thread: section({
    inheritParent: yesOrNo()
      .default(sessionDefaults.thread.inheritParent)
      .describe("whether a thread starts with the context of its parent conversation; at the terminal it never does"),
  }).prefault({}),
  sendPolicy: section({
    default: action()
      .default(sessionDefaults.sendPolicy.default)
      .describe("whether agents may send if no rule matches"),
    rules: list(ruleSchema).prefault([]),
  }).prefault({}),
})
  .prefault({})
  .meta({
    description: "how conversations are separated, when a new session starts, and who may send",
    page: "identity.md",
  });
