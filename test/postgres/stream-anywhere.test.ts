/**
 * Two real processes on one database, reached over HTTP: a run on one streams to clients of the other, which can also
 * abort and steer it. It continues to stream when its node is killed. Both gateways accept the same tokens.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { askHttp } from "../../src/app/gateway/gateway.test-kit.ts";
import { echo, type FakeModel, fakeModel, type ModelCall, type Served, serve, TOKEN } from "../e2e/serving.ts";
import { readEvents, type SseEvent } from "../e2e/sse-client.ts";
import { freshDatabase } from "./shared.ts";

let model: FakeModel;
let a: Served;
let b: Served;
/** A node that is slow must not be taken for dead; one that is killed loses its lock at once. */
const CONFIG = {
  more: { log: { level: "error" }, store: { leaseSeconds: 60 } },
  gateway: { publicUrl: "http://rookery.test" },
};
/** Long enough for a slow machine. */
const SOON = { interval: 20, timeout: 60_000 };
beforeAll(async () => {
  model = await fakeModel();
  const url = await freshDatabase();
  [a, b] = await Promise.all([serve(model, { ...CONFIG, store: url }), serve(model, { ...CONFIG, store: url })]);
});
beforeEach(() => {
  model.calls.length = 0;
  model.script = echo;
});
afterAll(async () => {
  await Promise.all([a.stop(), b.stop()]);
  await model.close();
});

const ask = (served: Served, method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
  askHttp(served.port, { method, path, token: TOKEN, headers, body });
const chat = (served: Served, user: string, said: string, more: object = {}, headers: Record<string, string> = {}) =>
  ask(
    served,
    "POST",
    "/v1/chat/completions",
    { model: "main", user, messages: [{ role: "user", content: said }], ...more },
    headers,
  );
const deltas = (events: readonly SseEvent[]): string =>
  events.flatMap(({ event, data }) => (event === "delta" ? [(data as { text: string }).text] : [])).join("");

/** Starts a run on B that has streamed its first text and waits for more. Returns agent, run and model call. */
async function runOnB(user: string, said: string) {
  const calls = model.calls.length;
  model.script = (call) => call.say("first ");
  const answer = chat(b, user, said);
  await expect.poll(() => model.calls.length, SOON).toBe(calls + 1);
  const call = model.calls.at(-1) as ModelCall;
  const agents = async () =>
    (await ask(b, "GET", "/api/agents?limit=50")).json.items as { id: string; sessionKey: string }[];
  const id = (await agents()).find(({ sessionKey }) => sessionKey.includes(user))?.id as string;
  const runs = (await ask(b, "GET", `/api/agents/${id}/runs`)).json.items as { id: string; state: string }[];
  const runId = runs.find(({ state }) => state === "open")?.id as string;
  return { answer, call, agentId: id, runId };
}

describe("two nodes behind one address", () => {
  it("stream a run of B to a client of A, and continue where a reader left off", async () => {
    const { answer, call, runId, agentId } = await runOnB("person-ann", "hello");
    let open = 0;
    const onOpen = (): void => void open++;
    const tree = readEvents(a.port, "/api/events", {
      until: ({ event, data }) => event === "end" && (data as { runId: string }).runId === runId,
      onOpen,
    });
    const wholeAgent = readEvents(a.port, `/api/agents/${agentId}/events`, {
      until: ({ event }) => event === "end",
      onOpen,
    });
    // A stream of an agent has what happens after it was opened, and a run that ends before ends without it.
    await expect.poll(() => open, SOON).toBe(2);
    const part = await readEvents(a.port, `/api/runs/${runId}/events`, { until: ({ event }) => event === "delta" });
    expect(deltas(part)).toBe("first ");
    for (const piece of ["second ", "ünd ", "third 🐦"]) call.say(piece);
    const more = await readEvents(a.port, `/api/runs/${runId}/events`, {
      lastEventId: part.at(-1)?.id,
      until: ({ event, data }) => event === "delta" && (data as { text: string }).text.includes("third"),
    });
    expect(deltas(more)).toBe("second ünd third 🐦");
    expect(more.map(({ event }) => event)).not.toContain("restart");
    // In the other direction: a reader that followed on A continues on B without a gap.
    call.say(" fourth");
    let reading = 0;
    const onFirst = ({ event }: SseEvent): boolean => {
      if (event === "delta") reading += 1;
      return false;
    };
    const [there, rest] = [b, a].map(({ port }) =>
      readEvents(port, `/api/runs/${runId}/events`, { lastEventId: more.at(-1)?.id, until: onFirst }),
    );
    await expect.poll(() => reading, SOON).toBe(2);
    const waited = ask(a, "GET", `/api/runs/${runId}/wait?timeoutMs=60000`);
    call.end();
    for (const events of [(await rest) ?? [], (await there) ?? []]) {
      expect(deltas(events)).toBe(" fourth");
      expect(events.at(-1)).toMatchObject({ event: "end" });
      expect(events.filter(({ event }) => event === "entry").length).toBeGreaterThan(0);
    }
    const said = "first second ünd third 🐦 fourth";
    expect((await answer).json).toMatchObject({ choices: [{ message: { content: said } }] });
    expect((await waited).json).toMatchObject({ status: "ended", outcome: "ok" });
    expect(deltas(await wholeAgent)).toBe(said);
    expect((await tree).map(({ event }) => event)).toEqual(expect.arrayContaining(["tree", "end"]));
  });

  it("stream a chat of A whose agent B holds, and abort and steer it from A", async () => {
    const { answer, call, agentId, runId } = await runOnB("person-bob", "one");
    model.script = (next) => {
      for (const piece of `echo: ${next.prompt}`.split(/(?<= )/)) next.say(piece);
      next.end();
    };
    const second = chat(a, "person-bob", "two words", { stream: true });
    const third = ask(a, "POST", "/v1/responses", {
      model: "main",
      user: "person-bob",
      input: "three words",
      stream: true,
    });
    await expect
      .poll(async () => ((await ask(a, "GET", `/api/agents/${agentId}/inbox`)).json.waiting as unknown[]).length, SOON)
      .toBe(2);
    call.end();
    expect((await answer).json).toMatchObject({ choices: [{ message: { content: "first " } }] });
    const chunks = (await second).text
      .split("\n\n")
      .filter((line) => line.includes('"content":"') && !line.includes('""'));
    expect(chunks.length).toBeGreaterThan(0);
    expect((await second).text).toContain("[DONE]");
    expect(textOfChunks((await second).text)).toBe("echo: two words");
    expect((await third).text).toContain("response.completed");
    expect((await third).text).toContain("echo: three words");
    expect(runId).toBeDefined();
    const held = await runOnB("person-bob", "four");
    expect((await ask(a, "POST", `/api/runs/${held.runId}/steer`, { text: "turn left" })).status).toBe(202);
    model.script = echo;
    expect((await ask(a, "POST", `/api/runs/${held.runId}/abort`)).json).toEqual({ aborted: true });
    expect((await ask(a, "GET", `/api/runs/${held.runId}/wait?timeoutMs=60000`)).json).toMatchObject({
      outcome: "aborted",
    });
    await held.answer;
    // Text that was steered into the run and not used starts the next run.
    const inbox = async () => (await ask(a, "GET", `/api/agents/${agentId}/inbox`)).json;
    await expect.poll(inbox, SOON).not.toHaveProperty("run");
    await expect.poll(async () => (await inbox()).waiting, SOON).toEqual([]);
    await expect.poll(() => model.calls.at(-1)?.prompt, SOON).toContain("turn left");
  });

  it("continue the stream on the node that takes over when B is killed during a run", async () => {
    const { answer, call, runId } = await runOnB("person-cid", "hello");
    answer.catch(() => undefined);
    const events = readEvents(a.port, `/api/runs/${runId}/events`);
    call.say("second ");
    model.script = (again) => {
      again.say("all over again");
      again.end();
    };
    b = await b.crash();
    const received = await events;
    expect(received.at(-1)).toMatchObject({ event: "end", data: expect.objectContaining({ type: "end" }) });
    const restart = received.findLastIndex(({ event }) => event === "restart");
    expect(restart).toBeGreaterThan(0);
    expect(deltas(received.slice(restart))).toBe("all over again");
    expect(model.calls.length).toBe(2);
  });

  it("share tokens: minted on one, used on the other, and revoked with their open streams", async () => {
    const made = (await ask(a, "POST", "/api/tokens", { name: "desk", scopes: ["read", "chat"] })).json;
    const token = made.token as string;
    const list = () => askHttp(b.port, { path: "/api/agents", token });
    expect((await list()).status).toBe(200);
    const open = readEvents(b.port, "/api/events", { token, until: () => false }).catch(() => []);
    await expect.poll(() => list().then(({ status }) => status), SOON).toBe(200);
    const { id } = made.record as { id: string };
    const began = performance.now();
    expect((await ask(a, "DELETE", `/api/tokens/${id}`)).json).toEqual({ revoked: [id] });
    await open;
    await expect.poll(() => list().then(({ status }) => status), SOON).toBe(401);
    expect(performance.now() - began).toBeLessThan(20_000);
  });

  it("share invitations and logins: made on one, used once in all, and ended with their streams", async () => {
    const { link } = (await ask(a, "POST", "/api/people/ann/invitations")).json as { link: string };
    const invitation = new URL(link).hash.slice("#invite=".length);
    const use = (served: Served, n: number) =>
      askHttp(served.port, {
        method: "POST",
        path: "/api/logins",
        token: null,
        body: { invitation, nonce: String(n).repeat(32) },
      });
    const answers = await Promise.all([use(a, 1), use(b, 2), use(a, 3), use(b, 4)]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 410, 410, 410]);
    const login = String(answers.find(({ status }) => status === 200)?.json.secret);
    const headers = { "rookery-login": login };
    const list = (served: Served) => askHttp(served.port, { path: "/api/logins", token: null, headers });
    for (const served of [a, b]) {
      await expect.poll(() => list(served).then(({ status }) => status), SOON).toBe(200);
    }
    const open = readEvents(b.port, "/api/deliveries/events", { login, until: () => false }).catch(() => []);
    const [made] = (await list(b)).json.items as { id: string; person: string }[];
    expect(made?.person).toBe("ann");
    expect((await ask(a, "DELETE", `/api/logins/${made?.id}`)).status).toBe(200);
    await open;
    await expect.poll(() => list(b).then(({ status }) => status), SOON).toBe(401);
  });

  it("return the same run to a client that repeats its request on the other node", async () => {
    const key = { "idempotency-key": "once" };
    const first = await chat(a, "person-dan", "with a key", {}, key);
    const again = await chat(b, "person-dan", "with a key", {}, key);
    expect(again.headers["x-rookery-run"]).toBe(first.headers["x-rookery-run"]);
    expect(again.json.choices).toEqual(first.json.choices);
    expect((await chat(b, "person-dan", "another body", {}, key)).status).toBe(422);
    const plain = await chat(a, "person-dan", "without a key");
    const retry = await chat(b, "person-dan", "without a key", {}, { "x-stainless-retry-count": "1" });
    expect(retry.headers["x-rookery-run"]).toBe(plain.headers["x-rookery-run"]);
    const second = await chat(b, "person-dan", "without a key");
    expect(second.headers["x-rookery-run"]).not.toBe(plain.headers["x-rookery-run"]);
    expect(model.calls.filter(({ prompt }) => prompt.includes("key")).length).toBe(3);
  });
});

const textOfChunks = (text: string): string =>
  text
    .split("\n\n")
    .flatMap((line) => (line.startsWith("data: {") ? [JSON.parse(line.slice(6))] : []))
    .map(({ choices }) => choices?.[0]?.delta?.content ?? "")
    .join("");
