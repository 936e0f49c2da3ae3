/** `kill -9` between the effect of an MCP tool and its record (L4): what is safe is repeated, anything else is reported as unknown. */
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { afterAll, expect, it } from "vitest";
import { systemClock } from "../../src/adapters/system/system-clock.ts";
import { nodeMcp } from "../../src/app/node/node-mcp.ts";
import { configSchema } from "../../src/config/config-schema.ts";
import { homePaths } from "../../src/config/paths.ts";
import { startVictim, type Victim } from "../crash/victim.ts";
import { makeDiskDirectory } from "../kit/disk-directory.ts";
import { KILLED_TOOLS, killedConfig, killedLog } from "./killed-config.ts";

const home = makeDiskDirectory("rookery-mcp-killed-");
/** Ended also if the test fails before. */
const victims: Victim[] = [];
afterAll(async () => {
  await Promise.all(victims.map((victim) => victim.kill()));
  rmSync(home, { recursive: true, force: true });
});

const log = killedLog(home);
const effects = (): readonly string[] => (existsSync(log) ? readFileSync(log, "utf8").trim().split("\n").sort() : []);

it("repeats a safe call after a crash, and says of any other that its outcome is unknown", async () => {
  const config = configSchema.parse(killedConfig(home));
  const ports = { clock: systemClock, log: { warn() {}, info() {} }, store: { fact: async () => undefined } };
  const mcp = nodeMcp({
    settings: { current: config },
    paths: homePaths(home),
    ports: ports as never,
    env: process.env,
  });
  await Promise.all([mcp.servers.pin("once"), mcp.servers.pin("repeated")]);
  await mcp.close();

  const script = new URL("./killed-engine.ts", import.meta.url);
  const started = (args: readonly string[], onLine: (line: string) => void): Victim => {
    const victim = startVictim(script, [home, ...args], onLine);
    victims.push(victim);
    return victim;
  };
  const killed = started(KILLED_TOOLS, () => {});
  await expect.poll(() => killed.diedAlone() ?? effects(), { timeout: 60_000 }).toEqual(KILLED_TOOLS);
  await killed.kill();

  writeFileSync(`${log}.go`, "");
  const lines: string[] = [];
  const last = started([], (line) => lines.push(line));
  await last.over();
  expect(lines.at(-1)).toBe("over");
  const history = lines.join("\n");
  expect(history).toContain("Outcome unknown");
  expect(history).toContain("held mcp__repeated__hold_appended");
  expect(history).not.toContain("held mcp__once");
  expect(effects()).toEqual([KILLED_TOOLS[0], KILLED_TOOLS[1], KILLED_TOOLS[1]]);
});
