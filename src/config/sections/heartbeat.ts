/** The heartbeat: how often an agent checks for work, when, and where it reports. */
import { amount, flag, section, text, wholeNumber } from "../values.ts";

export const heartbeatDefaults = { every: "30m", target: "last", ackMaxChars: 300, includeReasoning: false } as const;

const DURATION = 'a time such as "30m", "2h" or "90s"; "0" turns it off';
const duration = () => text(DURATION).regex(/^\d+(\.\d+)?(ms|s|m|h|d)?$/, `expected ${DURATION}`);

const TIME_ERRORS = {
  form: 'invalid time (use "HH:MM" 24h format)',
  after: "invalid time (24:00 is the only allowed 24:xx value)",
  start: "invalid time (start cannot be 24:00)",
} as const;

const clockTime = () =>
  text(TIME_ERRORS.form)
    .regex(/^([01]\d|2[0-4]):[0-5]\d$/, TIME_ERRORS.form)
    .refine((value) => !value.startsWith("24") || value === "24:00", { error: TIME_ERRORS.after });

const target = () => text('"last", "none" or "channel:id"');
const ackMaxChars = () => wholeNumber(0, 100_000);

const fields = {
  prompt: text("the text of a prompt").optional().describe("the message the agent gets instead of the usual one"),
  session: text('"main" or a session key')
    .optional()
    .describe("`main`, or a session key: the conversation it runs in, instead of the heartbeat's own"),
  model: text("the name of a model").optional().describe("the model of its runs; that of the profile if it is not set"),
  activeHours: section({
    start: clockTime()
      .refine((value) => value !== "24:00", { error: TIME_ERRORS.start })
      .optional()
      .describe("the start of its active hours, `HH:MM`"),
    end: clockTime().optional().describe("their end, `HH:MM`; an end before the start means the next day"),
    timezone: text('"user", "local" or the name of a time zone')
      .optional()
      .describe("`user` (if it is not set), `local` or a time zone"),
  }).optional(),
  dollarsPerDay: amount().optional().describe("the most its ticks may cost per day (UTC)"),
};

export const heartbeatSchema = section({
  every: duration()
    .default(heartbeatDefaults.every)
    .describe("the interval, such as `30m` or `2h`; a number without a unit means minutes; `0` turns it off"),
  target: target()
    .default(heartbeatDefaults.target)
    .describe("who gets alerts: `last` (where the owner wrote last), `none`, or `channel:id`"),
  ackMaxChars: ackMaxChars()
    .default(heartbeatDefaults.ackMaxChars)
    .describe(
      "an answer with `HEARTBEAT_OK` and at most this many other characters means that nothing needs attention",
    ),
  includeReasoning: flag()
    .default(heartbeatDefaults.includeReasoning)
    .describe("whether the model's thinking is sent before an alert"),
  ...fields,
})
  .prefault({})
  .meta({ description: "how often an agent checks whether something needs attention", page: "heartbeat.md" });

/** The settings of one profile; the rest as above. */
export const profileHeartbeatSchema = section({
  every: duration().optional(),
  target: target().optional(),
  ackMaxChars: ackMaxChars().optional(),
  includeReasoning: flag().optional(),
  ...fields,
});
