import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parseConfig } from "../../config/parse-config.ts";
import { homePaths, sharedBeforeFile } from "../../config/paths.ts";
import { openNode } from "../node/open-node.ts";
import { cliHome, TERMINAL } from "./cli.test-kit.ts";

const home = cliHome();

/** Starts a node and returns its warnings. */
async function start(): Promise<string> {
  let warnings = "";
  const { config } = parseConfig({ text: "{}", file: "rookery.json5", env: {} });
  const errors = { write: (text: string) => (warnings += text) };
  const node = await openNode({ paths: homePaths(home.dir), config, connectors: [], errors, onFatal() {} });
  await node.close();
  return warnings;
}

describe("rookery doctor", () => {
  it("lists the tokens that belong to no one, and not the others", async () => {
    await home.run("tokens", "mint", "shop");
    expect((await home.run("doctor")).code).toBe(0);
    const file = homePaths(home.dir).tokens;
    const stored = JSON.parse(readFileSync(file, "utf8")) as { tokens: Record<string, unknown>[] };
    const [{ kind: _, app: __, ...old } = {}] = stored.tokens;
    writeFileSync(file, JSON.stringify({ ...stored, tokens: [old] }), { mode: 0o600 });
    const { code, out } = await home.run("doctor");
    expect(code).toBe(1);
    expect(out).toContain(`${old.id} (shop)`);
    expect((await home.run("tokens")).out).toContain("old: its users share their names with all old tokens");
    rmSync(file);
  });

  it("lists what people shared in a home of an earlier version, and each start warns until it is checked", async () => {
    const paths = homePaths(home.dir);
    await home.make(TERMINAL);
    await home.make({ type: "user", connector: "telegram", userId: "42", channelId: "42" });
    mkdirSync(paths.workspace);
    writeFileSync(join(paths.workspace, "MEMORY.md"), "Olga likes tea.");
    expect(await home.run("doctor")).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^Commands of agents run in .*\nNothing to check\.\n$/),
    });
    for (const _ of [1, 2]) expect(await start()).toContain("Other people's agents used the owner's workspace");
    const { code, out } = await home.run("doctor");
    expect(code).toBe(1);
    expect(out).toContain('- "telegram:42"');
    expect(out).toContain('- "workspace/MEMORY.md"');
    expect(out).toContain(`then delete ${sharedBeforeFile(paths)}.`);
    expect(JSON.parse((await home.run("doctor", "--json")).out).items).toHaveLength(1);
    expect(readFileSync(join(paths.workspace, "MEMORY.md"), "utf8")).toBe("Olga likes tea.");
    rmSync(sharedBeforeFile(paths));
    expect(await start()).not.toContain("Other people");
    expect((await home.run("doctor")).code).toBe(0);
  });
});
