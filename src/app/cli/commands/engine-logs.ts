/** `rookery engine logs`: the log of the engine, filtered, and followed while it grows. */
import { join } from "node:path";
import { UsageError } from "../../../core/errors.ts";
import { listOf } from "../../../core/list.ts";
import { printableJson } from "../../../core/printable.ts";
import { defineAction } from "../command.ts";
import { limitFlag } from "../number-flag.ts";
import { oneLine, timeText } from "../plain-text.ts";
import { printResult } from "../print.ts";
import { type LogLine, readLog } from "../read-log.ts";

const LEVELS = ["debug", "info", "warn", "error"] as const;
const LIMIT = 100;

export const showLogs = defineAction({
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
  examples: ["rookery engine logs --level warn", "rookery engine logs --follow"],
  async run(context) {
    const { flags, paths, json, stdout } = context;
    const least = levelOf(flags.level);
    const limit = limitFlag(flags.limit, LIMIT, 100_000);
    const wants = (line: LogLine): boolean =>
      LEVELS.indexOf(line.level as never) >= least && mentions(line, flags.agent) && mentions(line, flags.run);
    const file = join(paths.logs, "rookery.log");
    if (!flags.follow) {
      const lines = await readLog(file, { limit, wants });
      const text = lines.length === 0 ? "There is nothing in the log." : lines.map(lineText).join("\n");
      return printResult(context, listOf(lines), text);
    }
    const onLine = (line: LogLine): void =>
      void stdout.write(`${json ? printableJson(JSON.stringify(line)) : lineText(line)}\n`);
    await readLog(file, { limit, wants }, { signal: stopSignal(), onLine });
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

function lineText({ at, level, message, ...more }: LogLine): string {
  const fields = Object.entries(more).map(
    ([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`,
  );
  const time = typeof at === "number" ? timeText(at) : (at ?? "").slice(0, 19).replace("T", " ");
  return `${time}  ${(level ?? "").padEnd(5)}  ${oneLine([message, ...fields].join("  "), 1_000)}`;
}

function stopSignal(): AbortSignal {
  const stop = new AbortController();
  for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => stop.abort());
  process.stdout.once("error", () => stop.abort());
  return stop.signal;
}
