/**
 * The requests that the offline model understands: each calls a tool, if the agent has it. The first match counts. A new
 * tool adds its rows here.
 */
import type { ModelTool } from "../../core/ports/model.ts";

interface Phrase {
  /** How a person says it, as the help shows it. */
  readonly example: string;
  readonly tool: string;
  readonly pattern: RegExp;
  readonly arguments: (found: Readonly<Record<string, string>>) => Record<string, unknown>;
  /** The answer for a successful result. */
  readonly answer: (result: string, given: Readonly<Record<string, unknown>>) => string;
}

/** A tool, and what it is called with. */
interface FoundCall {
  readonly tool: string;
  readonly given: Record<string, unknown>;
}

export const OFFLINE_PHRASES: readonly Phrase[] = [
  {
    example: "ask librarian what do we know",
    tool: "sessions_send",
    pattern: /^ask (?!me\b|you\b|yourself\b)(?:the )?(?<name>[\w-]+?)(?:[,:]| to| for| about)? (?<message>\S.*)$/isu,
    arguments: ({ name, message }) => ({ sessionKey: name, message }),
    answer: (result, { sessionKey }) => saidBy(String(sessionKey), result),
  },
  {
    example: "what is stuck",
    tool: "diagnose",
    pattern: /^what(?:'s| is) stuck\b.*$/isu,
    arguments: () => ({}),
    answer: (result) => stuckText(result),
  },
  {
    example: "what time is it",
    tool: "current_time",
    pattern: /^(?:what(?:'s| is) the (?:time|date)|what time is it|what day is it)\b.*$/iu,
    arguments: () => ({}),
    answer: (result) => `It is ${result}.`,
  },
  {
    example: "list files in notes",
    tool: "list",
    pattern: /^(?:list|show)(?: me)?(?: the| all| my)* files(?: (?:in|of) (?<path>\S+?))?[.!?]?$/iu,
    arguments: ({ path }) => (path ? { path } : {}),
    answer: (result, { path }) => `In ${typeof path === "string" ? path : "the workspace"} there is:\n${result}`,
  },
  {
    example: "read notes.txt",
    tool: "read",
    pattern: /^(?:read|show|open)(?: me)?(?: the file)? (?<path>[^\s?!]+\.[\w-]+)[.!?]?$/iu,
    arguments: ({ path }) => ({ path }),
    answer: (result, { path }) => `${String(path)} says:\n${result}`,
  },
  {
    example: "write buy milk to notes.txt",
    tool: "write",
    pattern: /^(?:write|save|note) (?<content>.+) (?:to|in|into)(?: the file)? (?<path>[^\s?!]+\.[\w-]+)[.!?]?$/isu,
    arguments: ({ path, content }) => ({ path, content: unquoted(content ?? "") }),
    answer: (_, { path }) => `I wrote it to ${String(path)}.`,
  },
  {
    example: "in the background, read notes.txt",
    tool: "start_background_agent",
    pattern: /^(?:do )?in the background[,:]?\s+(?<prompt>.+)$/isu,
    arguments: ({ prompt }) => ({ prompt, name: prompt }),
    answer: () => "A background agent works on it. I will say what comes of it.",
  },
  {
    example: "remind me in 10 seconds to drink tea",
    tool: "cron",
    pattern:
      /^remind me in (?<count>\d+) (?<unit>second|minute|hour|day)s? (?:to |that |about |of )?(?<text>.+?)[.!]?$/isu,
    arguments: ({ count, unit, text }) => ({
      action: "add",
      job: {
        name: (text ?? "").slice(0, 60),
        schedule: { kind: "at", inMs: Number(count) * unitMs(unit) },
        deleteAfterRun: true,
        payload: { kind: "systemEvent", text: `Reminder: ${text}` },
      },
    }),
    answer: scheduled,
  },
  {
    example: "every minute say hello",
    tool: "cron",
    pattern: /^every (?:(?<count>\d+) )?(?<unit>second|minute|hour|day)s?,? (?<text>.+?)[.!]?$/isu,
    arguments: ({ count, unit, text }) => ({
      action: "add",
      job: {
        name: (text ?? "").slice(0, 60),
        schedule: { kind: "every", everyMs: Number(count ?? 1) * unitMs(unit) },
        payload: { kind: "systemEvent", text: text ?? "" },
      },
    }),
    answer: scheduled,
  },
];

/** The findings in a subagent's report; undefined if the text is not a report. */
export function findingsIn(text: string): string | undefined {
  const [start, middle, heading, end] = ['A background task "', '" just ', ".\n\nFindings:\n", "\n\nStats: "];
  const name = text.indexOf(start);
  const how = name === -1 ? -1 : text.indexOf(middle, name);
  const what = how === -1 ? -1 : text.indexOf(heading, how);
  const stats = what === -1 ? -1 : text.indexOf(end, what + heading.length);
  if (stats === -1) return undefined;
  const findings = text.slice(what + heading.length, stats);
  return `${text.slice(name + start.length, how)}: ${text.slice(how + middle.length, what)}.\n${findings}`;
}

const UNIT_MS: Readonly<Record<string, number>> = { second: 1_000, minute: 60_000, hour: 3_600_000, day: 86_400_000 };
const unitMs = (unit: string | undefined): number => UNIT_MS[(unit ?? "").toLowerCase()] ?? 0;

/** Two requests use the same tool. Its arguments show which one it was. */
function scheduled(result: string, given: Readonly<Record<string, unknown>>): string {
  const { job } = given as { job?: { schedule?: { kind?: string } } };
  return job?.schedule?.kind === "every"
    ? `I will do that again and again, first at ${firstTime(result)}.`
    : `I will remind you at ${firstTime(result)}.`;
}

/** The first due time, from the tool's result. */
function firstTime(result: string): string {
  try {
    return (JSON.parse(result) as { next?: readonly string[] }).next?.[0] ?? "soon";
  } catch {
    return "soon";
  }
}

/** The first request in a text that the agent has a tool for. */
export function phraseIn(text: string, tools: readonly string[]): FoundCall | undefined {
  const words = text.trim().replace(/^(?:please|can you|could you)\s+/iu, "");
  for (const phrase of OFFLINE_PHRASES) {
    const match = tools.includes(phrase.tool) ? phrase.pattern.exec(words) : null;
    if (match) return { tool: phrase.tool, given: phrase.arguments({ ...match.groups }) };
  }
  return undefined;
}

/**
 * A call of a tool that takes one text, if the text begins with its name: "weather in Rome?" calls `weather` with "Rome". So a
 * tool of your own can be tried without a key.
 */
export function namedTool(text: string, tools: readonly ModelTool[]): FoundCall | undefined {
  const [, name = "", value] = /^([\w-]+):?\s+(?:(?:in|for|of|at|about|to)\s+)?(\S.*)$/isu.exec(text.trim()) ?? [];
  const tool = tools.find((one) => one.name.toLowerCase() === name.toLowerCase());
  const properties = Object.entries(
    (tool?.parameters.properties ?? {}) as Readonly<Record<string, { type?: unknown }>>,
  );
  const [[key, { type }] = ["", { type: undefined }]] = properties;
  if (!tool || value === undefined || properties.length !== 1 || type !== "string") return undefined;
  return { tool: tool.name, given: { [key]: withoutEnd(value) } };
}

/** Without the marks at the end of a sentence. */
function withoutEnd(text: string): string {
  let end = text.length;
  while (end > 1 && ".?!".includes(text.charAt(end - 1))) end -= 1;
  return text.slice(0, end);
}

/** A diagnosis as one sentence. */
function stuckText(result: string): string {
  try {
    const { busy, waits, deadLetters, degraded, failedJobs } = JSON.parse(result) as Record<string, unknown[]>;
    const count = (list: unknown[] | undefined, what: string): string => `${list?.length ?? 0} ${what}`;
    return `There are ${[
      count(busy, "agents with work"),
      count(waits, "that wait for another"),
      count(deadLetters, "dead letters"),
      count(degraded, "agents that cannot be restored"),
      count(failedJobs, "failed jobs"),
    ].join(", ")}.`;
  } catch {
    return result;
  }
}

/** Another agent's answer, from the tool's result. */
function saidBy(name: string, result: string): string {
  try {
    const { status, reply, error } = JSON.parse(result) as Record<string, string | undefined>;
    if (status === "ok") return `${name} says: ${reply ?? ""}`;
    return `${name} did not answer (${status ?? "unknown"}): ${error ?? "no reason was given"}`;
  } catch {
    return `${name} says: ${result}`;
  }
}

const unquoted = (text: string): string => text.replace(/^(["'“])(.*)["'”]$/su, "$2");
