/** Dropping a message that waits: once, by name, in the audit log, and its sender reads it. */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Model } from "../../../core/ports/model.ts";
import { openTestGateway, type TestGateway } from "../gateway.test-kit.ts";

let kit: TestGateway;
let release: () => void;
const prompts: string[] = [];
const model: Model = {
  async call({ messages }) {
    prompts.push(JSON.stringify(messages.at(-1)));
    if (prompts.length === 1) await new Promise<void>((resolve) => (release = resolve));
    return { content: [{ type: "text", text: "done" }], stopReason: "stop", api: "a", provider: "p", model: "m" };
  },
};
const PATH = "/api/agents/agent:main:api:dm:ann/messages";
const say = (text: string, more: object = {}) =>
  kit.ask({ method: "POST", path: PATH, body: { text, queue: { mode: "queue" }, ...more } });
const drop = (seq: number, token?: string) => kit.ask({ method: "POST", path: `${PATH}/${seq}/drop`, token });

beforeAll(async () => {
  kit = await openTestGateway({ model, config: { people: { records: { ann: {} } } } });
});
afterAll(() => kit.close());

test("a message that waits is dropped once, its sender is told by whom, and no model reads it", async () => {
  await say("first");
  await expect.poll(() => prompts.length).toBe(1);
  const waits = say("the second", { waitSeconds: 30 });
  await expect.poll(async () => (await kit.ask({ path: "/api/inbox" })).json.items).toHaveLength(1);
  await say("the third");

  const { token } = await kit.mint("read", "chat");
  expect((await drop(2, token)).status).toBe(403);
  const answers = await Promise.all([drop(2), drop(2)]);
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
  expect(answers.find(({ status }) => status === 200)?.json).toMatchObject({
    seq: 2,
    state: "dropped",
    reason: "dropped by owner",
  });
  // The caller that waits for its answer gets it now, while the run goes on.
  expect((await waits).json).toMatchObject({
    answer: { outcome: "dropped", error: { kind: "queue", message: "dropped by owner" } },
  });
  expect((await kit.ask({ path: "/api/inbox?state=dropped" })).json.items).toMatchObject([
    { seq: 2, text: "the second", reason: "dropped by owner" },
  ]);
  expect((await kit.ask({ path: "/api/audit?action=message.drop" })).json.items).toMatchObject([
    { person: "owner", surface: "api", target: expect.stringContaining("2") },
  ]);
  const taken = await drop(1);
  expect([taken.status, taken.json.error?.message]).toEqual([
    409,
    "Message 1 is taken. A run works on it. You can stop the run.",
  ]);
  expect((await drop(99)).status).toBe(404);
  // Commands to the engine can be dropped too.
  const setting = { method: "PATCH", path: "/api/agents/agent:main:api:dm:ann/state", body: { label: "x" } };
  const { json: posted } = await kit.ask(setting);
  expect((await drop(Number(posted.seq))).json).toMatchObject({ state: "dropped", body: { kind: "setting" } });

  release();
  await kit.node.agents.settled();
  expect(prompts.join()).toContain("the third");
  expect(prompts.join()).not.toContain("the second");
});
