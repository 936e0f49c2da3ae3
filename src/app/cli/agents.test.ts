import { readdirSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { AgentSeed } from "../../core/agent/agent.ts";
import { entryLine } from "../../core/history/entry.ts";
import type { EntryId } from "../../core/ids.ts";
import { seedAgent } from "../../engine/context/seed-agent.ts";
import { readTranscript } from "../../engine/context/transcript/read-transcript.ts";
import { AT, cliHome, ids, TERMINAL } from "./cli.test-kit.ts";
import { EXIT } from "./exit-code.ts";

const home = cliHome({ busy: true });
const { run, commit, make } = home;

describe("rookery agents tree", () => {
  it("draws which agent started which, with waiting messages and control characters replaced", async () => {
    const main = await make(TERMINAL);
    const dig = await make({ type: "subagent", id: "1", parentAgentId: main.id, name: "dig" });
    await make({ type: "subagent", id: "2", parentAgentId: dig.id, name: "deeper" });
    await make({ type: "subagent", id: "3", parentAgentId: main.id, name: "look\u001b[2J" });
    await make({ type: "heartbeat" });
    const message = { body: { kind: "user" as const, text: "hi" }, acceptedAt: AT };
    await commit([{ op: "message.post", to: { agentId: dig.id }, message }]);
    expect((await run("agents", "tree")).out).toBe(
      [
        "heartbeat [heartbeat] resting",
        "main [user] resting",
        "├─ dig (task of main) [subagent] waiting, 1 waiting",
        "│  └─ deeper (task of dig) [subagent] resting",
        "└─ look�[2J (task of main) [subagent] resting",
        "",
      ].join("\n"),
    );
    const shallow = (await run("agents", "tree", "main", "--depth", "1")).out;
    expect(shallow).toContain(`│  └─ … more: \`rookery agents tree ${dig.id.slice(0, 8)}\`\n`);
    expect(JSON.parse((await run("agents", "tree", "main", "--json")).out)).toMatchObject({
      roots: [
        {
          id: main.id,
          children: [
            { name: "dig (task of main)", waiting: 1, children: [{ name: "deeper (task of dig)" }] },
            { kind: "subagent" },
          ],
        },
      ],
      more: false,
    });
    expect((await run("agents", "tree", "--limit", "1")).out).toContain("There are more agents");
    expect(await run("agents", "tree", "unknown")).toMatchObject({ code: EXIT.failure, out: "" });
    expect((await run("agents", "tree", "--depth", "0")).err).toContain("--depth takes a whole number");
  });
});

describe("rookery agents", () => {
  it("lists agents beside a running node: name, kind, waiting messages, last activity", async () => {
    const main = await make(TERMINAL);
    await make({ type: "cron", id: "job-1", name: "the\u001b[2J report" });
    const message = { body: { kind: "user" as const, text: "hi" }, acceptedAt: AT };
    await commit([{ op: "message.post", to: { agentId: main.id }, message }]);
    const { code, out } = await run("agents");
    expect(code).toBe(EXIT.ok);
    expect(out.split("\n")).toEqual([
      expect.stringMatching(/^name +kind +waiting +last activity/),
      expect.stringMatching(/^main +conversation +1 +\d+ \w+ ago$/),
      expect.stringMatching(/^the�\[2J report \(schedule\) +schedule +0 +\d+ \w+ ago$/),
      "",
    ]);
    expect((await run("agents", "list")).out).toBe(out);
    const { items: agents } = JSON.parse((await run("agents", "--json")).out);
    expect(agents[0]).toEqual({
      id: main.id,
      kind: "user",
      name: "main",
      sessionKey: "agent:main:main",
      waiting: 1,
      running: false,
      lastActivityAt: AT,
    });
  });

  it("lists agents in pages", async () => {
    const made = [await make(TERMINAL), await make({ type: "heartbeat" }), await make({ type: "system", tag: "t" })];
    const first = JSON.parse((await run("agents", "--json", "--limit", "2")).out);
    expect(first.items.map(({ id }: { id: string }) => id)).toEqual([made[0]?.id, made[1]?.id]);
    expect(first.next).toBe(made[1]?.id);
    const rest = JSON.parse((await run("agents", "--json", "--limit", "2", "--after", first.next)).out);
    expect(rest).toEqual({ items: [expect.objectContaining({ id: made[2]?.id })], next: null });
    expect((await run("agents", "--limit", "1")).out).toContain(
      `To see more, run \`rookery agents --after ${made[0]?.id.slice(0, 8)} --home ${home.dir}\``,
    );
    expect((await run("agents", "--limit", "x")).code).toBe(EXIT.usage);
  });

  it.each(["main", "agent:main:main", "MAIN"])("shows one agent by %s", async (who) => {
    const { id } = await make(TERMINAL);
    const { out, code } = await run("agents", "show", who);
    expect(code).toBe(EXIT.ok);
    expect(out).toMatch(new RegExp(`^id +${id}$`, "m"));
    expect(out).toMatch(/^session key +agent:main:main$/m);
    expect(out).toMatch(/^descriptor +\{"type":"user","connector":"terminal"/m);
    expect(JSON.parse((await run("agents", "show", id, "--json")).out)).toMatchObject({
      id,
      sessionKey: "agent:main:main",
    });
  });

  it("reports an unknown agent, and an empty home", async () => {
    expect((await run("agents")).out).toBe("No agents.\n");
    const { code, err } = await run("agents", "show", "unknown");
    expect(code).toBe(EXIT.failure);
    expect(err).toContain('There is no agent "unknown".');
  });

  it("reads a home without a node, and does not change it", async () => {
    await make(TERMINAL);
    await home.release();
    const before = readdirSync(home.dir).filter((name) => !/-(?:wal|shm)$/.test(name));
    expect((await run("agents")).out).toContain("main  conversation");
    expect(readdirSync(home.dir).filter((name) => !/-(?:wal|shm)$/.test(name))).toEqual(before);
  });
});

describe("rookery sessions show", () => {
  const said = (id: string, parentId: string, role: string, more: object): string =>
    JSON.stringify({ type: "message", id, parentId, role, timestamp: AT, ...more });
  const call = { type: "toolCall", id: "t", name: "read", arguments: { path: "x" } };

  async function talk(): Promise<AgentSeed> {
    const seed = seedAgent(ids, TERMINAL, AT);
    const lines = [
      said("e2", seed.leaf, "user", { content: [{ type: "text", text: `Hello\u001b[31m\nthere ${"x".repeat(600)}` }] }),
      said("e3", "e2", "assistant", {
        content: [{ type: "thinking", thinking: "hm" }, call],
        stopReason: "tool_calls",
      }),
      said("e4", "e3", "tool", { content: [{ type: "text", text: "42" }], toolCallId: "t", toolName: "read" }),
      "{torn",
      entryLine({
        type: "reset",
        id: "e6" as EntryId,
        parentId: "e4" as EntryId,
        sessionId: seed.sessionId,
        timestamp: AT,
        message: "afresh",
      }),
      JSON.stringify({ type: "novelty", id: "e7", parentId: "e6" }),
    ];
    return make(TERMINAL, { ...seed, lines: [...seed.lines, ...lines], leaf: "e7" as EntryId });
  }

  it("shows the entries in order, bounded and without control characters", async () => {
    const seed = await talk();
    const { out, code } = await run("sessions", "show", "main");
    expect(code).toBe(EXIT.ok);
    const lines = out.trimEnd().split("\n");
    expect(lines.map((line) => line.slice(22).trim().split(/\s+/)[0])).toEqual([
      "session",
      "start",
      "user",
      "assistant",
      "tool",
      "broken",
      "reset",
      "novelty",
    ]);
    expect(lines[1]).toContain(`session ${seed.sessionId}`);
    expect(lines[2]).toContain("Hello�[31m there xxx");
    expect(lines[2]?.endsWith("…")).toBe(true);
    expect(lines[3]).toContain('(thinking) hm → read({"path":"x"})');
    expect(lines[6]).toContain(": afresh");
    expect((await run("sessions", "show", "main", "--full")).out).toContain("x".repeat(600));
    expect((await run("sessions", "show", "main", "--limit", "2")).out.trimEnd().split("\n")).toEqual(lines.slice(-2));
  });

  it("prints JSON for programs", async () => {
    await talk();
    const { items: all } = JSON.parse((await run("sessions", "show", "main", "--json")).out);
    expect(all[2]).toMatchObject({ position: 2, entry: { type: "message", id: "e2" } });
    expect(all[5]).toEqual({ position: 5, broken: "{torn" });
  });

  it.each(["2", "3"])("prints the session as a file of version %s", async (version) => {
    const seed = seedAgent(ids, TERMINAL, AT);
    const hi = said("e2", "x", "user", { content: [{ type: "text", text: "hi" }] });
    await make(TERMINAL, { ...seed, lines: [...seed.lines, hi], leaf: "e2" as EntryId });
    const { out, code } = await run("sessions", "show", "main", "--transcript", version);
    expect(code).toBe(EXIT.ok);
    const read = readTranscript(out);
    expect(read).toMatchObject({ version: Number(version), leaf: "e2", header: { id: seed.sessionId } });
    expect((await run("sessions", "show", "main", "--transcript", "4")).err).toContain("--transcript takes 2 or 3.");
  });
});
