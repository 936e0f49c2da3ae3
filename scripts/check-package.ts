/**
 * `npm run tool -- package`: builds and packs the package, checks it with publint and attw, installs the tarball in an empty project, and
 * there runs the command, a program of ten lines and a strict type check. On an older Node, if there is one, it must say why it does
 * not run. Prints sizes and times. `--bun` installs Bun too and runs an engine in it.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { median } from "../bench/statistics.ts";
import { packPackage } from "./pack-package.ts";

const ROOT = join(import.meta.dirname, "..");
const dir = mkdtempSync(join(tmpdir(), "rookery-package-"));
const project = join(dir, "project");
let failures = 0;
const STARTS = 7;
/** A goal, not a failure: other programs may use the machine. */
const MAX_START_MS = 250;

function run(name: string, command: string, args: readonly string[], cwd = project): string {
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd, encoding: "utf8" });
  const isOk = status === 0;
  console.log(`${isOk ? "ok    " : "FAILED"} ${name}`);
  if (!isOk) console.log(error?.message ?? `${stdout}\n${stderr}`);
  failures += isOk ? 0 : 1;
  return stdout;
}

const PROGRAM = `
import { createRookery, defineTool } from "rookery";
import { z } from "zod";
const weather = defineTool({ name: "weather", description: "Weather in a city", input: z.object({ city: z.string() }), execute: ({ city }) => \`Sunny in \${city}\` });
const started = performance.now();
const cpu = process.cpuUsage();
const rookery = await createRookery({ home: "./data", model: "offline", tools: [weather] });
const receipt = await rookery.agent("ann").send("Weather in Rome?");
const used = process.cpuUsage(cpu);
const ms = performance.now() - started;
console.log((await receipt.result()).text.length > 0 ? "answered" : "no answer");
let text = "";
for await (const event of rookery.agent("ann").stream("And tomorrow?")) if (event.type === "delta") text += event.text;
console.log(text.includes("tomorrow") ? "streamed" : "not streamed");
console.log(\`start \${ms} \${(used.user + used.system) / 1000}\`);
await rookery.close();
`;

const TYPES = `
import { createRookery, defineTool, type Rookery } from "rookery";
import { connectRookery } from "rookery/client";
import { buildAgentPeerSessionKey } from "rookery/compat";
import { virtualClock } from "rookery/testing";
import { z } from "zod";
const tool = defineTool({ name: "t", description: "d", input: z.object({ n: z.number() }), execute: ({ n }) => n.toFixed(2) });
const rookery: Rookery = await createRookery({ home: "memory", tools: [tool] });
const answer: { ok: boolean } = await rookery.agent("ann").ask("?", { output: z.object({ ok: z.boolean() }) });
connectRookery({ home: "./data" }).agent("ann");
console.log(answer.ok, buildAgentPeerSessionKey({ agentId: "main", channel: "x" }), virtualClock().now());
`;

/** An engine in Bun, mounted in its server, and the client in both of its forms. Throws if anything is missing. */
const BUN_PROGRAM = `
import { readFileSync } from "node:fs";
import { createRookery } from "rookery";
import { connectRookery } from "rookery/client";
const rookery = await createRookery({ home: "./bun-data", model: "offline" });
const server = Bun.serve({ port: 0, fetch: (request, bun) => rookery.fetch(request, { address: bun.requestIP(request)?.address }) });
const { status } = await fetch(new URL("/v1/models", server.url));
if (status !== 401) throw new Error("without a token: " + status);
const token = readFileSync("./bun-data/token", "utf8").trim();
for (const client of [connectRookery({ url: server.url.origin, token }), connectRookery({ home: "./bun-data" })]) {
  if ((await client.agent("ann").ask("what time is it")) === "") throw new Error("no answer");
  let text = "";
  for await (const event of client.agent("ann").stream("And tomorrow?")) if (event.type === "delta") text += event.text;
  if (!text.includes("tomorrow")) throw new Error("not streamed: " + text);
}
const { items } = await rookery.agent("ann").history();
if (items.length < 8) throw new Error("the history has " + items.length + " entries");
await server.stop(true);
// The next process finds what this one has stored, however it ends.
if (process.argv[2] === "die") process.kill(process.pid, "SIGKILL");
await rookery.close();
`;
const BUN = "bun@1.4.4";

try {
  const { filename, size } = packPackage(dir);
  const tarball = join(dir, filename);
  console.log(`${filename}: ${(size / 1024).toFixed(0)} KB`);
  run("publint", join(ROOT, "node_modules/.bin/publint"), [tarball, "--strict"], ROOT);
  run("attw", join(ROOT, "node_modules/.bin/attw"), [tarball, "--profile", "esm-only"], ROOT);
  mkdirSync(project);
  writeFileSync(join(project, "package.json"), '{ "type": "module", "private": true }\n');
  run("install", "npm", ["install", tarball, "zod", "typescript", "@types/node", "--no-audit", "--no-fund"]);
  run("npx rookery --version", "npx", ["--no-install", "rookery", "--version"]);
  writeFileSync(join(project, "program.js"), PROGRAM);
  run("ten lines", process.execPath, ["program.js"]);
  measureStart();
  writeFileSync(join(project, "types.ts"), TYPES);
  const flags = [
    "--strict",
    "--noEmit",
    "--module",
    "nodenext",
    "--target",
    "es2024",
    "--lib",
    "es2024,esnext.disposable",
  ];
  run("strict types", process.execPath, ["node_modules/typescript/bin/tsc", ...flags, "--types", "node", "types.ts"]);
  checkOldNode();
  if (process.argv.includes("--bun")) checkBun();
} finally {
  rmSync(dir, { recursive: true, force: true });
}
process.exitCode = failures === 0 ? 0 : 1;

/** From `createRookery` on a new home to the first accepted message, after the import: the median of several processes. */
function measureStart(): void {
  const runs = Array.from({ length: STARTS }, () => {
    rmSync(join(project, "data"), { recursive: true, force: true });
    const { stdout } = spawnSync(process.execPath, ["program.js"], { cwd: project, encoding: "utf8" });
    const [, ms = "", cpuMs = ""] = /^start (\S+) (\S+)$/m.exec(stdout) ?? [];
    return { ms: Number(ms), cpuMs: Number(cpuMs) };
  });
  const ms = median(runs.map((one) => one.ms));
  const isFast = ms <= MAX_START_MS;
  const cpu = median(runs.map(({ cpuMs }) => cpuMs)).toFixed(0);
  console.log(
    `${isFast ? "ok    " : "SLOW  "} first message accepted ${ms.toFixed(0)} ms after the import (goal ${MAX_START_MS} ms), ${cpu} ms of processor time; median of ${STARTS}`,
  );
}

/** Killed at its end, and then a second time on the same home. */
function checkBun(): void {
  run(`install ${BUN}`, "npm", ["install", BUN, "--no-audit", "--no-fund"]);
  const bun = join(project, "node_modules/.bin/bun");
  writeFileSync(join(project, "bun-program.ts"), BUN_PROGRAM);
  const { signal } = spawnSync(bun, ["bun-program.ts", "die"], { cwd: project });
  console.log(`${signal === "SIGKILL" ? "ok    " : "FAILED"} an engine in Bun, killed at its end`);
  failures += signal === "SIGKILL" ? 0 : 1;
  run("an engine in Bun on the same home", bun, ["bun-program.ts"]);
}

/** The command and the library each say in one sentence which Node they need. */
function checkOldNode(): void {
  const old = ["/usr/bin/node", "/usr/local/bin/node"].find((path) => {
    const { stdout = "" } = spawnSync(path, ["--version"], { encoding: "utf8" });
    return Number.parseInt(stdout.slice(1), 10) < 24;
  });
  if (old === undefined) {
    console.log("–      old Node: there is none on this machine");
    return;
  }
  const version = execFileSync(old, ["--version"], { encoding: "utf8" }).trim();
  for (const args of [["node_modules/rookery/dist/bin.js", "--version"], ["program.js"]]) {
    const { stderr } = spawnSync(old, args, { cwd: project, encoding: "utf8" });
    const isClear = /Rookery needs Node 24/.test(stderr);
    console.log(`${isClear ? "ok    " : "FAILED"} ${args[0]} on ${version}: ${stderr.trim().split("\n")[0]}`);
    failures += isClear ? 0 : 1;
  }
}
