/**
 * Reads the front matter of a task file: the subset of YAML that daycare's files use (strings, numbers, booleans, lists, one
 * level of nesting). Never throws: unreadable lines are left out and returned in `unread`.
 */
interface FrontMatter {
  readonly fields: Readonly<Record<string, Value>>;
  /** The text below the front matter. */
  readonly body: string;
  readonly unread: readonly string[];
}

export type Value =
  | string
  | number
  | boolean
  | readonly string[]
  | { readonly [name: string]: string | number | boolean };

const FENCE = /^---\s*$/u;
const NAME = /^[A-Za-z_][\w-]*$/u;

export function readFrontMatter(text: string): FrontMatter {
  const lines = text.replace(/^\uFEFF/u, "").split(/\r?\n/u);
  const end = FENCE.test(lines[0] ?? "") ? lines.findIndex((line, at) => at > 0 && FENCE.test(line)) : -1;
  if (end === -1) return { fields: {}, body: text.trim(), unread: [] };
  const fields: Record<string, Value> = Object.create(null);
  const unread: string[] = [];
  let open: string | undefined;
  for (const line of lines.slice(1, end)) {
    if (line.trim() === "" || /^\s*#/u.test(line)) continue;
    const nested = /^\s+\S/u.test(line);
    const item = itemIn(line.trim());
    const { name, value } = fieldIn(line.trim());
    if (nested && open !== undefined && item !== undefined) {
      const before = fields[open];
      fields[open] = [...(Array.isArray(before) ? (before as string[]) : []), String(scalar(item))];
    } else if (nested && open !== undefined && name !== undefined) {
      const before = fields[open];
      const map = typeof before === "object" && !Array.isArray(before) ? before : {};
      fields[open] = { ...map, [name]: scalar(value) };
    } else if (!nested && name !== undefined) {
      open = value === "" ? name : undefined;
      fields[name] = value === "" ? {} : scalar(value);
    } else unread.push(line.trim());
  }
  return {
    fields: { ...fields },
    body: lines
      .slice(end + 1)
      .join("\n")
      .trim(),
    unread,
  };
}

/** `- text`: an item of a list. */
const itemIn = (line: string): string | undefined => (/^-\s/u.test(line) ? line.slice(1).trimStart() : undefined);

/** `name: value`. */
function fieldIn(line: string): { readonly name?: string; readonly value: string } {
  const at = line.indexOf(":");
  const name = at === -1 ? "" : line.slice(0, at).trimEnd();
  return NAME.test(name) ? { name, value: line.slice(at + 1).trimStart() } : { value: "" };
}

function scalar(raw: string): string | number | boolean {
  const quoted = quotedIn(raw);
  if (quoted !== undefined) return quoted;
  const comment = raw.search(/\s#/u);
  const text = (comment === -1 ? raw : raw.slice(0, comment)).trim();
  if (/^(?:true|yes|on)$/iu.test(text)) return true;
  if (/^(?:false|no|off)$/iu.test(text)) return false;
  return /^-?\d+(?:\.\d+)?$/u.test(text) ? Number(text) : text;
}

/** A text in quotes, with nothing or a comment after it. The last quote that fits ends it. */
function quotedIn(text: string): string | undefined {
  const quote = text.charAt(0);
  if (quote !== '"' && quote !== "'") return undefined;
  /** The next character to the right that is not a space. */
  let next = "";
  for (let at = text.length - 1; at > 0; at--) {
    const letter = text.charAt(at);
    if (letter === quote && (next === "" || next === "#")) return text.slice(1, at);
    if (letter.trim() !== "") next = letter;
  }
  return undefined;
}
