/** The flags that describe a job, and the job that they describe. */
import { UsageError } from "../../../core/errors.ts";
import { parseDuration } from "../../../engine/inbox/user-input.ts";
import type { Flags, Option, Options } from "../command.ts";
import { numberFlag } from "../number-flag.ts";

const text = (value: string, description: string) => ({ type: "string", value, description }) as const satisfies Option;
const on = (description: string) => ({ type: "boolean", description }) as const satisfies Option;

export const JOB_FLAGS = {
  name: text("NAME", "the name of the job"),
  at: text("TIME", "run once: 10m from now, tomorrow 9:00, or 2026-01-31T09:00 in your time zone"),
  every: text("TIME", "run repeatedly, such as 30m or 1d; at least 1s"),
  anchor: text("TIME", "count --every from this time"),
  cron: text("EXPR", 'run by a cron expression, such as "0 9 * * 1-5"'),
  tz: text("ZONE", "the time zone of the expression"),
  message: text("TEXT", "the message for the job's own agent"),
  "system-event": text("TEXT", "the message for the main conversation"),
  session: text("TARGET", "main or isolated (default: what fits the message)"),
  wake: text("MODE", "when the main conversation reads it: now (default) or next-heartbeat"),
  profile: text("NAME", "the profile that runs it (default: main)"),
  model: text("MODEL", "the model for its runs"),
  thinking: text("LEVEL", "the thinking level of its runs"),
  "timeout-seconds": text("N", "the time limit of a run"),
  deliver: on("send the answer to your last channel, or to --to (default)"),
  "no-deliver": on("send the answer to no one; the main conversation gets a summary"),
  channel: text("NAME", "the channel of the answer"),
  to: text("ID", "the recipient of the answer"),
  "best-effort-deliver": on("do not fail if the answer cannot be delivered"),
  "post-mode": text("MODE", "what the main conversation gets: summary or full"),
  "post-prefix": text("TEXT", "the text before it"),
  "post-max-chars": text("N", "how long it may be there"),
  missed: text("POLICY", "what to do about missed due times: skip, once or all"),
  "max-lateness": text("TIME", "do not run a due time that is older, such as 2h"),
  overlap: text("POLICY", "what to do while the last run is active: skip or queue"),
  stagger: text("TIME", "spread jobs that are due together over this time"),
  "gate-command": text("COMMAND", "run only if this command succeeds"),
  "gate-cwd": text("DIR", "where the command runs"),
  "gate-env": { ...text("NAME=VALUE", "a variable of the command"), multiple: true },
  "gate-url": text("URL", "run only if this address answers with success"),
  "gate-header": { ...text("NAME=VALUE", "a header of the request"), multiple: true },
  "gate-timeout": text("TIME", "how long the check may take, such as 10s"),
  description: text("TEXT", "a description of the job"),
  "delete-after-run": on("delete the job after its first run"),
  disabled: on("create the job disabled"),
} as const satisfies Options;

type Given = Flags<typeof JOB_FLAGS>;

const NEEDS = "schedules add needs --name, a schedule (--at, --every or --cron) and --message or --system-event.";

/** The body of the request. Times without a zone stay so: the engine reads them in the configured zone. */
export function jobFrom(flags: Given): Readonly<Record<string, unknown>> {
  const { name, at, every, cron, message, "system-event": event } = flags;
  const schedules = [at, every, cron].filter((one) => one !== undefined).length;
  const messages = [message, event].filter((one) => one !== undefined).length;
  if (name === undefined || schedules === 0 || messages === 0) throw new UsageError(NEEDS);
  if (schedules > 1) throw new UsageError("A job has one schedule: use --at, --every or --cron.");
  if (messages > 1) throw new UsageError("A job has one message: use --message or --system-event.");
  return {
    name,
    schedule: scheduleFrom(flags),
    payload: event === undefined ? agentTurn(flags) : { kind: "systemEvent", text: event },
    sessionTarget: flags.session,
    wakeMode: flags.wake,
    agentId: flags.profile,
    isolation: isolationFrom(flags),
    missed: flags.missed,
    maxLatenessMs: duration(flags["max-lateness"], "--max-lateness"),
    overlap: flags.overlap,
    staggerMs: duration(flags.stagger, "--stagger"),
    gate: gateFrom(flags),
    description: flags.description,
    deleteAfterRun: flags["delete-after-run"],
    enabled: !flags.disabled,
  };
}

function agentTurn(flags: Given): unknown {
  return {
    kind: "agentTurn",
    message: flags.message,
    model: flags.model,
    thinking: flags.thinking,
    timeoutSeconds: numberFlag(flags["timeout-seconds"], "--timeout-seconds"),
    deliver: flags["no-deliver"] ? false : flags.deliver,
    channel: flags.channel,
    to: flags.to,
    bestEffortDeliver: flags["best-effort-deliver"],
  };
}

function isolationFrom(flags: Given): unknown {
  const isolation = {
    postToMainPrefix: flags["post-prefix"],
    postToMainMode: flags["post-mode"],
    postToMainMaxChars: numberFlag(flags["post-max-chars"], "--post-max-chars"),
  };
  return Object.values(isolation).some((one) => one !== undefined) ? isolation : undefined;
}

function gateFrom(flags: Given): unknown {
  const { "gate-command": command, "gate-url": url } = flags;
  const timeoutMs = duration(flags["gate-timeout"], "--gate-timeout");
  if (command !== undefined && url !== undefined) {
    throw new UsageError("A job has one check: use --gate-command or --gate-url.");
  }
  if (command !== undefined) {
    return { kind: "command", command, cwd: flags["gate-cwd"], timeoutMs, env: pairs(flags["gate-env"], "--gate-env") };
  }
  const headers = pairs(flags["gate-header"], "--gate-header");
  return url === undefined ? undefined : { kind: "http", url, headers, timeoutMs };
}

function pairs(given: readonly string[] | undefined, flag: string): Readonly<Record<string, string>> | undefined {
  if (given === undefined) return undefined;
  return Object.fromEntries(
    given.map((pair) => {
      const at = pair.indexOf("=");
      if (at < 1) throw new UsageError(`${flag} takes NAME=VALUE.`);
      return [pair.slice(0, at), pair.slice(at + 1)] as const;
    }),
  );
}

function duration(given: string | undefined, flag: string): number | undefined {
  if (given === undefined) return undefined;
  const ms = /[a-z]$/iu.test(given.trim()) ? parseDuration(given) : undefined;
  if (ms === undefined) throw new UsageError(`${flag} takes a duration: 30s, 30m, 2h or 1d.`);
  return ms;
}

function scheduleFrom({ at, every, anchor, cron, tz }: Given): unknown {
  if (cron !== undefined) return { kind: "cron", expr: cron, tz };
  if (every !== undefined) return { kind: "every", everyMs: duration(every, "--every"), anchor };
  return { kind: "at", at };
}
