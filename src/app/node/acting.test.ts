/**
 * Tools that act, in a whole node with real commands and a real server: a digest without a person, the end of a background command, where
 * commands run, and denials in other words.
 */
import { existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { makeDiskDirectory } from "../../../test/kit/disk-directory.ts";
import { needs } from "../../../test/kit/needs.ts";
import type { AgentRecord } from "../../core/agent/agent.ts";
import { OWNER } from "../../core/people/person.ts";
import type { ApprovalId } from "../../core/rights/approval.ts";
import { type ActingWorld, call, openActing } from "./acting.test-kit.ts";
import type { RookeryNode } from "./open-node.ts";

let world: ActingWorld;
let node: RookeryNode;
const say: ActingWorld["say"] = (text, on) => world.say(text, on);

beforeAll(async () => {
  world = await openActing({
    config: (port) => ({
      network: { allowPrivate: [`127.0.0.1:${port}`] },
      sandbox: { kind: "bwrap" },
      permissions: {
        allow: [
          { rule: "web(domain:127.0.0.1)", when: "untrusted" },
          "web(domain:127.0.0.1)",
          "exec(true)",
          "exec(echo *)",
          "exec(sleep *)",
        ],
        deny: [{ rule: "exec(git push *)", because: "releases are made by hand" }],
      },
    }),
  });
  node = world.node;
});
afterAll(() => world.close());

const DECIDER = { person: OWNER, surface: "test" } as const;

describe("without a person", () => {
  const digest = async (message: string) => {
    const job = await node.triggers.cron.add({
      ...{ name: "digest", schedule: { kind: "every", everyMs: 3_600_000 } },
      payload: { kind: "agentTurn", message: `The digest:\n${message}`, deliver: true, channel: "test", to: "olga" },
    });
    const { sent, asked } = world;
    sent.length = 0;
    asked.length = 0;
    await node.triggers.cron.run(job.id);
    await vi.waitFor(async () => expect((await node.triggers.cron.runs(job.id))[0]?.end).toBeDefined(), 60_000);
    await vi.waitFor(() => expect(sent.length).toBeGreaterThan(0), 60_000);
    return sent.map(({ payload }) => payload.text ?? "").join("\n");
  };

  it("a digest of web pages works with the right rules: it reads two pages and is delivered", {
    timeout: 120_000,
  }, async () => {
    const { page } = world;
    const text = await digest([call("web_fetch", { url: page }), call("web_fetch", { url: `${page}/2` })].join("\n"));
    expect(world.asked).toEqual(["/news", "/news/2"]);
    expect(text).toContain("Bees are back in the valley.");
  });

  it("what no rule allows is denied, because no one is there to ask", async () => {
    const text = await digest(
      [call("web_fetch", { url: world.page }), call("exec", { command: "touch made" })].join("\n"),
    );
    expect(text).toContain("no one is there to ask");
    expect(existsSync(join(world.paths.workspace, "made"))).toBe(false);
    expect(await node.ports.store.approvals({ limit: 10, states: ["pending"] })).toEqual([]);
  });
});

/** The messages that an agent got about ended processes. */
const told = async ({ id }: AgentRecord): Promise<readonly string[]> =>
  (await node.ports.store.messages(id, { limit: 200 }))
    .map(({ body }) => JSON.stringify(body))
    .filter((body) => body.includes("has ended with exit code 0"));

describe("a background command", needs("bwrap"), () => {
  it("wakes its agent when it has ended", async () => {
    const { agent } = await say(call("exec", { command: "true", background: true }));
    await vi.waitFor(async () => expect(await told(agent)).toHaveLength(1), 60_000);
    await node.agents.settled();
    await vi.waitFor(async () => {
      const [answered] = await node.ports.store.linesBack(agent.id, { limit: 1 });
      expect(answered?.line).toContain("answer to ");
      expect(answered?.line).toContain("has ended with exit code 0");
    }, 60_000);
  });
});

describe("where a command runs", () => {
  const hidden = makeDiskDirectory("rookery-outside-");
  writeFileSync(join(hidden, "seen"), "seen from the host");
  afterAll(() => rmSync(hidden, { recursive: true }));
  const nodeName = async (): Promise<string> => (await node.ports.store.nodes())[0]?.name ?? "";

  it.each([
    ["gateway", () => ({ execHost: "gateway", execSecurity: "full" }), "seen from the host"],
    [
      "this node",
      async () => ({ execHost: "node", execNode: await nodeName(), execSecurity: "full" }),
      "seen from the host",
    ],
    ["a node that is not known", () => ({ execHost: "node", execNode: "mars", execSecurity: "full" }), "mars"],
    ["elevated", () => ({ elevatedLevel: "full" }), "seen from the host"],
  ])("%s", (_, settings, expected) => isSeen(settings, expected));
  it("sandbox", needs("bwrap"), () => isSeen(() => ({}), "No such file"));

  async function isSeen(settings: () => object | Promise<object>, expected: string): Promise<void> {
    const { agent } = await say("hello");
    const none = { execHost: null, execNode: null, execSecurity: null, elevatedLevel: null };
    await node.agents.sessions.patch(agent.id, { ...none, ...(await settings()) } as never);
    await node.agents.settled();
    const { text } = await say(call("exec", { command: `cat ${hidden}/seen` }), "on");
    await node.agents.sessions.patch(agent.id, none as never);
    expect(text).toContain(expected);
    if (expected !== "seen from the host") expect(text).not.toContain("seen from the host");
  }
});

describe("a denial", () => {
  const PUSH = [
    "git push",
    "git  push origin main",
    "/usr/bin/git push",
    "GIT PUSH",
    "git -C . push",
    "git -c a=b push --force",
    "true && git push",
    "echo x; git push",
    "echo $(git push)",
    "sh -c 'git push'",
    "env git push",
    "g=git; $g push",
    "eval git push",
    "echo push | xargs git",
  ];
  it.each(PUSH)("is not got around by other words: %s", async (command) => {
    const { agent, text } = await say(call("exec", { command }));
    const [run] = await node.ports.store.runs(agent.id, { limit: 1 });
    const started = run?.body.calls.filter(({ state }) => state === "done" || state === "intended") ?? [];
    const results = text.match(/exit code/g) ?? [];
    expect([started.length === 0 || results.length === 0, results]).toEqual([true, []]);
    // Where the words are known, the model reads why.
    if (/^(?:\/usr\/bin\/)?git|&& git|; git/iu.test(command)) expect(text).toContain("releases are made by hand");
  });

  it("of a person holds: the same wish in other words is asked about anew for each message, and none happens", async () => {
    await say("hello");
    for (const command of ["touch pwned", "touch ./pwned", "touch  pwned", "cp /dev/null pwned"]) {
      await say(call("exec", { command }), "on");
      const [open] = await node.ports.store.approvals({ limit: 1, states: ["pending"] });
      expect(open?.tool).toBe("exec");
      await node.agents.approvals.decide(open?.id as ApprovalId, { approve: false, reason: "never" }, DECIDER);
      await node.agents.settled();
    }
    expect(existsSync(join(world.paths.workspace, "pwned"))).toBe(false);
  });
});

it("the message about the ended process came once: the keeper has looked again and again", needs("bwrap"), async () => {
  const { agent } = await say("hello", "on");
  expect(await told(agent)).toHaveLength(1);
});
