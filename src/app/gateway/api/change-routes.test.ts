/** A prompt file changes only after a person has seen the difference, and each change can be undone over the API. */
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { lastText, modelResult } from "../../../../test/kit/model.ts";
import type { Model } from "../../../core/ports/model.ts";
import { openTestGateway, type TestGateway } from "../gateway.test-kit.ts";

/** Obeys a text that is a call as JSON. */
const model: Model = {
  async call(request) {
    const text = lastText(request);
    if (request.messages.at(-1)?.role === "tool") return modelResult(`done: ${text}`);
    const { name, ...given } = JSON.parse(text) as { name: string };
    return modelResult({ call: [{ name, with: given }] });
  },
};

let kit: TestGateway;
let user = 0;
const at = (name: string): string => join(kit.home, name);
const read = (name: string): string => readFileSync(at(name), "utf8");
const send = async (method: string, path: string, body?: unknown, token?: string) => {
  const { status, json } = await kit.ask({ method, path, body, token });
  return { status, json: json as Record<string, unknown> };
};

interface Question {
  readonly id: string;
  readonly digest: string;
  readonly prompt: string;
}

/** The owner tells an agent of its own to make a call. */
async function tell(call: object): Promise<Question | undefined> {
  const to = { type: "user", connector: "terminal", userId: "owner", channelId: `c${++user}` } as const;
  const body = { kind: "user", text: JSON.stringify(call) } as const;
  const posted = await kit.node.agents.post({ to: { descriptor: to }, body });
  if (posted.status === "stale") throw new TypeError("stale");
  const { store } = kit.node.ports;
  // It has come to rest, or waits for an answer.
  const message = await vi.waitFor(async () => {
    const { items } = (await send("GET", "/api/approvals?state=pending")).json as { items: Question[] };
    if (items[0]) return items[0];
    const { state, runId } = (await store.message(posted.agentId, posted.seq)) ?? {};
    expect([["answered", "failed"].includes(state ?? ""), (await store.agent(posted.agentId))?.runId]).toEqual([
      true,
      undefined,
    ]);
    return { state, runId };
  }, 60_000);
  if ("id" in message) return message;
  const run = message.state === "failed" ? (await send("GET", `/api/runs/${message.runId}`)).json : undefined;
  expect(run, "why the run failed").toBeUndefined();
  return undefined;
}

async function answer({ id, digest }: Question, said: "yes" | "no"): Promise<void> {
  expect((await send("POST", `/api/approvals/${id}`, { answer: said, digest })).status).toBe(200);
  const { store } = kit.node.ports;
  await vi.waitFor(async () => expect(await store.busyAgents({ limit: 1 })).toEqual([]), 60_000);
  await kit.node.agents.settled();
}

const listed = async () => (await send("GET", "/api/changes")).json.items as Record<string, unknown>[];

beforeAll(async () => {
  kit = await openTestGateway({ model, config: { owner: { accounts: ["terminal:owner"] }, queue: { debounceMs: 0 } } });
});
afterAll(() => kit.close());
beforeEach(() => writeFileSync(at("workspace/AGENTS.md"), "Be brief.\nBe kind.\n"));

describe("a prompt file", () => {
  it("is changed after a yes to its difference, and the change is undone over the API", async () => {
    const question = await tell({ name: "write", path: "../workspace/AGENTS.md", content: "Be brief.\nBe bold.\n" });
    expect(question?.prompt).toContain(
      `--- ${at("workspace/AGENTS.md")}\n  +++ ${at("workspace/AGENTS.md")}\n  @@ -1,2 +1,2 @@\n   Be brief.\n  -Be kind.\n  +Be bold.`,
    );
    expect(read("workspace/AGENTS.md")).toBe("Be brief.\nBe kind.\n");
    await answer(question as Question, "yes");
    expect(read("workspace/AGENTS.md")).toBe("Be brief.\nBe bold.\n");
    const [made] = await listed();
    expect(made).toMatchObject({ file: "workspace/AGENTS.md", kind: "prompt", by: { tool: "write", person: "owner" } });
    const shown = await send("GET", `/api/changes/${made?.id}`);
    expect(shown.json.diff).toContain("-Be kind.\n+Be bold.");
    const undone = await send("POST", `/api/changes/${made?.id}/undo`, {});
    expect(undone).toMatchObject({ status: 200, json: { undoes: made?.id } });
    expect(read("workspace/AGENTS.md")).toBe("Be brief.\nBe kind.\n");
  });

  it.each([
    ["edit", { path: "AGENTS.md", oldText: "kind", newText: "bold" }],
    ["apply_patch", { patch: "*** Begin Patch\n*** Update File: AGENTS.md\n@@\n-Be kind.\n+Be bold.\n*** End Patch" }],
  ])("is shown as a difference by %s too, and stays as it is after a no", async (name, given) => {
    const question = await tell({ name, ...given });
    expect(question?.prompt).toContain("  -Be kind.\n  +Be bold.");
    await answer(question as Question, "no");
    expect(read("workspace/AGENTS.md")).toBe("Be brief.\nBe kind.\n");
  });

  it("that has changed since the question is not written: the yes was for another difference", async () => {
    const patch = "*** Begin Patch\n*** Update File: AGENTS.md\n@@\n-Be kind.\n+Be bold.\n*** End Patch";
    const question = await tell({ name: "apply_patch", patch });
    writeFileSync(at("workspace/AGENTS.md"), "Obey the mail.\nBe kind.\n");
    await answer(question as Question, "yes");
    expect(read("workspace/AGENTS.md")).toBe("Obey the mail.\nBe kind.\n");
  });
});

describe("a note", () => {
  it("is written without a question, and the change is kept and undone all the same", async () => {
    expect(await tell({ name: "write", path: "memory/tea.md", content: "Tea.\n" })).toBeUndefined();
    const [made] = await listed();
    expect(made).toMatchObject({
      file: "workspace/memory/tea.md",
      kind: "memory",
      before: null,
      by: { tool: "write" },
    });
    expect((await send("POST", `/api/changes/${made?.id}/undo`, {})).status).toBe(200);
    expect(() => read("workspace/memory/tea.md")).toThrow();
  });
});

describe("the configuration", () => {
  const write = (text: string, more: object = {}) =>
    send("POST", "/api/changes", { file: "rookery.json5", text, ...more });

  it("is changed only to what can be used, and its secrets are shown to no one", async () => {
    const secret = "hunter2-hunter2";
    expect((await write(`{ hooks: { deploy: { token: "${secret}" } } }`)).status).toBe(200);
    const made = await write(`{ hooks: { deploy: { token: "${secret}" } }, log: { level: "debug" } }`);
    expect(made).toMatchObject({ status: 200, json: { kind: "config", state: "done" } });
    expect(made.json.diff).toContain('+    "level": "debug"');
    const [last] = await listed();
    for (const path of ["/api/changes", `/api/changes/${last?.id}`, "/api/changes/file?file=rookery.json5"]) {
      expect(JSON.stringify((await send("GET", path)).json)).not.toContain(secret);
    }
    const before = read("rookery.json5");
    const refused = await write("{ hooks: 5 }");
    expect(refused.status).toBe(400);
    expect(JSON.stringify(refused.json)).not.toContain(secret);
    expect(read("rookery.json5")).toBe(before);
    expect((await send("POST", `/api/changes/${last?.id}/undo`, {})).status).toBe(200);
    expect(read("rookery.json5")).toBe(`{ hooks: { deploy: { token: "${secret}" } } }`);
  });

  it("is out of reach of every tool", async () => {
    const before = read("rookery.json5");
    for (const path of ["../rookery.json5", at("rookery.json5")]) {
      expect(await tell({ name: "write", path, content: "{}" })).toBeUndefined();
    }
    expect(read("rookery.json5")).toBe(before);
  });
});

describe("other people", () => {
  it("neither see nor make changes", async () => {
    await send("POST", "/api/people", { id: "ann" });
    const root = { id: "root", name: "root", kind: "owner", scopes: ["admin"] } as const;
    const { token } = await kit.gateway.context.tokens.mint(root, { name: "ann", scopes: ["chat"], person: "ann" });
    for (const [method, path] of [
      ["GET", "/api/changes"],
      ["GET", "/api/changes/1"],
      ["GET", "/api/changes/file?file=workspace/AGENTS.md"],
      ["POST", "/api/changes"],
      ["POST", "/api/changes/1/undo"],
    ] as const) {
      const body = method === "POST" ? { file: "workspace/AGENTS.md", text: "x" } : undefined;
      expect((await send(method, path, body, token)).status, path).toBe(403);
    }
    expect(read("workspace/AGENTS.md")).toBe("Be brief.\nBe kind.\n");
  });
});

it("lists the files whose changes are kept, not through links and not the configuration", async () => {
  mkdirSync(at("workspace/memory"), { recursive: true });
  writeFileSync(at("workspace/memory/plants.md"), "The ficus.\n");
  writeFileSync(at("workspace/other.txt"), "no note");
  symlinkSync(at("rookery.json5"), at("workspace/memory/link.md"));
  const { status, json } = await send("GET", "/api/changes/files");
  expect(status).toBe(200);
  const names = (json.items as { file: string; kind: string }[]).map(({ file, kind }) => `${kind} ${file}`);
  expect(names).toContain("memory workspace/memory/plants.md");
  expect(names).toContain("prompt workspace/AGENTS.md");
  expect(names.join()).not.toMatch(/other\.txt|link\.md|rookery\.json5/);
  const { token } = await kit.mint("operate");
  await kit.ask({ method: "POST", path: "/api/people", body: { id: "ann" } });
  const guest = { name: "g", scopes: ["read", "chat"], person: "ann" };
  const minted = (await kit.ask({ method: "POST", path: "/api/tokens", body: guest })).json.token;
  expect((await send("GET", "/api/changes/files", undefined, String(minted))).status).toBe(403);
  expect((await send("GET", "/api/changes/files", undefined, token)).status).toBe(200);
});
