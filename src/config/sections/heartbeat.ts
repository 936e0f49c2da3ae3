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
  prompt: text("the text of a prompt").optional(),
  session: text('"main" or a session key').optional(),
  model: text("the name of a model").optional(),
  activeHours: section({
    start: clockTime()
      .refine((value) => value !== "24:00", { error: TIME_ERRORS.start })
      .optional(),
    end: clockTime().optional(),
    timezone: text('"user", "local" or the name of a time zone').optional(),
  }).optional(),
  /** What the ticks of one day may cost. After that, ticks are skipped until the next day. */
  dollarsPerDay: amount().optional(),
};

export const heartbeatSchema = section({
  every: duration().default(heartbeatDefaults.every),
  target: target().default(heartbeatDefaults.target),
  ackMaxChars: ackMaxChars().default(heartbeatDefaults.ackMaxChars),
  includeReasoning: flag().default(heartbeatDefaults.includeReasoning),
  ...fields,
}).prefault({});

/** The settings of one profile; the rest as above. */
export const profileHeartbeatSchema = section({
  every: duration().optional(),
  target: target().optional(),
  ackMaxChars: ackMaxChars().optional(),
  includeReasoning: flag().optional(),
  ...fields,
});
