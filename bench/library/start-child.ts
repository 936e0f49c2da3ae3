/** Runs in its own process: the time from `createRookery` to the first accepted message, on a new home. Prints milliseconds. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { createRookery, defineTool } from "../../src/index.ts";

const home = mkdtempSync(join(tmpdir(), "rookery-start-"));
const weather = defineTool({
  name: "weather",
  description: "Weather in a city",
  input: z.object({ city: z.string() }),
  execute: ({ city }) => `Sunny in ${city}`,
});
const begun = performance.now();
const cpu = process.cpuUsage();
const rookery = await createRookery({ home, model: "offline", tools: [weather] });
await rookery.agent("ann").send("Weather in Rome?");
const ms = performance.now() - begun;
const { user, system } = process.cpuUsage(cpu);
console.log(JSON.stringify({ ms, cpuMs: (user + system) / 1000 }));
await rookery.close();
rmSync(home, { recursive: true, force: true });
