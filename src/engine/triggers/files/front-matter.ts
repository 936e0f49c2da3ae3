/**
 * Reads the front matter of a task file: the subset of YAML that daycare's files use (strings, numbers, booleans, lists, one
 * level of nesting). Never throws: unreadable lines are left out and returned in `unread`.
 */
export interface FrontMatter {
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
const FIELD = /^([A-Za-z_][\w-]*)\s*:\s*(.*)$/u;

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
    const item = /^\s+-\s+(.*)$/u.exec(line)?.[1];
    const [, name, value = ""] = FIELD.exec(line.trim()) ?? [];
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

function scalar(raw: string): string | number | boolean {
  const quoted = /^(["'])(.*)\1\s*(?:#.*)?$/u.exec(raw.trim())?.[2];
  if (quoted !== undefined) return quoted;
  const text = raw.replace(/\s+#.*$/u, "").trim();
  if (/^(?:true|yes|on)$/iu.test(text)) return true;
  if (/^(?:false|no|off)$/iu.test(text)) return false;
  return /^-?\d+(?:\.\d+)?$/u.test(text) ? Number(text) : text;
}
