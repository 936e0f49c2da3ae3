/** Messages that failed, were stopped or were dropped show so wherever the message shows (M45). */
import { Client, InMemoryTransport } from "@modelcontextprotocol/client";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { gate } from "../../../test/kit/gate.ts";
import type { Model } from "../../core/ports/model.ts";
import type { RookeryClient } from "../client/rookery-client.ts";
import { connectRookery } from "../library/connect-rookery.ts";
import { openTestGateway, ROOT_TOKEN, type TestGateway } from "./gateway.test-kit.ts";
import { mcpServerOf } from "./mcp/mcp-server.ts";

const AGENT = "agent:main:api:dm:ann";
const stoppable = gate();
/** Refuses a text that contains "fail", never answers "stop me", and answers everything else. */
const model: Model = {
  async call({ messages }, signal) {
    const made = { content: [], api: "a", provider: "p", model: "m" };
    const said = JSON.stringify(messages.at(-1));
    if (said.includes("fail")) {
      return { ...made, stopReason: "error", error: { class: "request", message: "the model refuses it" } };
    }
    if (said.includes("stop me")) {
      stoppable.open();
      await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
      return { ...made, stopReason: "aborted", error: { class: "aborted", message: "aborted" } };
    }
    return { ...made, content: [{ type: "text", text: "done" }], stopReason: "stop" };
  },
};

let kit: TestGateway;
let rookery: RookeryClient & { close(): Promise<void> };
const say = (text: string, more: object = {}) =>
  kit.ask({
    ...{ method: "POST", path: `/api/agents/${AGENT}/messages` },
    body: { text, queue: { mode: "queue" }, ...more },
  });
const post = (path: string) => kit.ask({ method: "POST", path: `/api/agents/${AGENT}/${path}` });

const REASON = "Inference failed. the model refuses it";
const FAILED = { seq: 1, kind: "user", text: "please fail", state: "failed", reason: REASON };
const DROPPED = { seq: 4, text: "drop me", state: "dropped", reason: "dropped by owner" };
const STOPPED = { seq: 3, text: "stop me", state: "aborted" };

beforeAll(async () => {
  kit = await openTestGateway({ model, config: { people: { records: { ann: {} } } } });
  rookery = await connectRookery({ url: `http://127.0.0.1:${kit.gateway.port}`, token: ROOT_TOKEN });
  await say("please fail");
  await say("fine", { waitSeconds: 60 });
  await say("stop me");
  await stoppable.promise;
  await say("drop me");
  await post("messages/4/drop");
  await post("stop");
  await kit.node.agents.settled();
});
afterAll(async () => {
  await rookery.close();
  await kit.close();
});

describe("a message without an answer", () => {
  it("shows its outcome in the history, even if it has no entry there", async () => {
    const { json } = await kit.ask({ path: `/api/agents/${AGENT}/history` });
    const items = json.items as readonly { entry: { role?: string }; unanswered?: readonly object[] }[];
    const listed = items.toReversed().flatMap(({ unanswered }) => unanswered ?? []);
    expect(listed).toMatchObject([{ ...FAILED, runId: expect.any(String) }, STOPPED, DROPPED]);
    expect(items.filter(({ entry }) => entry.role === "assistant").some(({ unanswered }) => unanswered)).toBe(false);
  });

  it("is on exactly one page of a history that is read in pages", async () => {
    const seqs: number[] = [];
    for (let before: number | undefined; ; ) {
      const { items, next } = await rookery.agent(AGENT).history({ limit: 1, before });
      seqs.push(...items.flatMap(({ unanswered = [] }) => unanswered.map(({ seq }) => seq)));
      if (next === null) break;
      before = next;
    }
    expect(seqs.toSorted()).toEqual([1, 3, 4]);
  });

  it("shows its outcome in the inbox of its agent and in the list of all agents", async () => {
    const inbox = await rookery.agent(AGENT).inbox();
    expect(inbox.unanswered).toMatchObject([DROPPED, STOPPED, FAILED]);
    const { items } = await rookery.agents.inbox({ state: "unanswered" });
    expect(items.toSorted((a, b) => a.seq - b.seq)).toMatchObject([
      { ...FAILED, sessionKey: AGENT, runId: expect.any(String) },
      { ...STOPPED, sessionKey: AGENT },
      { ...DROPPED, sessionKey: AGENT },
    ]);
    expect((await rookery.agents.inbox({ state: "failed" })).items).toMatchObject([FAILED]);
  });

  it("shows its outcome in the mailbox of its sender", async () => {
    const { items } = await rookery.mailbox("ann").list();
    expect(items.find(({ isError }) => isError)).toMatchObject({
      runId: expect.any(String),
      unanswered: { seqs: [1], state: "failed", reason: REASON },
    });
  });

  it("shows its outcome over MCP", async () => {
    const server = await mcpServerOf({ rookery, version: "1", era: "legacy" });
    const [here, there] = InMemoryTransport.createLinkedPair();
    const client = new Client({ name: "test", version: "1" });
    await Promise.all([server.connect(there), client.connect(here)]);
    const { content } = await client.callTool({ name: "read_history", arguments: { agent: AGENT } });
    await client.close();
    const text = content.map((block) => (block.type === "text" ? block.text : "")).join("");
    expect(text).toContain("user: please fail");
    expect(text).toContain(`(message 1 "please fail" got no answer: failed: ${REASON})`);
    expect(text).toContain('(message 4 "drop me" got no answer: dropped: dropped by owner)');
  });
});
