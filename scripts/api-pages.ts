/**
 * `npm run tool -- api --write`: writes docs/api from the doc comments of the entry points, one page for each. Without `--write` it says
 * which pages are not current; a test does the same.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { type Declaration, readDeclarations } from "./api/read-declarations.ts";

const ROOT = join(import.meta.dirname, "..");

export interface Entry {
  readonly page: string;
  readonly name: string;
  readonly file: string;
  /** Types that its members use, by source file (`src/…`): the page documents them too. */
  readonly more: Readonly<Record<string, readonly string[]>>;
}

export const CLIENT_PARTS: Entry["more"] = {
  "src/app/client/rookery-client.ts": ["RookeryClient", "PermanentOptions"],
  "src/app/client/agent-handle.ts": ["SendOptions", "AskOptions", "HistoryPage"],
  "src/app/client/resources.ts": ["Agents", "Runs", "Outbox", "Mailbox", "MailboxItem"],
  "src/app/client/approvals-resource.ts": ["Approvals"],
  "src/app/client/spending-resources.ts": ["Schedule", "SpawnOptions", "Spawned", "Swarms", "Budgets", "Usage"],
  "src/app/client/people-resource.ts": ["People"],
  "src/app/client/files-resource.ts": ["Files"],
};

export const ENTRIES: readonly Entry[] = [
  { page: "rookery.md", name: "rookery", file: "src/index.ts", more: CLIENT_PARTS },
  { page: "client.md", name: "rookery/client", file: "src/client.ts", more: {} },
  { page: "testing.md", name: "rookery/testing", file: "src/testing.ts", more: {} },
];

/** The declarations of an entry point, in the order of its exports, and those its types are made of. */
export function declarationsOf({ file, more }: Entry): readonly Declaration[] {
  const source = readFileSync(join(ROOT, file), "utf8");
  const exported = [...source.matchAll(/export (?:type )?\{([^}]*)\} from "([^"]+)"/g)].flatMap(
    ([, list = "", from = ""]) => {
      const target = resolve(ROOT, dirname(file), from);
      const names = list.split(",").map((name) => name.replace(/^\s*type /, "").trim());
      return names.filter((name) => name !== "").map((name) => ({ name, target }));
    },
  );
  const parts = Object.entries(more).flatMap(([path, names]) =>
    names.map((name) => ({ name, target: join(ROOT, path) })),
  );
  return [...exported, ...parts].flatMap(({ name, target }) => {
    const found = readDeclarations(readFileSync(target, "utf8")).get(name);
    if (!found) throw new TypeError(`${relative(ROOT, target)} declares no ${name} in the form that is read here.`);
    return [found];
  });
}

const KINDS: readonly (readonly [string, readonly Declaration["kind"][]])[] = [
  ["Functions", ["function", "const"]],
  ["Classes", ["class"]],
  ["Types", ["interface", "type"]],
];

export function pageOf(entry: Entry): string {
  const declarations = declarationsOf(entry);
  const parts = [
    `# ${entry.name}`,
    "",
    `Every name of \`${entry.name}\`, from its doc comments. \`npm run tool -- api --write\` writes this page. [The library](../library.md) explains`,
    "how they belong together.",
  ];
  for (const [title, kinds] of KINDS) {
    const chosen = declarations.filter(({ kind }) => kinds.includes(kind));
    if (chosen.length > 0) parts.push("", `## ${title}`, ...chosen.flatMap(sectionOf));
  }
  return `${parts.join("\n")}\n`;
}

function sectionOf({ kind, name, signature, doc, members }: Declaration): readonly string[] {
  const head = ["", `### ${name}`, ""];
  if (doc !== "") head.push(doc, "");
  if (members.length === 0) return [...head, "```text", signature, "```"];
  if (kind === "class" || / extends /.test(signature)) head.push("```text", signature, "```", "");
  const rows = members.map((member) => `| \`${cell(member.signature)}\` | ${cell(member.doc)} |`);
  return [...head, "| member | what it is |", "| --- | --- |", ...rows];
}

const cell = (text: string): string => text.replaceAll("|", "\\|");

export const pathOf = ({ page }: Entry): string => join(ROOT, "docs/api", page);
export const isCurrent = (entry: Entry): boolean =>
  existsSync(pathOf(entry)) && readFileSync(pathOf(entry), "utf8") === pageOf(entry);

if (import.meta.main) {
  const isWriting = process.argv.includes("--write");
  for (const entry of ENTRIES) {
    if (isCurrent(entry)) continue;
    const path = relative(ROOT, pathOf(entry));
    if (isWriting) {
      mkdirSync(dirname(pathOf(entry)), { recursive: true });
      writeFileSync(pathOf(entry), pageOf(entry));
      console.log(`wrote ${path}`);
    } else {
      console.log(`${path} is not current: npm run tool -- api --write`);
      process.exitCode = 1;
    }
  }
}
