/** `rookery runs replay`: what a run did, going on from one of its steps, and a file for a bug report. */
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runCommand } from "./cli.test-kit.ts";
import { EXIT } from "./exit-code.ts";

/** Every place a secret comes from; none of them looks like one. */
const SECRETS = {
  environment: "quiet-lake-at-dawn",
  configured: "seven green bottles",
  variable: "under the old bridge",
  stored: "plain-word-of-openai",
  login: "refresh-me-never-again",
};
const env = { MY_API_KEY: SECRETS.environment, BRIDGE: SECRETS.variable };
const CONFIG = {
  models: {
    default: "offline",
    providers: {
      a: {
        api: "openai-completions",
        baseUrl: "http://127.0.0.1:9",
        apiKey: SECRETS.configured,
        models: [{ id: "x" }],
      },
      b: {
        api: "openai-completions",
        baseUrl: "http://127.0.0.1:9",
        apiKey: { env: "BRIDGE" },
        models: [{ id: "x" }],
      },
    },
  },
};

let home: string;
let run: string;
const rookery = (...argv: readonly string[]) => runCommand([...argv, "--home", home], { env });
const json = async (...argv: readonly string[]) => {
  const { out, err } = await rookery(...argv, "--json");
  expect(out, err).not.toBe("");
  return JSON.parse(out);
};

beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), "rookery-replay-"));
  writeFileSync(join(home, "rookery.json5"), JSON.stringify(CONFIG));
  writeFileSync(join(home, "auth.json"), JSON.stringify({ openai: { default: SECRETS.stored } }), { mode: 0o600 });
  const login = { openrouter: { default: { access: "a", refresh: SECRETS.login, expires: 1 } } };
  writeFileSync(join(home, "logins.json"), JSON.stringify(login), { mode: 0o600 });
  await rookery("send", `write ${Object.values(SECRETS).join(" / ")} to notes.txt`);
  ({
    items: [{ id: run }],
  } = await json("runs", "list", "main"));
});
afterAll(() => rmSync(home, { recursive: true, force: true }));

describe("rookery runs replay", () => {
  it("shows what the model saw by part with tokens, each call with its result, and when it was committed", async () => {
    const { out, code } = await rookery("runs", "replay", run);
    expect(code).toBe(EXIT.ok);
    expect(out).toMatch(/The model saw about \d+ tokens:\n +\d+ {2}\w+/);
    expect(out).toMatch(/ +1 +[+-]\d+\.\d s +user +write quiet-lake/);
    expect(out).toMatch(/→ write\(\{.*notes\.txt/);
    const { entries, context } = await json("runs", "replay", run);
    expect(entries.map(({ step }: { step: number }) => step)).toEqual(entries.map((_: unknown, n: number) => n + 1));
    expect(context.length).toBeGreaterThan(0);
    const one = await rookery("runs", "replay", run, "--at", "1");
    expect(one.out.trim().split("\n")).toHaveLength(1);
    expect((await rookery("runs", "replay", run, "--at", "99")).out).toBe("There is no such step.\n");
  });

  it("writes one file that contains everything and no secret, and never another one over it", async () => {
    const file = join(home, "bug.json");
    const { out, code } = await rookery("runs", "replay", run, "--export", file);
    expect([code, out]).toEqual([EXIT.ok, expect.stringContaining("masked")]);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const text = readFileSync(file, "utf8");
    for (const secret of Object.values(SECRETS)) expect(text).not.toContain(secret);
    const exported = JSON.parse(text);
    expect(exported).toMatchObject({
      format: "rookery-run",
      run: { id: run },
      config: { models: { default: "offline" } },
    });
    expect(JSON.stringify(exported.entries)).toContain("write *** / ***");
    expect(exported.context.length).toBeGreaterThan(0);
    const again = await rookery("runs", "replay", run, "--export", file);
    expect([again.code, again.err]).toEqual([EXIT.usage, expect.stringContaining("exists already")]);
    expect(readFileSync(file, "utf8")).toBe(text);
  });

  it("lets the conversation go on from a step, and keeps the later ones as a branch", async () => {
    const before = (await json("sessions", "show", "main", "--limit", "100")).items.length;
    const { entries } = await json("runs", "replay", run);
    const from = entries[0].entry.id as string;
    const forked = await json("runs", "replay", run, "--at", "1", "--fork");
    expect(forked.entryId).toBe(from);
    await rookery("send", "what did I say?");
    const { items } = await json("sessions", "show", "main", "--limit", "100");
    const added = items.slice(before).map(({ entry }: { entry: object }) => entry) as {
      parentId?: string;
      type: string;
    }[];
    expect(added[0]?.parentId).toBe(from);
    expect(items.slice(0, before)).toHaveLength(before);
    const refused = await rookery("runs", "replay", run, "--at", "99", "--fork");
    expect([refused.code, refused.err]).toEqual([EXIT.usage, expect.stringContaining(`${entries.length} steps`)]);
    const without = await rookery("runs", "replay", run, "--fork");
    expect([without.code, without.err]).toEqual([EXIT.usage, expect.stringContaining("--at")]);
  });
});
