/**
 * `npm run conformance`: the conformance suite of the protocol's authors, on the client and on the server. What fails is compared with a
 * list that may only become shorter: a failure that is not in it, and an entry that does not fail any more, are both errors.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "..", "..");
const suite = join(root, "node_modules", "@modelcontextprotocol", "conformance", "dist", "index.js");
const beside = (name: string): string => join(import.meta.dirname, name);
export const VERSION = "2026-07-28";

async function outputOf(args: readonly string[]): Promise<string> {
  const child = spawn(process.execPath, [suite, ...args], { cwd: root });
  let text = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (text += String(chunk)));
  await once(child, "close");
  return text;
}

/** The scenarios that failed and count, of all that ran. */
export function failuresIn(output: string): { readonly ran: number; readonly failed: readonly string[] } {
  const summary = output.slice(output.lastIndexOf("SUMMARY"));
  const extra = new Set([...summary.matchAll(/^ {2}✗ (\S+) \(/gm)].map(([, name]) => name));
  const lines = [...summary.matchAll(/^(✓|✗) (\S+): /gm)].map(([, sign, name = ""]) => ({
    failed: sign === "✗",
    name,
  }));
  const counted = lines.filter(({ name }) => !extra.has(name));
  return { ran: counted.length, failed: counted.filter(({ failed }) => failed).map(({ name }) => name) };
}

/** `only`: one scenario instead of all. */
export async function clientConformance(only?: string): Promise<string> {
  const command = `${process.execPath} ${beside("conformance-client.ts")}`;
  const which = only === undefined ? ["--requirements", VERSION] : ["--scenario", only, "--spec-version", VERSION];
  return outputOf(["client", "--command", command, ...which, "--timeout", "120000"]);
}

export async function serverConformance(only?: string): Promise<string> {
  const server: ChildProcess = spawn(process.execPath, [beside("conformance-server.ts")], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  try {
    const [first] = (await once(server.stdout as NodeJS.ReadableStream, "data")) as [Buffer];
    const which = only === undefined ? ["--requirements", VERSION] : ["--scenario", only, "--spec-version", VERSION];
    return await outputOf(["server", "--url", first.toString().trim(), ...which]);
  } finally {
    server.kill();
  }
}

if (import.meta.main) {
  const expected = JSON.parse(readFileSync(beside("conformance-baseline.json"), "utf8")) as Record<
    string,
    readonly string[]
  >;
  for (const [part, run] of [
    ["client", clientConformance],
    ["server", serverConformance],
  ] as const) {
    const output = await run();
    const { ran, failed } = failuresIn(output);
    const known = expected[part] ?? [];
    const fresh = failed.filter((name) => !known.includes(name));
    const gone = known.filter((name) => !failed.includes(name));
    console.log(`${part}: ${ran - failed.length} of ${ran} scenarios pass`);
    if (fresh.length > 0) console.log(`  fail and are not expected to: ${fresh.join(", ")}`);
    if (gone.length > 0) console.log(`  pass: remove them from conformance-baseline.json: ${gone.join(", ")}`);
    if (ran === 0 || fresh.length > 0 || gone.length > 0) process.exitCode = 1;
  }
}
