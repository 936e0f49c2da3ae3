/** `rookery logs`: the log of the engine, filtered, and followed while it grows. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { UsageError } from "../../../core/errors.ts";
import { listOf } from "../../../core/list.ts";
import { printableJson } from "../../../core/printable.ts";
import { defineAction } from "../command.ts";
import { limitFlag } from "../number-flag.ts";
import { oneLine, timeText } from "../plain-text.ts";
import { printResult } from "../print.ts";

const LEVELS = ["debug", "info", "warn", "error"] as const;
const LIMIT = 100;
const POLL_MS = 250;

interface LogLine {
  readonly at?: number | string;
  readonly level?: string;
  readonly message?: string;
  readonly [field: string]: unknown;
}

export const logsCommand = defineAction({
  summary: "show the log of the engine; follow it, filter it by agent, run or level",
  description:
    "Reads the log files of the home, with or without an engine. Keys and tokens in it are masked when it is written.",
  options: {
    follow: { type: "boolean", short: "f", description: "go on with new lines until you stop it" },
    level: { type: "string", value: "LEVEL", description: `this level and above: ${LEVELS.join(", ")}` },
    agent: { type: "string", value: "ID", description: "only lines about this agent" },
    run: { type: "string", value: "ID", description: "only lines about this run" },
    limit: { type: "string", value: "N", description: `how many of the latest lines (default: ${LIMIT})` },
  },
  examples: ["rookery logs --level warn", "rookery logs --follow"],
  async run(context) {
    const { flags, paths, json, stdout } = context;
    const least = levelOf(flags.level);
    const limit = limitFlag(flags.limit, LIMIT, 100_000);
    const wanted = (line: LogLine): boolean =>
      LEVELS.indexOf(line.level as never) >= least && mentions(line, flags.agent) && mentions(line, flags.run);
    const file = join(paths.logs, "rookery.log");
    const { lines, read } = await latest(file, wanted, limit);
    if (!flags.follow) {
      const text = lines.length === 0 ? "There is nothing in the log." : lines.map(lineText).join("\n");
      return printResult(context, listOf(lines), text);
    }
    const write = (line: LogLine): unknown =>
      stdout.write(`${json ? printableJson(JSON.stringify(line)) : lineText(line)}\n`);
    for (const line of lines) write(line);
    await follow(file, read, (line) => wanted(line) && write(line), stopSignal());
    return undefined;
  },
});

function levelOf(text: string | undefined): number {
  const index = LEVELS.indexOf((text ?? "debug") as (typeof LEVELS)[number]);
  if (index === -1) throw new UsageError(`"${text}" is not a level.`, { hint: `Levels: ${LEVELS.join(", ")}.` });
  return index;
}

/** A field of the line is this id, or begins with it. */
const mentions = (line: LogLine, id: string | undefined): boolean =>
  id === undefined || Object.values(line).some((value) => typeof value === "string" && value.startsWith(id));

const parse = (text: string): LogLine | undefined => {
  try {
    return JSON.parse(text) as LogLine;
  } catch {
    return undefined;
  }
};

function lineText({ at, level, message, ...more }: LogLine): string {
  const fields = Object.entries(more).map(
    ([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`,
  );
  const time = typeof at === "number" ? timeText(at) : (at ?? "").slice(0, 19).replace("T", " ");
  return `${time}  ${(level ?? "").padEnd(5)}  ${oneLine([message, ...fields].join("  "), 1_000)}`;
}

/** The latest lines of the file and of the rotated one before it; `read`: how far the file was read. */
async function latest(file: string, wanted: (line: LogLine) => boolean, limit: number) {
  const { open } = await import("node:fs/promises");
  const lines: LogLine[] = [];
  let read = 0;
  for (const path of [`${file}.1`, file].filter((one) => existsSync(one))) {
    const handle = await open(path, "r");
    try {
      read = 0;
      for await (const text of handle.readLines({ autoClose: false })) {
        const line = parse(text);
        if (line && wanted(line)) lines.push(line);
        if (lines.length > 2 * limit) lines.splice(0, lines.length - limit);
      }
      read = (await handle.stat()).size;
    } finally {
      await handle.close();
    }
  }
  return { lines: lines.slice(-limit), read };
}

/** Reads what is appended, also after the file was rotated. */
async function follow(
  file: string,
  from: number,
  take: (line: LogLine) => unknown,
  signal: AbortSignal,
): Promise<void> {
  const { open } = await import("node:fs/promises");
  let at = from;
  let rest = "";
  while (!signal.aborted) {
    const handle = await open(file, "r").catch(() => undefined);
    if (handle) {
      const { size } = await handle.stat();
      if (size < at) [at, rest] = [0, ""];
      const { buffer, bytesRead } = await handle.read(
        Buffer.alloc(Math.min(size - at, 1 << 20)),
        0,
        Math.min(size - at, 1 << 20),
        at,
      );
      at += bytesRead;
      const parts = (rest + buffer.toString("utf8", 0, bytesRead)).split("\n");
      rest = (parts.pop() ?? "").slice(-100_000);
      for (const text of parts) {
        const line = parse(text);
        if (line) take(line);
      }
      await handle.close();
    }
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

function stopSignal(): AbortSignal {
  const stop = new AbortController();
  for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => stop.abort());
  process.stdout.once("error", () => stop.abort());
  return stop.signal;
}
