import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { AgentSeed } from "../../core/agent/agent.ts";
import type { SessionKey } from "../../core/ids.ts";
import { readTranscript } from "../../engine/context/transcript/read-transcript.ts";
import { cliHome, TERMINAL } from "./cli.test-kit.ts";

let seed: AgentSeed;
const home = cliHome({
  async setup({ make }) {
    seed = await make({ ...TERMINAL, threadId: "a/b" }, { sessionKey: "agent:main:main" as SessionKey });
  },
});
const { run } = home;

const waiting = () =>
  home.inStore(async (store) => (await store.waiting(seed.id, { limit: 9 })).map(({ body }) => body));

describe("rookery agents set", () => {
  it("posts the settings: numbers as numbers, and null for an empty value", async () => {
    const { code, out } = await run("agents", "set", "main", "label=x/y=z", "queueCap=5", "modelOverride=");
    expect([code, out]).toEqual([0, "Accepted. The agent applies it when it next runs.\n"]);
    const patch = { label: "x/y=z", queueCap: 5, modelOverride: null };
    expect(await waiting()).toEqual([{ kind: "setting", patch }]);
  });

  it.each([
    [["queueCap=0"], "queueCap: expected a whole number"],
    [["nonsense=1"], 'Unknown key "nonsense".'],
    [["queueCap"], '"queueCap" is not of the form field=value.'],
  ])("refuses %j and posts nothing", async (pairs, message) => {
    const { code, err } = await run("agents", "set", "main", ...pairs);
    expect(code).not.toBe(0);
    expect(err).toContain(message);
    expect(await waiting()).toEqual([]);
  });
});

describe("rookery agents back", () => {
  it("posts the request, or reports an unknown entry", async () => {
    expect((await run("agents", "back", "main", seed.leaf, "--summary", "nothing much")).code).toBe(0);
    expect(await waiting()).toEqual([{ kind: "branch", entryId: seed.leaf, summary: "nothing much" }]);
    expect((await run("agents", "back", "main", "e9")).err).toContain("is not part of the current session");
  });
});

describe("rookery sessions show --export", () => {
  it("writes the session into a file with its name, and never overwrites one", async () => {
    const directory = join(home.dir, "out");
    const { out, code } = await run("sessions", "show", "main", "--export", directory);
    expect(code).toBe(0);
    expect(readdirSync(directory)).toEqual([`${seed.sessionId}-topic-a%2Fb.jsonl`]);
    const file = out.trim();
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readTranscript(readFileSync(file, "utf8"))).toMatchObject({ version: 2, header: { id: seed.sessionId } });
    expect((await run("sessions", "show", "main", "--export", directory)).err).toContain(
      "already exists and was not changed",
    );
    expect((await run("sessions", "show", "main", "--session", "s", "--transcript", "2")).err).toContain(
      "has no session s",
    );
    expect((await run("sessions", "show", "main", "--session", "s")).err).toContain("--session needs");
  });
});
