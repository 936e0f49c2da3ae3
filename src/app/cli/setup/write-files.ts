/** The files that setup writes: USER.md and SOUL.md, which the person edits afterwards, and settings of the configuration. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import JSON5 from "json5";
import type { HomePaths } from "../../../config/paths.ts";

const SOUL = `# Who you are

You are a calm, capable assistant. You answer briefly, say what you did, and say when you do not know.

- Ask before you delete or send something.
- Prefer doing a small thing now over promising a large one.
- When you work in the background, report once, with the result first.

(Edit this file: it is part of every conversation.)
`;

const USER = `# About the person you work for

(Edit this file: it is part of your conversations with this person.)

`;

/** A line `- Label: value`: replaced where it stands, else added at the end. Everything else stays as it is. */
export function withFact(text: string, label: string, value: string): string {
  const line = `- ${label}: ${value}`;
  const lines = text.split("\n");
  const at = lines.findIndex((one) => one.startsWith(`- ${label}:`));
  if (at >= 0) return lines.with(at, line).join("\n");
  return `${text.endsWith("\n") || text === "" ? text : `${text}\n`}${line}\n`;
}

export function factIn(text: string, label: string): string | undefined {
  const line = text.split("\n").find((one) => one.startsWith(`- ${label}:`));
  return line?.slice(label.length + 3).trim() || undefined;
}

export const NAME_LABEL = "Call me";
const ZONE_LABEL = "Time zone";

const userFile = ({ workspace }: HomePaths): string => join(workspace, "USER.md");

export const readUser = (paths: HomePaths): string =>
  existsSync(userFile(paths)) ? readFileSync(userFile(paths), "utf8") : "";

/** A text that setup writes, and the one that is there; null: there is no file. */
interface PersonText {
  readonly file: string;
  readonly text: string;
  readonly before: string | null;
}

/** SOUL.md is written once: what the person made of it stays. Only what changes. */
export function personTexts(
  paths: HomePaths,
  facts: { readonly name?: string; readonly timeZone?: string },
): readonly PersonText[] {
  const soul = join(paths.workspace, "SOUL.md");
  const before = existsSync(userFile(paths)) ? readUser(paths) : null;
  let text = before === null || before === "" ? USER : before;
  if (facts.name) text = withFact(text, NAME_LABEL, facts.name);
  if (facts.timeZone) text = withFact(text, ZONE_LABEL, facts.timeZone);
  return [
    ...(existsSync(soul) ? [] : [{ file: soul, text: SOUL, before: null }]),
    ...(text === before ? [] : [{ file: userFile(paths), text, before }]),
  ];
}

export type Settings = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/**
 * The configuration with these sections. A section that is not in the file is added at its top, and every comment stays. A
 * section that is there is not touched if it says the same; else it is returned as `byHand`.
 */
export function withSettings(text: string, settings: Settings): { readonly text: string; readonly byHand: Settings } {
  const known = (text.trim() === "" ? {} : JSON5.parse(text)) as Readonly<Record<string, Record<string, unknown>>>;
  const byHand: Record<string, Readonly<Record<string, unknown>>> = {};
  const added: string[] = [];
  for (const [section, values] of Object.entries(settings)) {
    const there = known[section];
    if (!there) added.push(`  // Set by \`rookery setup\`.\n  ${section}: ${JSON.stringify(values)},`);
    else if (!says(there, values)) byHand[section] = values;
  }
  if (added.length === 0) return { text, byHand };
  if (text.trim() === "") return { text: `{\n${added.join("\n")}\n}\n`, byHand };
  const open = openingBrace(text);
  return { text: `${text.slice(0, open + 1)}\n${added.join("\n")}${text.slice(open + 1)}`, byHand };
}

const says = (there: unknown, values: unknown): boolean => {
  if (typeof values !== "object" || values === null) return there === values;
  if (typeof there !== "object" || there === null) return false;
  return Object.entries(values).every(([name, value]) => says((there as Record<string, unknown>)[name], value));
};

/** The first brace outside of comments. */
function openingBrace(text: string): number {
  for (let at = 0; at < text.length; at++) {
    if (text.startsWith("//", at)) at = endOf(text, "\n", at);
    else if (text.startsWith("/*", at)) at = endOf(text, "*/", at) + 1;
    else if (text[at] === "{") return at;
  }
  return 0;
}

function endOf(text: string, mark: string, from: number): number {
  const end = text.indexOf(mark, from + 2);
  return end < 0 ? text.length : end;
}
