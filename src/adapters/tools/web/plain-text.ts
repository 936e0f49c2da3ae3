/** The text of HTML without parsing it: one pass, linear, for pages that the reader cannot handle. */

const SKIPPED: readonly string[] = ["script", "style", "noscript", "template", "svg", "head"];
const BREAKS = new Set(
  "p br div li ul ol tr table h1 h2 h3 h4 h5 h6 section article header footer pre blockquote".split(" "),
);
const NAMES: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: " " };

export function plainText(html: string): string {
  const lower = html.toLowerCase();
  const parts: string[] = [];
  let at = 0;
  while (at < html.length) {
    const open = html.indexOf("<", at);
    if (open === -1) {
      parts.push(html.slice(at));
      break;
    }
    parts.push(html.slice(at, open));
    if (html.startsWith("<!--", open)) {
      at = after(html, "-->", open + 4);
      continue;
    }
    const close = html.indexOf(">", open);
    if (close === -1) break;
    const name = tagName(lower, open + 1);
    if (BREAKS.has(name)) parts.push("\n");
    at = close + 1;
    if (SKIPPED.includes(name) && lower[open + 1] !== "/") {
      const end = lower.indexOf(`</${name}`, at);
      at = end === -1 ? html.length : end;
    }
  }
  return tidy(parts.join(""));
}

/** The place behind a text; the end if there is none. */
function after(text: string, sought: string, from: number): number {
  const at = text.indexOf(sought, from);
  return at === -1 ? text.length : at + sought.length;
}

function tagName(lower: string, from: number): string {
  const start = lower[from] === "/" ? from + 1 : from;
  let end = start;
  while (end - start < 12 && /[a-z0-9]/.test(lower[end] ?? "")) end += 1;
  return lower.slice(start, end);
}

const tidy = (text: string): string =>
  text
    .replace(/&(#\d{1,7}|[a-z]{2,6});/gi, (whole, name: string) => entity(name) ?? whole)
    .split("\n")
    .map((line) => line.split(/\s/).filter(Boolean).join(" "))
    .filter((line) => line !== "")
    .join("\n")
    .toWellFormed();

function entity(name: string): string | undefined {
  if (!name.startsWith("#")) return NAMES[name.toLowerCase()];
  const code = Number(name.slice(1));
  return code >= 32 && code <= 0x10ffff ? String.fromCodePoint(code) : undefined;
}
