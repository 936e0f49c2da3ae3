/** Requests without a key that are sent again, over real connections that are cut after the commit (M18). */
import { createHash } from "node:crypto";
import { afterEach, describe, expect, it } from "vitest";
import { lastText } from "../../../../test/kit/model.ts";
import type { TestRequest } from "../gateway.test-kit.ts";
import { RestartingGateway } from "../restarting.test-kit.ts";

let kit: RestartingGateway;
afterEach(() => kit.close());

const MARK = { "x-stainless-retry-count": "1" };
const chat = (user: string | undefined, content: string, headers: Record<string, string> = {}): TestRequest => ({
  method: "POST",
  path: "/v1/chat/completions",
  headers,
  body: { model: "main", user, messages: [{ role: "user", content }] },
});
const prompts = (text: string): number => kit.engine.requests.filter((one) => lastText(one) === text).length;
const isAccept = ({ site }: { site: string }): boolean => site === "accept";

/** Sends a request whose connection is cut after its message was accepted. Its run ends. */
const cut = (request: TestRequest): Promise<void> => kit.askAndCut(request, isAccept);

const YES_NO = [false, true] as const;
const CASES = YES_NO.flatMap((marked) =>
  YES_NO.flatMap((finished) =>
    YES_NO.flatMap((later) =>
      (["no restart", "a restart", "a kill"] as const).map((restart) => ({ marked, finished, later, restart })),
    ),
  ),
);

describe("a request without a key that is sent again", () => {
  it.each(CASES)("marked $marked, finished $finished, later message $later, $restart", async (one) => {
    const { marked, finished, later, restart } = one;
    kit = await RestartingGateway.open();
    if (finished) await kit.ask(chat("ann", "yes"));
    else await cut(chat("ann", "yes"));
    if (later) await kit.ask(chat("ann", "and then?"));
    const agentId = await kit.engine.agentId("ann", "api");
    // None of these is a message of this person in this conversation.
    await kit.ask(chat("bob", "yes"));
    const events = [
      { kind: "trigger", text: "tick", trigger: { type: "heartbeat", id: "main" } },
      { kind: "report", text: "done", childId: agentId, childRunId: "r" as never },
      { kind: "system", text: "an event", silent: true },
    ] as const;
    for (const body of events) await kit.engine.system.post({ to: { agentId }, body });
    await kit.engine.settle();
    // The end of a response is stored a moment after it.
    await kit.engine.advance(1_000);
    if (restart === "a restart") await kit.restart();
    if (restart === "a kill") {
      kit.kill();
      await kit.start();
    }
    const before = prompts("yes");
    const answer = await kit.ask(chat("ann", "yes", marked ? MARK : {}));
    expect([answer.status, answer.text]).toEqual([200, expect.stringContaining("answer to yes")]);
    const joins = marked ? !(finished && later) : !finished && !later;
    expect(prompts("yes") - before).toBe(joins ? 0 : 1);
    expect(answer.headers["idempotent-replayed"]).toBe(joins ? "true" : undefined);
  });

  it("is answered once after many others, also after those that share a hash prefix with it", async () => {
    kit = await RestartingGateway.open();
    const bucket = (content: string): number => {
      const body = JSON.stringify(chat("ann", content).body);
      const hash = createHash("sha256")
        .update(JSON.stringify(["root", "ann"]))
        .update(body)
        .digest("hex");
      return Number.parseInt(hash.slice(0, 8), 16) % 1024;
    };
    await cut(chat("ann", "pay"));
    const others = Array.from({ length: 40_000 }, (_, n) => `other ${n}`).filter(
      (one) => bucket(one) === bucket("pay"),
    );
    expect(others.length).toBeGreaterThan(16);
    for (const other of others.slice(0, 20)) await kit.ask(chat("ann", other));
    await kit.ask(chat("ann", "pay", MARK));
    expect(prompts("pay")).toBe(1);
  });

  it("is a new message if the person went on after the response was cut", async () => {
    kit = await RestartingGateway.open();
    await cut(chat("ann", "yes"));
    await kit.ask(chat("ann", "shall I delete it?"));
    await kit.ask(chat("ann", "and the copy?"));
    expect((await kit.ask(chat("ann", "yes"))).status).toBe(200);
    expect(prompts("yes")).toBe(2);
  });

  it("is a new message at once after a finished answer, before its end is stored", async () => {
    kit = await RestartingGateway.open();
    for (let n = 0; n < 3; n++) await kit.ask(chat("ann", "yes"));
    expect(prompts("yes")).toBe(3);
    expect(kit.engine.commits.filter(({ site }) => site === "api.finished")).toEqual([]);
  });

  it("joins its own new agent if it names no user", async () => {
    kit = await RestartingGateway.open();
    await cut(chat(undefined, "alone"));
    const again = await kit.ask(chat(undefined, "alone"));
    await kit.ask(chat(undefined, "alone", MARK));
    expect([again.status, prompts("alone")]).toEqual([200, 1]);
    await kit.ask(chat(undefined, "alone"));
    expect(prompts("alone")).toBe(2);
  });

  it.each([
    ["another token", async () => ({ token: await kit.mint("chat") })],
    ["another person", async () => chat("bob", "yes", MARK)],
    ["another text", async () => chat("ann", "no", MARK)],
  ])("never joins a request with %s", async (_, more) => {
    kit = await RestartingGateway.open();
    await cut(chat("ann", "yes"));
    const answer = await kit.ask({ ...chat("ann", "yes", MARK), ...(await more()) });
    expect([answer.status, answer.headers["idempotent-replayed"]]).toEqual([200, undefined]);
    expect(kit.engine.requests).toHaveLength(2);
  });

  it("joins at the route of messages too, and after a used-up quota", async () => {
    kit = await RestartingGateway.open({ config: { gateway: { limits: { perToken: { messagesPerDay: 2 } } } } });
    await kit.ask(chat("ann", "hello"));
    const path = "/api/agents/agent:main:api:dm:ann/messages";
    const message = { method: "POST", path, body: { text: "go" } };
    await cut(message);
    expect((await kit.ask(chat("ann", "more"))).status).toBe(429);
    const again = await kit.ask(message);
    expect([again.status, again.headers["idempotent-replayed"]]).toEqual([202, "true"]);
    expect(prompts("go")).toBe(1);
    // The repeated response was finished: the same words are now new, and there is no quota left.
    expect((await kit.ask(message)).status).toBe(429);
  });

  it("is not mixed up by a commit whose answer is lost", async () => {
    kit = await RestartingGateway.open();
    kit.engine.onCommit = (change, nth) => (isAccept(change) && nth === 1 ? "unknown-applied" : "go");
    expect((await kit.ask(chat("ann", "yes"))).status).toBe(200);
    expect(prompts("yes")).toBe(1);
  });
});

describe("the ends of responses", () => {
  it("are stored together a moment later, without a commit of their own for each", async () => {
    kit = await RestartingGateway.open();
    for (const user of ["ann", "bob", "cid"]) await kit.ask(chat(user, "hello"));
    await kit.engine.advance(1_000);
    const stored = kit.engine.commits.filter(({ site }) => site === "api.finished");
    expect(stored.map(({ ops }) => ops.length)).toEqual([3]);
    // The commit that accepts a message has the row of its request and nothing else beside it.
    const accepts = kit.engine.commits.filter(isAccept);
    expect(accepts.map(({ ops }) => ops.map(({ op }) => op))).toEqual([
      ["message.post"],
      ["message.post"],
      ["message.post"],
    ]);
  });

  it("are stored later if the store does not answer now", async () => {
    kit = await RestartingGateway.open();
    kit.engine.onCommit = ({ site }, nth) => (site === "api.finished" && nth === 1 ? "full" : "go");
    await kit.ask(chat("ann", "hello"));
    await kit.engine.advance(1_000);
    kit.kill();
    await kit.start();
    await kit.ask(chat("ann", "hello"));
    expect(prompts("hello")).toBe(2);
  });
});
