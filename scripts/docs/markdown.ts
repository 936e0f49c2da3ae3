/** Reads a page of the documentation: its headings, links, code blocks and code spans, each with its line. */

export interface CodeBlock {
  readonly line: number;
  /** The name after the fence: `sh`, `json5`, `ts`, … */
  readonly language: string;
  readonly text: string;
}

export interface Link {
  readonly line: number;
  readonly target: string;
}

export interface CodeSpan {
  readonly line: number;
  readonly text: string;
}

export interface Page {
  /** The names that links can point to with `#`. */
  readonly anchors: ReadonlySet<string>;
  readonly links: readonly Link[];
  readonly blocks: readonly CodeBlock[];
  readonly spans: readonly CodeSpan[];
}

export function readPage(text: string): Page {
  const blocks: CodeBlock[] = [];
  const links: Link[] = [];
  const spans: CodeSpan[] = [];
  const anchors = new Set<string>();
  let block: { line: number; language: string; lines: string[] } | undefined;
  for (const [index, line] of text.split("\n").entries()) {
    const fence = /^ *```(.*)$/.exec(line);
    if (fence && block) {
      blocks.push({ line: block.line, language: block.language, text: block.lines.join("\n") });
      block = undefined;
    } else if (fence) {
      block = { line: index + 1, language: (fence[1] ?? "").trim(), lines: [] };
    } else if (block) {
      block.lines.push(line);
    } else {
      const heading = /^#{1,6} +(.*?) *$/.exec(line);
      if (heading) anchors.add(unused(anchorOf(heading[1] ?? ""), anchors));
      for (const [, code = ""] of line.matchAll(/`([^`]+)`/g)) spans.push({ line: index + 1, text: code });
      const prose = line.replace(/`[^`]*`/g, "");
      for (const [, target = ""] of prose.matchAll(/\]\(([^)\s]+)\)/g)) links.push({ line: index + 1, target });
    }
  }
  return { anchors, links, blocks, spans };
}

/** The file of a program that others import or commands start: its first line is `// NAME.ts`. */
export const fileName = (text: string): string | undefined => /^\/\/ ([\w-]+\.ts)\n/.exec(text)?.[1];

/** The anchor that GitHub gives a heading. */
export const anchorOf = (heading: string): string =>
  heading
    .replace(/\[([^\]]*)\]\([^)]*\)/g, "$1")
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, "")
    .trim()
    .replace(/\s/g, "-");

/** A heading that a page repeats gets a number, as on GitHub. */
function unused(anchor: string, taken: ReadonlySet<string>): string {
  if (!taken.has(anchor)) return anchor;
  let n = 1;
  while (taken.has(`${anchor}-${n}`)) n += 1;
  return `${anchor}-${n}`;
}
