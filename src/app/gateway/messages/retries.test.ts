/** Requests without a key that are sent again, over real connections that are cut after the commit (M18). */
import { createHash } from "node:crypto";
import { afterEach, describe, expect, it } from "vitest";
import { gate } from "../../../../test/kit/gate.ts";
import { lastText, type Script } from "../../../../test/kit/model.ts";
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

describe("fifty requests at once", () => {
  it("are answered once each after a kill in between", async () => {
    const hold = gate();
    const answer: Script = (call) =>
      hold.promise.then(() => {
        if (call.n === 20) kit.kill();
        return `answer to ${lastText(call.request)}`;
      });
    kit = await RestartingGateway.open({ script: answer });
    const said = Array.from({ length: 50 }, (_, n) => `number ${n}.`);
    const path = "/api/agents/agent:main:api:dm:ann/messages";
    const all = await Promise.all(said.map((text) => kit.ask({ method: "POST", path, body: { text } })));
    expect(new Set(all.map(({ status }) => status))).toEqual(new Set([202]));
    hold.open();
    await kit.engine.settle();
    await kit.start();
    const agentId = await kit.engine.agentId("ann", "api");
    const messages = await kit.store.messages(agentId, { limit: 100 });
    expect(messages.filter(({ state }) => state === "answered")).toHaveLength(said.length);
    const history = (await kit.ask({ path: `/api/agents/${agentId}/history?limit=500` })).text;
    for (const text of said) expect(history.split(`answer to ${text}`)).toHaveLength(2);
  });
});

describe("a request with an id that is cut after the commit", () => {
  it("is joined through another route and by another token of the same person after a kill", async () => {
    kit = await RestartingGateway.open();
    const id = { "idempotency-key": "one" };
    await cut(chat("ann", "pay", id));
    kit.kill();
    await kit.start();
    const path = "/api/agents/agent:main:api:dm:ann/messages";
    const body = { text: "pay", sender: { id: "ann" }, waitSeconds: 30 };
    const again = await kit.ask({ method: "POST", path, headers: id, body, token: await kit.mint("operate", "chat") });
    expect([again.status, again.headers["idempotent-replayed"]]).toEqual([200, "true"]);
    expect(again.json).toMatchObject({ answer: { text: "answer to pay" } });
    expect(prompts("pay")).toBe(1);
  });
});

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

  it("is answered once after many others, including those that share a hash prefix with it", async () => {
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

  it("is a new message if the person wrote another one after the response was cut", async () => {
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
    ["a token of an application", async () => ({ token: await kit.mintFor("shop") })],
    ["another person", async () => chat("bob", "yes", MARK)],
    ["another text", async () => chat("ann", "no", MARK)],
  ])("never joins a request with %s", async (_, more) => {
    kit = await RestartingGateway.open();
    await cut(chat("ann", "yes"));
    const answer = await kit.ask({ ...chat("ann", "yes", MARK), ...(await more()) });
    expect([answer.status, answer.headers["idempotent-replayed"]]).toEqual([200, undefined]);
    expect(kit.engine.requests).toHaveLength(2);
  });

  it("stays one message for each of two devices that time out and repeat it in turns", async () => {
    const hold = gate();
    const answer: Script = (call) => hold.promise.then(() => `answer to ${lastText(call.request)}`);
    kit = await RestartingGateway.open({ script: answer });
    await cut(chat("ann", "busy"));
    for (let n = 0; n < 5; n++) for (const text of ["phone", "laptop"]) await cut(chat("ann", text));
    hold.open();
    await kit.engine.settle();
    expect([prompts("phone"), prompts("laptop")]).toEqual([1, 1]);
    expect(await kit.store.messages(await kit.engine.agentId("ann", "api"), { limit: 99 })).toHaveLength(3);
  });

  it("is a new message each time it gets a finished 202, and one if the retry is marked", async () => {
    const hold = gate();
    const answer: Script = (call) => hold.promise.then(() => `answer to ${lastText(call.request)}`);
    kit = await RestartingGateway.open({ script: answer });
    const path = "/api/agents/agent:main:api:dm:ann/messages";
    const next = (headers = {}) => kit.ask({ method: "POST", path, headers, body: { text: "next" } });
    const sent = [await next(), await next(), await next(), await next(MARK)].map(({ json }) => json.seq);
    expect(sent).toEqual([1, 2, 3, 3]);
    hold.open();
    await kit.engine.settle();
    expect(prompts("next")).toBe(3);
  });

  it("joins in whatever way its caller waits this time", async () => {
    kit = await RestartingGateway.open();
    const path = "/api/agents/agent:main:api:dm:ann/messages";
    await cut({ method: "POST", path, body: { text: "go" } });
    const again = await kit.ask({ method: "POST", path, body: { waitSeconds: 30, answerTo: "caller", text: "go" } });
    expect([again.status, again.headers["idempotent-replayed"]]).toEqual([200, "true"]);
    await cut(chat("ann", "stream"));
    const { path: route, body } = chat("ann", "stream");
    const streamed = await kit.ask({ method: "POST", path: route, body: { stream: true, ...(body as object) } });
    expect([streamed.status, streamed.headers["idempotent-replayed"]]).toEqual([200, "true"]);
    expect([prompts("go"), prompts("stream")]).toEqual([1, 1]);
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
