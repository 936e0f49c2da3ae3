/** The lines of `rookery status` for the parts that features add. A part that could not be read has none. */
import { failingHelp, failingText } from "../../core/store/failing-messages.ts";
import type { StatusParts } from "../gateway/reads/status-parts.ts";
import { oneLine } from "./plain-text.ts";
import { relativeTime } from "./relative-time.ts";

type Lines = {
  readonly [Name in keyof StatusParts]: (value: NonNullable<StatusParts[Name]>, now: number) => readonly string[];
};

/** The first line of a group has its title. */
const titled = (title: string, lines: readonly string[]): readonly string[] =>
  lines.map((line, at) => `${(at === 0 ? title : "").padEnd(9)} ${line}`);

const SHOWN = 3;

const LINES: Lines = {
  failed: (count) =>
    titled("Failed", [count === 0 ? "nothing today" : `${count} messages in a day: \`rookery agents inbox --failed\``]),
  failing: (messages) =>
    titled(
      "Failing",
      messages.slice(0, SHOWN).map((one) => `${oneLine(failingText(one), 200)} ${oneLine(failingHelp(one), 200)}`),
    ),
  heldBack: (count) =>
    titled("Held back", count === 0 ? [] : [`${count} runs wait for their trial after crashes: \`rookery doctor\``]),
  schedules: (next, now) =>
    titled(
      "Next",
      next.map(({ name, at }) => `${relativeTime(at, now)}: ${oneLine(name, 60)}`),
    ),
  channels: (accounts) =>
    titled(
      "Channels",
      accounts.flatMap(({ name, state, detail }) =>
        state === "failing" ? [`${name} fails: ${oneLine(detail, 160)}`] : [],
      ),
    ),
  leftBehind: (warning) => titled("Left", [`${oneLine(warning, 300)} \`rookery sessions carry-over\``]),
};

export function statusLines(parts: StatusParts, now: number): readonly string[] {
  return Object.entries(LINES).flatMap(([name, linesOf]) => {
    const value = parts[name as keyof StatusParts];
    return value === null || value === undefined
      ? []
      : (linesOf as (value: unknown, now: number) => string[])(value, now);
  });
}
