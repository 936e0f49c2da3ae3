/**
 * Reads a skill: a directory with `SKILL.md`, whose head names it. The format is that of Agent Skills. Of the head's YAML only what the
 * format needs is understood: texts, folded texts and one level of names. Linear.
 */

export interface Skill {
  /** Also the name of its directory. */
  readonly name: string;
  readonly description: string;
  /** The tools it says it needs. It gives no rights: an agent has the tools it has. */
  readonly allowedTools?: readonly string[];
  readonly license?: string;
  readonly compatibility?: string;
  readonly body: string;
}

type ReadSkill = { readonly skill: Skill } | { readonly problems: readonly string[] };

const KNOWN = ["name", "description", "license", "compatibility", "metadata", "allowed-tools"];
const NAME = /^[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?$/;
export const isSkillName = (name: string): boolean => NAME.test(name) && !name.includes("--");
const MAX_DESCRIPTION = 1_024;

/** The name in the head of a text; undefined if it has none. */
export const nameIn = (text: string): string | undefined => headOf(text)?.head.name;

function headOf(text: string) {
  const lines = text.split("\n").map((line) => (line.endsWith("\r") ? line.slice(0, -1) : line));
  const end = lines.indexOf("---", 1);
  return lines[0] !== "---" || end === -1 ? undefined : { lines, end, head: fieldsOf(lines.slice(1, end)) };
}

export function parseSkill(text: string, directory: string): ReadSkill {
  const read = headOf(text);
  if (!read) return { problems: ["SKILL.md does not begin with a head between two lines of ---"] };
  const { lines, end, head } = read;
  const { name = "", description = "", license, compatibility } = head;
  const tools = head["allowed-tools"];
  const problems = [
    ...(isSkillName(name) ? [] : ["name must have 1 to 64 lower-case letters, digits and single dashes"]),
    ...(name === directory ? [] : [`name is "${name.slice(0, 64)}", but the directory is "${directory}"`]),
    ...(description !== "" && description.length <= MAX_DESCRIPTION
      ? []
      : ["description must have 1 to 1024 characters"]),
    ...((compatibility?.length ?? 0) <= 500 ? [] : ["compatibility must have at most 500 characters"]),
    ...Object.keys(head).flatMap((key) =>
      KNOWN.includes(key) ? [] : [`the head has the unknown field "${key.slice(0, 40)}"`],
    ),
  ];
  if (problems.length > 0) return { problems };
  const allowedTools = tools === undefined ? undefined : toolsIn(tools);
  const body = lines
    .slice(end + 1)
    .join("\n")
    .trim();
  return { skill: { name, description, license, compatibility, allowedTools, body } };
}

/** Names with spaces or commas between them. What stands in brackets belongs to its name: `Bash(git push *)`. */
function toolsIn(text: string): readonly string[] {
  const found = [""];
  let depth = 0;
  for (const sign of text) {
    if (sign === "(") depth += 1;
    if (sign === ")") depth = Math.max(0, depth - 1);
    if (depth === 0 && (sign === "," || sign.trim() === "")) found.push("");
    else found.push(`${found.pop() ?? ""}${sign}`);
  }
  return found.filter((tool) => tool !== "").slice(0, MAX_TOOLS);
}
const MAX_TOOLS = 200;

function fieldsOf(lines: readonly string[]): Record<string, string | undefined> {
  const fields: Record<string, string | undefined> = Object.create(null);
  let last: string | undefined;
  for (const line of lines) {
    if (line.trim() === "" || line.startsWith("#")) continue;
    const at = line.startsWith(" ") || line.startsWith("\t") ? -1 : line.indexOf(":");
    if (at > 0) {
      last = line.slice(0, at).trim();
      fields[last] = unquoted(line.slice(at + 1).trim());
    } else if (last !== undefined) fields[last] = `${fields[last] ?? ""} ${line.trim()}`.trim();
  }
  return fields;
}

/** A sign for a folded text stands for nothing. */
function unquoted(text: string): string {
  if ([">", "|", ">-", "|-"].includes(text)) return "";
  const quote = text[0];
  return (quote === '"' || quote === "'") && text.length > 1 && text.endsWith(quote) ? text.slice(1, -1) : text;
}
