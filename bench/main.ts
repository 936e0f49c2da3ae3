/**
 * `npm run bench -- NAME [--json] [--gate]`: measures one part of the system and compares it with its goals.
 * `npm run bench -- compare OLD NEW`: compares two commits.
 */
import { type Bench, missed, printReport } from "./report.ts";

const BENCHES: Readonly<Record<string, () => Promise<Bench>>> = {
  store: async () => (await import("./store.ts")).storeBench,
  engine: async () => (await import("./engine.ts")).engineBench,
  children: async () => (await import("./children.ts")).childrenBench,
  queue: async () => (await import("./queue.ts")).queueBench,
  triggers: async () => (await import("./triggers.ts")).triggersBench,
  model: async () => (await import("./model.ts")).modelBench,
  front: async () => (await import("./front.ts")).frontBench,
  context: async () => (await import("./context.ts")).contextBench,
  restore: async () => (await import("./restore.ts")).restoreBench,
  library: async () => (await import("./library.ts")).libraryBench,
  terminal: async () => (await import("./terminal.ts")).terminalBench,
  web: async () => (await import("./web.ts")).webBench,
  tools: async () => (await import("./tools.ts")).toolsBench,
  memory: async () => (await import("./memory.ts")).memoryBench,
  cli: async () => (await import("./cli.ts")).cliBench,
  scale: async () => (await import("./scale.ts")).scaleBench,
};

const args = process.argv.slice(2);
const name = args.find((arg) => !arg.startsWith("--"));
const load = name === undefined ? undefined : BENCHES[name];

if (name === "compare") {
  const { compareCommand } = await import("./compare.ts");
  process.exitCode = await compareCommand(args.slice(args.indexOf(name) + 1));
} else if (!load) {
  if (name !== undefined) console.error(`There is no bench named ${name}.`);
  console.log("Usage: npm run bench -- NAME [--json] [--gate]\n       npm run bench -- compare OLD NEW\n\nBenches:");
  for (const [known, loadKnown] of Object.entries(BENCHES)) console.log(`  ${known}  ${(await loadKnown()).about}`);
  process.exitCode = name === undefined ? 0 : 2;
} else {
  const json = args.includes("--json");
  const bench = await load();
  const report = await bench.run((text) => {
    if (!json) console.log(text);
  });
  if (json) console.log(JSON.stringify(report, null, 2));
  else printReport(report);
  if (args.includes("--gate") && missed(report).length > 0) process.exitCode = 1;
}
