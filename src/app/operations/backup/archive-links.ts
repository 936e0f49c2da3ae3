/**
 * Decides which symbolic links of an archive may be made. The archive may be from anyone, so a link stays where files of agents are:
 * it never leaves the home, also not through other links, and it never stands in for a file that the program reads itself.
 */
import { posix } from "node:path";

/** Directories whose files agents read and write anyway. */
export const OPEN_PARTS: readonly string[] = ["workspace", "people", "skills"];
/** As many as a kernel follows. */
const MAX_HOPS = 40;

interface SortedLinks {
  readonly made: ReadonlyMap<string, string>;
  /** Their paths. */
  readonly refused: readonly string[];
}

/** `links`: targets by path. */
export function sortLinks(links: ReadonlyMap<string, string>): SortedLinks {
  const made = new Map<string, string>();
  const refused: string[] = [];
  for (const [path, target] of links) {
    if (isSafe(path, links)) made.set(path, target);
    else refused.push(path);
  }
  return { made, refused };
}

function isSafe(path: string, links: ReadonlyMap<string, string>): boolean {
  const parts = path.split("/");
  const end = endOf(path, links);
  // `mcp/NAME.json` holds what a person has reviewed; below it servers work.
  if (end === undefined || parts.length < (parts[0] === "mcp" ? 3 : 2)) return false;
  const [from = "", to = ""] = [parts[0], end.split("/")[0]];
  return (
    OPEN_PARTS.includes(to) || (from === to && end.split("/").slice(0, 2).join("/") === parts.slice(0, 2).join("/"))
  );
}

/** Where a link leads, relative to the home. Undefined: out of it, into a circle, or nowhere. */
function endOf(path: string, links: ReadonlyMap<string, string>): string | undefined {
  const left = path.split("/");
  const at: string[] = [];
  for (let hops = 0; left.length > 0; ) {
    const part = left.shift();
    if (part === "..") {
      if (at.pop() === undefined) return undefined;
      continue;
    }
    if (part === undefined || part === "" || part === ".") continue;
    at.push(part);
    const target = links.get(at.join("/"));
    if (target === undefined) continue;
    hops += 1;
    if (hops > MAX_HOPS || target === "" || target.includes("\0") || posix.isAbsolute(target)) return undefined;
    at.pop();
    left.unshift(...target.split("/"));
  }
  return at.length === 0 ? undefined : at.join("/");
}
