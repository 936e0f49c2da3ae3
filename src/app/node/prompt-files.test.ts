/**
 * Prompt files and the configuration change only through a reviewed change with undo. Everything else is allowed here: rules allow every
 * write, command and server, and nothing is asked because of untrusted text. Each way of writing that an agent has is tried against each
 * of them, and nobody says yes.
 */
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it, test, vi } from "vitest";
import { needs } from "../../../test/kit/needs.ts";
import type { AgentRecord } from "../../core/agent/agent.ts";
import type { AgentId } from "../../core/ids.ts";
import { OWNER } from "../../core/people/person.ts";
import { type ActingWorld, call, openActing } from "./acting.test-kit.ts";

const REPOSITORY = fileURLToPath(new URL("../../..", import.meta.url));
/** Prompt files that exist, and such that do not. */
const FILES = [
  ...["SOUL.md", "cron/daily/TASK.md", "agents/clerk/SOUL.md", "lab/.git/hooks/pre-commit", ".git/hooks/pre-commit"],
  ...["AGENTS.md", "TOOLS.md", "USER.md", "IDENTITY.md", "BOOTSTRAP.md", "TASK.md", "heartbeat/TASK.md"],
  ...["agents/clerk/AGENTS.md", "agents/clerk/TOOLS.md"],
];
const CONFIG = '{ owner: { accounts: ["test:olga"] } }';

let world: ActingWorld;
beforeAll(async () => {
  world = await openActing({
    config: () => ({
      sandbox: { kind: "bwrap" },
      profiles: { main: { exec: { security: "full" } } },
      permissions: { allow: ["write(**)", "exec", "mcp__files", "memory_write"], untrusted: "off" },
      mcp: {
        servers: {
          files: {
            command: process.execPath,
            args: [join(REPOSITORY, "test/mcp/file-server.ts")],
            read: [REPOSITORY],
            write: ["workspace"],
          },
        },
      },
    }),
  });
  const { workspace, config } = world.paths;
  // Before the first run: what a person writes by hand while the server lives would be set aside.
  for (const name of ["cron/daily", "agents/clerk", ".git/hooks", "notes", "memory"])
    mkdirSync(join(workspace, name), { recursive: true });
  for (const name of ["SOUL.md", "cron/daily/TASK.md", "agents/clerk/SOUL.md"])
    writeFileSync(join(workspace, name), "kind\n");
  writeFileSync(join(workspace, "memory/old.md"), "old\n");
  writeFileSync(config, CONFIG);
  const clerk = { name: "clerk", description: "files", systemPrompt: "You file.", workspaceDir: "agents/clerk" };
  await world.say(call("create_permanent_agent", clerk));
  await world.approveAll();
  await vi.waitFor(
    async () => expect((await world.say(call("mcp__files__put", at("notes/x.txt")))).text).toContain("wrote"),
    60_000,
  );
});
afterAll(() => world.close());

const at = (path: string) => ({ path: join(world.paths.workspace, path), text: "evil\n" });

/** The text of each file that nobody may change, and what it is; undefined if it is missing. */
function snapshot(): Readonly<Record<string, string | undefined>> {
  const { workspace, config } = world.paths;
  const read = (path: string): string | undefined =>
    existsSync(path) && !lstatSync(path).isSymbolicLink() ? readFileSync(path, "utf8") : undefined;
  return { ...Object.fromEntries(FILES.map((name) => [name, read(join(workspace, name))])), config: read(config) };
}

/** In a shell of its own: the gate cannot see what the line does, and a rule allows all of them. */
const sh = (line: string) => (): string => call("exec", { command: ["bash", "-c", line] });
const calls =
  (name: string, ...all: readonly object[]) =>
  (): string =>
    all.map((given) => call(name, given)).join("\n");
const patch = (...lines: readonly string[]) => ({ patch: ["*** Begin Patch", ...lines, "*** End Patch"].join("\n") });

const WAYS: readonly (readonly [string, () => string])[] = [
  [
    "write",
    calls(
      "write",
      ...["SOUL.md", "./SOUL.md", "notes/../SOUL.md", "AGENTS.md"].map((path) => ({ path, content: "evil" })),
    ),
  ],
  [
    "write in another spelling",
    calls(
      "write",
      ...["SOUL.md.", "SOUL.md ", "ＳＯＵＬ.md", "CRON/x/TASK.md"].map((path) => ({ path, content: "evil" })),
    ),
  ],
  [
    "write into directories of tasks",
    calls("write", { path: "cron/daily/TASK.md", content: "evil" }, { path: "heartbeat/TASK.md", content: "evil" }),
  ],
  [
    "write of another agent's prompt",
    calls(
      "write",
      { path: "agents/clerk/SOUL.md", content: "evil" },
      { path: "agents/clerk/AGENTS.md", content: "evil" },
    ),
  ],
  [
    "write of the configuration",
    () =>
      [join(world.paths.home, "rookery.json5"), "../rookery.json5"]
        .map((path) => call("write", { path, content: "evil" }))
        .join("\n"),
  ],
  [
    "edit",
    calls(
      "edit",
      { path: "SOUL.md", oldText: "kind", newText: "evil" },
      { path: "agents/clerk/SOUL.md", oldText: "kind", newText: "evil" },
    ),
  ],
  ["apply_patch that changes", calls("apply_patch", patch("*** Update File: SOUL.md", "@@", "-kind", "+evil"))],
  ["apply_patch that adds", calls("apply_patch", patch("*** Add File: TOOLS.md", "+evil"))],
  [
    "apply_patch that moves",
    calls("apply_patch", patch("*** Update File: notes/x.txt", "*** Move to: USER.md", "@@", "-evil", "+evil")),
  ],
  ["apply_patch that removes", calls("apply_patch", patch("*** Delete File: SOUL.md"))],
  [
    "a link to a file, then write",
    () =>
      [sh("ln -sf ../SOUL.md notes/link.md")(), call("write", { path: "notes/link.md", content: "evil" })].join("\n"),
  ],
  [
    "a link to the directory, then write",
    () =>
      [
        sh("ln -sfn .. notes/up")(),
        call("write", { path: "notes/up/SOUL.md", content: "evil" }),
        call("write", { path: "notes/up/AGENTS.md", content: "evil" }),
      ].join("\n"),
  ],
  [
    "a hard link, then write",
    () =>
      [
        sh("ln -f SOUL.md notes/hard.md; ln -f agents/clerk/SOUL.md notes/hard.md")(),
        call("write", { path: "notes/hard.md", content: "evil" }),
      ].join("\n"),
  ],
  [
    "a line that the gate reads",
    calls("exec", { command: "echo evil > SOUL.md" }, { command: "true && cp notes/x.txt SOUL.md > AGENTS.md" }),
  ],
  [
    "a command",
    sh(
      "echo evil > SOUL.md; rm -f SOUL.md; mv SOUL.md x; cp /dev/null SOUL.md; sed -i s/kind/evil/ SOUL.md; truncate -s0 SOUL.md",
    ),
  ],
  [
    "a command that makes files",
    sh(
      "for f in AGENTS.md TOOLS.md USER.md IDENTITY.md BOOTSTRAP.md TASK.md agents/clerk/AGENTS.md; do echo evil > $f; done; mkdir -p heartbeat; echo evil > heartbeat/TASK.md",
    ),
  ],
  [
    "a command over a hard link",
    sh("ln SOUL.md h; echo evil > h; ln agents/clerk/SOUL.md h2; echo evil > h2; rm -f h h2"),
  ],
  ["a command over links", sh("ln -s SOUL.md l; echo evil > l; ln -s . d; echo evil > d/SOUL.md; rm -f l d")],
  ["a command that puts a link in place", sh("ln -sf notes/x.txt AGENTS.md; ln -sfn notes heartbeat")],
  [
    "a command that replaces such a link by a file",
    sh("rm -f AGENTS.md heartbeat; echo evil > AGENTS.md; mkdir heartbeat; echo evil > heartbeat/TASK.md"),
  ],
  [
    "a command that renames the directory",
    sh("mv agents agents2; mkdir -p agents/clerk; echo evil > agents/clerk/SOUL.md"),
  ],
  [
    "a command that renames the inner directory",
    sh("mv agents/clerk agents/clerk2; mkdir agents/clerk; echo evil > agents/clerk/SOUL.md"),
  ],
  [
    "a command that renames the tasks",
    sh("mv cron cron2; mkdir -p cron/daily; echo evil > cron/daily/TASK.md; mv cron/daily cron/x"),
  ],
  [
    "a command that renames the hooks of Git",
    sh("mv .git g; mkdir -p .git/hooks; echo evil > .git/hooks/pre-commit; echo evil > .git/hooks/pre-push"),
  ],
  [
    "a command that renames the workspace",
    sh("cd ..; mv workspace w; mkdir workspace; echo evil > workspace/SOUL.md; echo evil > rookery.json5; ls -la"),
  ],
  [
    "a command as a list of words",
    calls("exec", { command: ["tee", "SOUL.md"] }, { command: ["cp", "notes/x.txt", "SOUL.md"] }),
  ],
  [
    "memory_write",
    calls(
      "memory_write",
      ...["SOUL.md", "memory/../SOUL.md", "memory/../AGENTS.md", "../rookery.json5"].map((note) => ({
        note,
        file: note,
        path: note,
        text: "evil",
      })),
    ),
  ],
  [
    "a link in the notes, then memory_write",
    () => [sh("ln -sf ../SOUL.md notes/n.md")(), call("memory_write", { note: "notes/n.md", text: "evil" })].join("\n"),
  ],
  [
    "an MCP server",
    () =>
      ["SOUL.md", "agents/clerk/SOUL.md", "cron/daily/TASK.md", "../rookery.json5"]
        .map((path) => call("mcp__files__put", at(path)))
        .join("\n"),
  ],
  [
    "an MCP server that appends",
    () => ["SOUL.md", "agents/clerk/SOUL.md"].map((path) => call("mcp__files__append", at(path))).join("\n"),
  ],
  [
    "an MCP server that makes files",
    () =>
      ["AGENTS.md", "heartbeat/TASK.md", "agents/clerk/AGENTS.md", "agents/clerk/TOOLS.md"]
        .map((path) => call("mcp__files__put", at(path)))
        .join("\n"),
  ],
  [
    "an MCP server that renames",
    () =>
      [
        ["agents", "agents3"],
        ["agents/clerk", "agents/c3"],
        ["SOUL.md", "s3"],
        ["notes/x.txt", "SOUL.md"],
        ["notes/x.txt", "TOOLS.md"],
      ]
        .map(([from = "", to = ""]) => call("mcp__files__rename", { from: at(from).path, to: at(to).path }))
        .join("\n"),
  ],
  [
    "send_file and web_fetch, which write nothing",
    () =>
      [
        call("send_file", { path: "SOUL.md" }),
        call("web_fetch", { url: world.page, path: "SOUL.md", output: "AGENTS.md" }),
      ].join("\n"),
  ],
];

test.each(WAYS)("%s changes no prompt file and no configuration", needs("bwrap"), async (_, lines) => {
  const before = snapshot();
  await world.say(lines());
  // Each question shows a difference to a person, who says no.
  for (let open = 0; open < 12; open++) {
    const [question] = await world.node.ports.store.approvals({ limit: 1, states: ["pending"] });
    if (!question) break;
    await world.node.agents.approvals.decide(question.id, { approve: false }, { person: OWNER, surface: "test" });
    await world.node.agents.settled();
  }
  expect(snapshot()).toEqual(before);
  expect(before.config).toBe(CONFIG);
  expect(before["SOUL.md"]).toBe("kind\n");
});

/** Starts a command in the background. Returns when it has written this file. */
async function inBackground(line: string, isReady: string): Promise<{ agent: AgentRecord; stop(): Promise<void> }> {
  const { agent } = await world.say(call("exec", { command: ["bash", "-c", line], background: true }));
  const id = (await world.node.ports.store.agent(agent.id))?.state.processes?.at(-1)?.id;
  await vi.waitFor(() => expect(existsSync(join(world.paths.workspace, isReady))).toBe(true), 60_000);
  rmSync(join(world.paths.workspace, isReady));
  return {
    agent,
    async stop() {
      expect((await world.say(call("process", { action: "stop", id }), "on")).text).toContain("Stopped");
    },
  };
}

/** Puts a whole file there, so that none is set aside that is only half written. */
const puts = (path: string): string => `echo wicked > notes/whole; mv -f notes/whole ${path}`;

/** What the history of an agent says at its end. */
const toldOf = async (agent: AgentId): Promise<string> =>
  (await world.node.ports.store.linesBack(agent, { limit: 20 })).map(({ line }) => line).join("\n");

/** The prompt of a new run. */
async function promptNow(): Promise<string> {
  world.prompts.length = 0;
  await world.say("What do you see?");
  return world.prompts.map((prompt) => (prompt as { readonly system: string }).system).join("\n");
}

/** The prompt of a permanent agent's run. */
async function promptOf(name: string): Promise<string> {
  const found = await world.node.ports.store.agentsOfKind("permanent", { limit: 10 });
  const agent = found.find(({ descriptor }) => descriptor.type === "permanent" && descriptor.name === name);
  if (!agent) throw new Error(`No agent ${name}.`);
  world.prompts.length = 0;
  await world.node.agents.post({ to: { agentId: agent.id }, body: { kind: "user", text: "Who are you?" } });
  await world.node.agents.settled();
  return world.prompts.map((prompt) => (prompt as { readonly system: string }).system).join("\n");
}

/** What was set aside under this name. */
const asideOf = (name: string): string => {
  const path = join(world.paths.workspace, `${name}.proposed`);
  return existsSync(path) ? readFileSync(path, "utf8") : "";
};

const clearAside = (): void => {
  const { workspace } = world.paths;
  for (const name of readdirSync(workspace))
    if (name.includes(".proposed")) rmSync(join(workspace, name), { recursive: true });
};

it(
  "an MCP server that writes between its calls changes none: no prompt has it, and its end sets it aside",
  needs("bwrap"),
  async () => {
    clearAside();
    const before = snapshot();
    await world.say(call("mcp__files__keep", { ...at("TOOLS.md"), text: "wicked\n" }));
    await vi.waitFor(() => expect(snapshot()["TOOLS.md"]).toBe("wicked\n"), 60_000);
    expect(await promptNow()).not.toContain("wicked");
    // It starts again, because a file was made that it must not write.
    expect((await world.say(call("mcp__files__put", at("notes/x.txt")))).text).toContain("wrote");
    expect(snapshot()).toEqual(before);
    expect(asideOf("TOOLS.md")).toBe("wicked\n");
  },
);

describe("a command in the background", needs("bwrap"), () => {
  it("makes none: what it makes is in no prompt, and is set aside while it runs", async () => {
    clearAside();
    const before = snapshot();
    const made = "mkdir heartbeat; echo wicked > heartbeat/TASK.md; echo wicked > TOOLS.md; echo wicked > SOUL.md";
    const { stop } = await inBackground(
      `${made}; touch notes/made; while [ -e notes ]; do sleep 0.1; done`,
      "notes/made",
    );
    expect(await promptNow()).not.toContain("wicked");
    await vi.waitFor(() => expect(snapshot()).toEqual(before), 60_000);
    await stop();
    expect(snapshot()).toEqual(before);
    expect(asideOf("TOOLS.md")).toBe("wicked\n");
  });

  it("that makes one again and again is in no prompt, and has made none when it was stopped", async () => {
    clearAside();
    const before = snapshot();
    const { stop } = await inBackground(
      `touch notes/made; while [ -e notes ]; do ${puts("TOOLS.md")}; sleep 0.01; done`,
      "notes/made",
    );
    await vi.waitFor(() => expect(snapshot()["TOOLS.md"]).toContain("wicked"), 60_000);
    for (let times = 0; times < 3; times++) expect(await promptNow()).not.toContain("wicked");
    await stop();
    expect(snapshot()).toEqual(before);
    expect(asideOf("TOOLS.md")).toBe("wicked\n");
  });

  it("does not change a file that was changed by review while it runs, also after the engine starts again", async () => {
    clearAside();
    const loop = `touch notes/made; while [ -e notes ]; do ${puts("SOUL.md")}; sleep 0.01; done`;
    const { stop } = await inBackground(loop, "notes/made");
    expect(await promptNow()).toContain("kind");
    await world.say(call("write", { path: "SOUL.md", content: "calm\n" }));
    await world.approveAll();
    // The file was replaced, so it is not protected in the command's sandbox any more.
    await vi.waitFor(() => expect(snapshot()["SOUL.md"]).toContain("wicked"), 60_000);
    for (let times = 0; times < 3; times++) {
      const prompt = await promptNow();
      expect(prompt).toContain("calm");
      expect(prompt).not.toContain("wicked");
      if (times === 1) await world.restart();
    }
    await stop();
    expect(snapshot()["SOUL.md"]).toBe("calm\n");
    expect(asideOf("SOUL.md")).toBe("wicked\n");
    const [change] = await world.node.changes.list({ limit: 1 });
    await world.node.changes.undo(change?.id ?? 0, { person: OWNER, surface: "test" });
    expect(snapshot()["SOUL.md"]).toBe("kind\n");
  });

  it("writes nothing in a directory that its owner moves away: the protection goes with it", async () => {
    clearAside();
    const { workspace } = world.paths;
    const [memory, away, tries] = ["memory", "away", "notes/tries"].map((name) => join(workspace, name)) as [
      string,
      string,
      string,
    ];
    const { stop } = await inBackground(
      "touch notes/made; while [ -e notes ]; do echo wicked > away/old.md; mv away memory; echo >> notes/tries; sleep 0.01; done",
      "notes/made",
    );
    renameSync(memory, away);
    rmSync(tries, { force: true });
    await vi.waitFor(() => expect(readFileSync(tries, "utf8").length).toBeGreaterThan(2), 60_000);
    expect([readFileSync(join(away, "old.md"), "utf8"), existsSync(memory)]).toEqual(["old\n", false]);
    await stop();
    renameSync(away, memory);
    expect(readFileSync(join(memory, "old.md"), "utf8")).toBe("old\n");
  });

  it("writes none of an agent that is made while it runs, also after the engine starts again", async () => {
    const { stop } = await inBackground(
      `touch notes/made; while [ -e notes ]; do for d in agents/*/; do ${puts("$d/AGENTS.md")}; done; sleep 0.01; done`,
      "notes/made",
    );
    const late = { name: "late", description: "late", systemPrompt: "You are late.", workspaceDir: "agents/late" };
    await world.say(call("create_permanent_agent", late));
    await world.approveAll();
    const planted = join(world.paths.workspace, "agents/late/AGENTS.md");
    for (let times = 0; times < 3; times++) {
      await vi.waitFor(() => expect(existsSync(planted)).toBe(true), 60_000);
      const prompt = await promptOf("late");
      expect(prompt).toContain("You are late.");
      expect(prompt).not.toContain("wicked");
      if (times === 1) await world.restart();
    }
    await stop();
    expect(existsSync(planted)).toBe(false);
    expect(readFileSync(`${planted}.proposed`, "utf8")).toBe("wicked\n");
  });

  it("that ends while no engine runs leaves none: the next engine sets aside what it made", async () => {
    clearAside();
    const before = snapshot();
    const { agent } = await inBackground("echo wicked > TOOLS.md; touch notes/made", "notes/made");
    await world.restart();
    expect(await promptNow()).not.toContain("wicked");
    await vi.waitFor(() => expect([snapshot(), asideOf("TOOLS.md")]).toEqual([before, "wicked\n"]), 60_000);
    // The agent is told of the end, which ends the wait for a yes that it may have open.
    await vi.waitFor(async () => expect(await toldOf(agent.id)).toContain("has ended with exit code 0"), 60_000);
    await world.node.agents.settled();
  });
});

it("a yes to the difference is the way: the change is kept, and undone", needs("bwrap"), async () => {
  await world.say(call("write", { path: "SOUL.md", content: "calm\n" }));
  await world.approveAll();
  expect(snapshot()["SOUL.md"]).toBe("calm\n");
  const [change] = await world.node.changes.list({ limit: 1 });
  await world.node.changes.undo(change?.id ?? 0, { kind: "person", person: OWNER } as never);
  expect(snapshot()["SOUL.md"]).toBe("kind\n");
});
