/**
 * `npm run tool -- conformance`: the conformance suite of the protocol's authors, on the client and on the server. What fails is compared with a
 * list that may only become shorter: a failure that is not in it, and an entry that does not fail any more, are both errors.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { openConformanceServer } from "./conformance-server.ts";

const root = join(import.meta.dirname, "..", "..");
const suite = join(root, "node_modules", "@modelcontextprotocol", "conformance", "dist", "index.js");
const beside = (name: string): string => join(import.meta.dirname, name);
export const VERSION = "2026-07-28";

export interface Baseline {
  /** Scenarios that count and fail. */
  readonly failing: { readonly client: readonly string[]; readonly server: readonly string[] };
  /** Scenarios that the version does not require and that fail, with the reason. */
  readonly notApplicable: Readonly<Record<string, string>>;
}

export const readBaseline = (): Baseline =>
  JSON.parse(readFileSync(beside("conformance-baseline.json"), "utf8")) as Baseline;

async function outputOf(args: readonly string[]): Promise<string> {
  const child = spawn(process.execPath, [suite, ...args], { cwd: root });
  let text = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (text += String(chunk)));
  await once(child, "close");
  return text;
}

export interface Outcome {
  readonly ran: number;
  readonly failed: readonly string[];
  /** Those that the version does not require. */
  readonly failedBesides: readonly string[];
}

export function outcomeIn(output: string): Outcome {
  const summary = output.slice(output.lastIndexOf("SUMMARY"));
  const besides = new Set([...summary.matchAll(/^ {2}[✓✗] (\S+) \(/gm)].map(([, name]) => name));
  const lines = [...summary.matchAll(/^(✓|✗) (\S+): /gm)].map(([, sign, name = ""]) => ({
    failed: sign === "✗",
    name,
  }));
  const failed = lines.filter((line) => line.failed).map(({ name }) => name);
  return {
    ran: lines.filter(({ name }) => !besides.has(name)).length,
    failed: failed.filter((name) => !besides.has(name)),
    failedBesides: failed.filter((name) => besides.has(name)),
  };
}

const which = (only: string | undefined): readonly string[] =>
  only === undefined ? ["--requirements", VERSION] : ["--scenario", only, "--spec-version", VERSION];

/** `only`: one scenario instead of all. */
export async function clientConformance(only?: string): Promise<string> {
  const command = `${process.execPath} ${beside("conformance-client.ts")}`;
  return outputOf(["client", "--command", command, ...which(only), "--timeout", "120000"]);
}

export async function serverConformance(only?: string): Promise<string> {
  const server = await openConformanceServer();
  try {
    return await outputOf(["server", "--url", server.url, ...which(only), "--timeout", "120000"]);
  } finally {
    await server.close();
  }
}

/** What differs from the baseline, in words. */
export function differences(
  { failed, failedBesides }: Outcome,
  known: readonly string[],
  notApplicable: Baseline["notApplicable"],
): readonly string[] {
  return [
    ...failed.filter((name) => !known.includes(name)).map((name) => `${name} fails and is not expected to`),
    ...known.filter((name) => !failed.includes(name)).map((name) => `${name} passes: remove it from the baseline`),
    ...failedBesides.filter((name) => !(name in notApplicable)).map((name) => `${name} fails and has no reason to`),
  ];
}

if (import.meta.main) {
  const { failing, notApplicable } = readBaseline();
  for (const [part, run] of [
    ["client", clientConformance],
    ["server", serverConformance],
  ] as const) {
    const outcome = outcomeIn(await run());
    const { ran, failed, failedBesides } = outcome;
    console.log(`${part}: ${ran - failed.length} of ${ran} scenarios pass; not applicable: ${failedBesides.length}`);
    const problems = differences(outcome, failing[part], notApplicable);
    for (const problem of problems) console.log(`  ${problem}`);
    if (ran === 0 || problems.length > 0) process.exitCode = 1;
  }
}
