/** Reads task files in daycare's format: `cron/<slug>/TASK.md` and `heartbeat/<id>.md`. Pure. */
import { createHash } from "node:crypto";
import { defined } from "../../../core/defined.ts";
import { InvalidInputError } from "../../../core/errors.ts";
import { type Gate, gateSchema } from "../../../core/schedule/job.ts";
import type { HeartbeatTask } from "../heartbeat/heartbeat-tasks.ts";
import { readFrontMatter, type Value } from "./front-matter.ts";

interface CronTask {
  readonly taskId: string;
  readonly create: Readonly<Record<string, unknown>>;
  /** Runs in this agent instead of the task's own. */
  readonly targetAgentId?: string;
  /** Of the whole file: shows whether the file has changed. */
  readonly hash: string;
}

/** Throws `InvalidInputError` with what is missing. */
export function readCronTask(text: string): CronTask {
  const { fields, body } = readFrontMatter(text);
  const taskId = fields.taskId ?? fields.task_id;
  const name = fields.name;
  const schedule = fields.schedule ?? fields.cron;
  if (typeof name !== "string" || name.trim() === "") throw new InvalidInputError("The task has no name.");
  if (typeof schedule !== "string") throw new InvalidInputError("The task has no schedule.");
  if (typeof taskId !== "string" || !/^[a-z0-9]{20,36}$/u.test(taskId)) {
    throw new InvalidInputError("The task has no taskId (a cuid2).", {
      hint: "Write 24 lower-case letters and digits, beginning with a letter.",
    });
  }
  if (body === "") throw new InvalidInputError("The task has no prompt. Write it below the front matter.");
  const agentId = fields.agentId ?? fields.agent_id;
  const once = [fields.deleteAfterRun, fields.delete_after_run, fields.oneOff, fields.one_off, fields.once].includes(
    true,
  );
  return {
    taskId,
    targetAgentId: typeof agentId === "string" ? agentId : undefined,
    hash: createHash("sha256").update(text).digest("hex"),
    create: defined({
      name,
      schedule: defined({
        kind: "cron",
        expr: schedule,
        tz: typeof fields.timeZone === "string" ? fields.timeZone : undefined,
      }),
      payload: {
        kind: "agentTurn",
        message: body,
        ...plain(fields, ["model", "thinking", "timeoutSeconds", "deliver", "channel", "to"]),
      },
      ...plain(fields, ["description", "enabled", "missed", "overlap", "maxLatenessMs", "staggerMs", "wakeMode"]),
      deleteAfterRun: once || undefined,
      gate: gateOf(fields.gate),
    }),
  };
}

const plain = (fields: Readonly<Record<string, Value>>, names: readonly string[]): Record<string, unknown> =>
  Object.fromEntries(names.flatMap((name) => (fields[name] === undefined ? [] : [[name, fields[name]]])));

/** A command or a URL. An invalid gate is an error: without it the task would run unchecked. */
function gateOf(value: Value | undefined): Gate | undefined {
  if (value === undefined) return undefined;
  const given = typeof value === "string" ? { command: value } : (value as Record<string, unknown>);
  const kind = given.kind ?? (given.url === undefined ? "command" : "http");
  const parsed = gateSchema.safeParse({ ...given, kind });
  if (parsed.success) return parsed.data;
  throw new InvalidInputError("The task's gate is not valid.", {
    hint: "Write gate: with command: or url:, and optionally timeoutMs:.",
  });
}

/** The title comes from the front matter, the first heading, or the file name. */
export function readHeartbeatTask(id: string, text: string): HeartbeatTask | undefined {
  const { fields, body } = readFrontMatter(text);
  if (body === "") return undefined;
  const given = [fields.title, fields.name].find((one) => typeof one === "string" && one.trim() !== "");
  const title = (given as string | undefined) ?? /^#+[ \t]+(\S.*)$/mu.exec(body)?.[1]?.trim() ?? id;
  return { id, title, prompt: body, gate: gateOf(fields.gate) };
}
