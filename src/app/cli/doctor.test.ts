import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { needs } from "../../../test/kit/needs.ts";
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

/** A machine without a sandbox has a problem of its own. */
describe("rookery doctor", needs("bwrap"), () => {
  it("lists the tokens that belong to no one, and not the others", async () => {
    await home.run("people", "tokens", "add", "shop");
    expect((await home.run("doctor")).code).toBe(0);
    const file = homePaths(home.dir).tokens;
    const stored = JSON.parse(readFileSync(file, "utf8")) as { tokens: Record<string, unknown>[] };
    const [{ kind: _, app: __, ...old } = {}] = stored.tokens;
    writeFileSync(file, JSON.stringify({ ...stored, tokens: [old] }), { mode: 0o600 });
    const { code, out } = await home.run("doctor");
    expect(code).toBe(1);
    expect(out).toContain(`${old.id} (shop)`);
    expect((await home.run("people", "tokens")).out).toContain("old: its users share their names with all old tokens");
    rmSync(file);
  });

  it("lists what people shared in a home of an earlier version, and each start warns until it is checked", async () => {
    const paths = homePaths(home.dir);
    await home.make(TERMINAL);
    await home.make({ type: "user", connector: "telegram", userId: "42", channelId: "42" });
    mkdirSync(paths.workspace, { mode: 0o700 });
    writeFileSync(join(paths.workspace, "MEMORY.md"), "Olga likes tea.");
    expect(await home.run("doctor")).toMatchObject({
      code: 0,
      out: expect.stringMatching(/✓ sandbox +Commands of agents run in /),
    });
    const { out: listed } = await home.run("doctor");
    expect(listed).toMatch(
      /✓ sandbox-attempts +In the sandbox a command cannot reach a port of this machine; .*\/proc\/sys/,
    );
    if (process.getuid?.() === 0) expect(listed).toMatch(/! commands-user +Commands of agents run as root/);
    for (const _ of [1, 2]) expect(await start()).toContain("Other people's agents used the owner's workspace");
    const { code, out } = await home.run("doctor");
    expect(code).toBe(1);
    expect(out).toContain('- "telegram:42"');
    expect(out).toContain('- "workspace/MEMORY.md"');
    expect(out).toContain(`then delete ${sharedBeforeFile(paths)}.`);
    const { items, problems } = JSON.parse((await home.run("doctor", "--json")).out);
    expect(problems).toBe(1);
    expect(items.filter(({ status }: { status: string }) => status === "problem")).toMatchObject([
      { check: "shared-workspace" },
    ]);
    expect(readFileSync(join(paths.workspace, "MEMORY.md"), "utf8")).toBe("Olga likes tea.");
    rmSync(sharedBeforeFile(paths));
    expect(await start()).not.toContain("Other people");
    expect((await home.run("doctor")).code).toBe(0);
  });

  it("works without a database and with a broken configuration, and names the problem", async () => {
    writeFileSync(homePaths(home.dir).config, "{ gateway: { port: 'x' } }", { mode: 0o600 });
    const { code, out } = await home.run("doctor");
    expect(code).toBe(1);
    expect(out).toMatch(/✗ configuration +.*gateway\.port: expected a whole number/);
    expect(out).toMatch(/– clock +Not checked: the configuration has errors\./);
    expect(out).toContain("1 problem, 0 notices.");
  });

  it("names an unreadable database, and --fix rebuilds it and keeps the broken one", async () => {
    const paths = homePaths(home.dir);
    await start();
    writeFileSync(paths.database, "this is not a database, and it is long enough to look like one".repeat(20));
    const { code, out } = await home.run("doctor", "--quiet");
    expect(code).toBe(1);
    expect(out).toContain("rookery engine repair");
    const fixed = await home.run("doctor", "--fix");
    expect(fixed.out).toContain("Rebuilt the database");
    expect(fixed.code).toBe(0);
    expect(readdirSync(home.dir).some((name) => name.includes("broken") || name.includes("aside"))).toBe(true);
  });

  it("takes the access of other users away with --fix", async () => {
    const paths = homePaths(home.dir);
    await start();
    chmodSync(paths.agents, 0o755);
    const found = JSON.parse((await home.run("doctor", "--json")).out) as {
      items: { check: string; fixable: boolean }[];
    };
    expect(found.items).toContainEqual(expect.objectContaining({ check: "permissions", fixable: true }));
    const { out, code } = await home.run("doctor", "--fix");
    expect(out).toContain(`${paths.agents} is readable only for you now.`);
    expect(code).toBe(0);
    expect(statSync(paths.agents).mode & 0o777).toBe(0o700);
  });
});
