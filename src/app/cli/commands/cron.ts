/** `rookery cron`: manages scheduled jobs and shows the outcomes of their due times. */
import { InvalidInputError } from "../../../core/errors.ts";
import type { Store } from "../../../core/store/store.ts";
import type { CronService, JobView, SlotView } from "../../../engine/triggers/cron/cron-service.ts";
import { withApi } from "../client/with-api.ts";
import { type CommandContext, defineAction, type Flags, type Group, type Options } from "../command.ts";
import { readHome } from "../read-home.ts";

/** Reads the store, also beside a running engine. */
async function reading<T>(context: CommandContext, read: (cron: CronService) => Promise<T>): Promise<T> {
  const { config } = await context.loadConfig();
  const { CronService: Service } = await import("../../../engine/triggers/cron/cron-service.ts");
  const { peopleOf } = await import("../../../engine/runtime/people.ts");
  const { peopleSettings } = await import("../../../engine/runtime/people-settings.ts");
  const { systemClock } = await import("../../../adapters/system/system-clock.ts");
  const { systemIds } = await import("../../../adapters/system/system-ids.ts");
  const { timeZone: zone, mainKey } = config.session;
  const ports = { clock: systemClock, ids: systemIds() };
  return readHome(context.paths, (store) => {
    const people = peopleOf(store, peopleSettings(config));
    return read(new Service({ ...ports, store: store as Store, people }, { mainKey, zone: zone || undefined }));
  });
}

const list = defineAction({
  summary: "list jobs and when each is due next",
  options: { all: { type: "boolean", description: "include disabled jobs" } },
  async run(context) {
    const { flags, json, stdout } = context;
    const jobs = await reading(context, (cron) => cron.list({ includeDisabled: flags.all ?? false, limit: 100_000 }));
    if (json) stdout.write(`${JSON.stringify(jobs)}\n`);
    else stdout.write(jobs.length === 0 ? "No jobs.\n" : `${jobs.map(line).join("\n")}\n`);
    return undefined;
  },
});

const show = defineAction({
  summary: "show one job",
  usage: "<id>",
  arguments: { min: 1, max: 1 },
  async run(context) {
    const job = await reading(context, (cron) => cron.get(context.args[0] ?? ""));
    context.stdout.write(context.json ? `${JSON.stringify(job)}\n` : `${details(job)}\n`);
    return undefined;
  },
});

const ADD = {
  name: { type: "string", value: "NAME", description: "the name of the job" },
  at: { type: "string", value: "TIME", description: "run once, such as 2026-01-31T09:00:00Z or 10m" },
  every: { type: "string", value: "TIME", description: "run repeatedly, such as 30m or 1d" },
  cron: { type: "string", value: "EXPR", description: 'run by a cron expression, such as "0 9 * * 1-5"' },
  tz: { type: "string", value: "ZONE", description: "the time zone of the expression" },
  message: { type: "string", value: "TEXT", description: "the message for the job's own agent" },
  "system-event": { type: "string", value: "TEXT", description: "the message for the main conversation" },
  wake: { type: "string", value: "MODE", description: "when the main conversation reads it: now or next-heartbeat" },
  deliver: { type: "boolean", description: "send the answer to your last channel, or to --to" },
  channel: { type: "string", value: "NAME", description: "the channel of the answer" },
  to: { type: "string", value: "ID", description: "the recipient of the answer" },
  "best-effort-deliver": { type: "boolean", description: "do not fail if the answer cannot be delivered" },
  model: { type: "string", value: "MODEL", description: "the model for its runs" },
  thinking: { type: "string", value: "LEVEL", description: "the thinking level of its runs" },
  "timeout-seconds": { type: "string", value: "N", description: "the time limit of a run" },
  missed: { type: "string", value: "POLICY", description: "what to do about missed due times: skip, once or all" },
  description: { type: "string", value: "TEXT", description: "a description of the job" },
  "delete-after-run": { type: "boolean", description: "delete the job after its first run" },
  disabled: { type: "boolean", description: "create the job disabled" },
} as const satisfies Options;

const add = defineAction({
  summary: "add a job",
  description: "Needs a name, one of --at, --every and --cron, and one of --message and --system-event.",
  options: ADD,
  async run(context) {
    const body = createFrom(context.flags);
    const job = (await withApi(context, (api) => api.ask({ method: "POST", path: "/api/cron", body }))) as JobView;
    context.stdout.write(context.json ? `${JSON.stringify(job)}\n` : `${details(job)}\n`);
    return undefined;
  },
});

function createFrom(flags: Flags<typeof ADD>): unknown {
  const turn = flags.message === undefined ? undefined : agentTurn(flags);
  const event = flags["system-event"];
  if ((turn === undefined) === (event === undefined)) {
    throw new InvalidInputError("A job needs exactly one message.", {
      hint: "Use either --message or --system-event.",
    });
  }
  return {
    name: flags.name,
    schedule: scheduleFrom(flags),
    payload: turn ?? { kind: "systemEvent", text: event },
    wakeMode: flags.wake ?? (event === undefined ? undefined : "now"),
    missed: flags.missed,
    description: flags.description,
    deleteAfterRun: flags["delete-after-run"],
    enabled: !flags.disabled,
  };
}

function agentTurn(flags: Flags<typeof ADD>): unknown {
  const seconds = flags["timeout-seconds"];
  return {
    kind: "agentTurn",
    message: flags.message,
    model: flags.model,
    thinking: flags.thinking,
    timeoutSeconds: seconds === undefined ? undefined : Number(seconds),
    deliver: flags.deliver,
    channel: flags.channel,
    to: flags.to,
    bestEffortDeliver: flags["best-effort-deliver"],
  };
}

const UNITS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

function durationOf(text: string): number | undefined {
  const found = /^(\d+)\s*(s|m|h|d)$/u.exec(text.trim());
  return found ? Number(found[1]) * (UNITS[found[2] ?? ""] ?? 0) : undefined;
}

function scheduleFrom({ at, every, cron, tz }: Flags<typeof ADD>): unknown {
  const given = [at, every, cron].filter((one) => one !== undefined);
  if (given.length !== 1)
    throw new InvalidInputError("A job needs exactly one schedule.", { hint: "Use one of --at, --every and --cron." });
  if (cron !== undefined) return { kind: "cron", expr: cron, tz };
  if (every !== undefined) {
    const everyMs = durationOf(every);
    if (everyMs === undefined)
      throw new InvalidInputError(`"${every}" is not a duration.`, { hint: "Write 30s, 30m, 2h or 1d." });
    return { kind: "every", everyMs };
  }
  const inMs = durationOf((at ?? "").replace(/^(?:in\s+|\+)/u, ""));
  return { kind: "at", at: inMs === undefined ? at : Date.now() + inMs };
}

interface Change {
  readonly method: "POST" | "PATCH" | "DELETE";
  readonly below?: string;
  readonly body?: unknown;
}

const change = (summary: string, done: string, { method, below = "", body }: Change) =>
  defineAction({
    summary,
    usage: "<id>",
    arguments: { min: 1, max: 1 },
    async run(context) {
      const id = context.args[0] ?? "";
      const path = `/api/cron/${encodeURIComponent(id)}${below}`;
      const answer = await withApi(context, (api) => api.ask({ method, path, body }));
      const result = method === "DELETE" ? { id } : answer;
      context.stdout.write(context.json ? `${JSON.stringify(result)}\n` : `${id} ${done}.\n`);
      return undefined;
    },
  });

const runs = defineAction({
  summary: "show the past due times of a job and their outcomes",
  usage: "<id>",
  arguments: { min: 1, max: 1 },
  options: { limit: { type: "string", value: "N", description: "how many at most (default: 20)" } },
  async run(context) {
    const limit = Number(context.flags.limit ?? 20);
    if (!Number.isInteger(limit) || limit < 1) throw new InvalidInputError("--limit takes a whole number above 0.");
    const slots = await reading(context, (cron) => cron.runs(context.args[0] ?? "", { limit }));
    if (context.json) context.stdout.write(`${JSON.stringify(slots)}\n`);
    else
      context.stdout.write(slots.length === 0 ? "This job was not due yet.\n" : `${slots.map(slotLine).join("\n")}\n`);
    return undefined;
  },
});

export const cronCommand: Group = {
  summary: "list, add, run and remove schedules",
  description:
    "Every due time becomes a run or a recorded skip; `rookery cron runs` shows which. Schedules need a running engine: `rookery serve`.",
  actions: {
    list,
    show,
    add,
    remove: change("remove a job", "is removed", { method: "DELETE" }),
    enable: change("enable a job", "is on", { method: "PATCH", body: { enabled: true } }),
    disable: change("disable a job", "is off", { method: "PATCH", body: { enabled: false } }),
    run: change("run a job once, outside of its schedule", "is due now: it runs as soon as an engine is up", {
      method: "POST",
      below: "/run",
    }),
    runs,
  },
  fallback: "list",
};

const line = ({ id, name, enabled, when, nextTimes, state }: JobView): string =>
  `${id}  ${enabled ? "on " : "off"}  ${name}: ${when}${nextTimes[0] ? `, next ${nextTimes[0].text}` : ""}${state.lastStatus ? `  last: ${state.lastStatus}` : ""}`;

function details(job: JobView): string {
  const { id, name, enabled, when, nextTimes, payload, sessionTarget, state } = job;
  const rows: readonly (readonly [string, string | undefined])[] = [
    ["id", id],
    ["name", name],
    ["state", enabled ? "on" : `off${state.disabledReason ? ` (${state.disabledReason})` : ""}`],
    ["due", when],
    ...nextTimes.map(({ text }, n) => [n === 0 ? "next" : "", text] as const),
    ["target", sessionTarget],
    ["says", payload.kind === "agentTurn" ? payload.message : payload.text],
    ["last", state.lastStatus && `${state.lastStatus}${state.lastError ? `: ${state.lastError}` : ""}`],
  ];
  return rows.flatMap(([key, value]) => (value === undefined ? [] : [`${key.padEnd(8)}${value}`])).join("\n");
}

function slotLine({ dueAt, count, status, reason, end, deliveries }: SlotView): string {
  const range = count > 1 ? ` and ${count - 1} more` : "";
  const run = end ? `run ${end.status}${end.error ? ` (${end.error})` : ""}` : status === "fired" ? "running" : "";
  const sent =
    deliveries.map(({ state }) => state).join(", ") ||
    (end && end.delivery.status !== "none" ? end.delivery.status : "");
  return `${new Date(dueAt).toISOString()}${range}  ${status}${reason ? `: ${reason}` : ""}${run ? `  ${run}` : ""}${sent ? `  delivery ${sent}` : ""}`;
}
