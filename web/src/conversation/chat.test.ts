import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { asked, countTo, lastTo, pass, type Streamed, see, settle } from "../page.test-kit.ts";
import type { Entry } from "./entry.ts";

const { Chat, placeSent } = await import("./chat.ts");
const { sendMessage } = await import("./send.ts");

const AGENT = "/api/agents/a1";
const agent = (more: object = {}) => ({ id: "a1", runId: null, nextPos: 3, stopped: null, leaf: undefined, ...more });
const entry = (position: number, role: string, text: string, more: object = {}) => ({
  position,
  entry: { type: "message", id: `e${position}`, role, content: [{ type: "text", text }], ...more },
});
const QUESTION = entry(1, "user", "How are you?", { seqs: [1] });
const ANSWER = entry(2, "assistant", "Fine.", { runId: "r1" });
const page = (items: readonly object[], next: number | null = null) => ({ items: items.toReversed(), next });
const sent = (text: string, more: object = {}) => ({
  key: `k-${text}`,
  text,
  files: [],
  mode: "queue" as const,
  ...more,
});

let chat: InstanceType<typeof Chat>;
beforeEach(() => {
  chat = new Chat("a1");
});
afterEach(() => chat.close());

const textOf = ({ content = [] }: Entry): string => content.map(({ text }) => text).join();
const texts = (): string[] => chat.entries.value.map((one) => textOf(one.entry));

async function open(items: readonly object[] = [QUESTION, ANSWER], more: object = {}): Promise<Streamed> {
  const opened = chat.open();
  await lastTo(AGENT).answer(agent(more));
  await lastTo(`${AGENT}/history`).answer(page(items));
  await opened;
  return lastTo(`${AGENT}/events`).stream();
}

const pieceOf = (text: string, runId = "r2") => ["delta", { runId, stream: "text", text }] as const;

describe("an open conversation", () => {
  it("adds entries of the stream once, in their order", async () => {
    const stream = await open();
    const next = entry(3, "user", "And now?");
    await stream.send(
      ["entry", next],
      ["entry", next],
      ["entry", QUESTION],
      ["entry", entry(4, "assistant", "Still fine.")],
    );
    expect(texts()).toEqual(["How are you?", "Fine.", "And now?", "Still fine."]);
    expect(chat.leaf.value).toBe("e4");
  });

  it("continues after the last event when the stream is cut, and doubles nothing", async () => {
    const stream = await open();
    expect(lastTo(`${AGENT}/events`).headers.get("last-event-id")).toBe("-.0.0.0.2");
    await stream.send(["start", { runId: "r2" }, "r2.1.1.1.2"], [...pieceOf("Half"), "r2.1.1.2.2"]);
    await stream.cut();
    await pass(1_000);
    expect(lastTo(`${AGENT}/events`).headers.get("last-event-id")).toBe("r2.1.1.2.2");
    const again = await lastTo(`${AGENT}/events`).stream();
    await again.send([...pieceOf(" and half"), "r2.1.1.3.2"]);
    await pass(20);
    expect(chat.live.value?.text).toBe("Half and half");
    await again.send(["restart", { runId: "r2" }], [...pieceOf("Anew")]);
    await pass(20);
    expect(chat.live.value?.text).toBe("Anew");
    await again.send(["entry", entry(3, "assistant", "Anew", { runId: "r2" })]);
    expect(chat.live.value?.text).toBe("");
    await again.send(["end", { runId: "r2" }]);
    expect(chat.live.value).toBeUndefined();
  });

  it("stops to show a run that ended while the connection was lost", async () => {
    const stream = await open([QUESTION], { runId: "r1" });
    await lastTo(AGENT).answer(agent({ runId: "r1" }));
    expect(chat.live.value?.runId).toBe("r1");
    await stream.cut();
    await pass(1_000);
    const again = await lastTo(`${AGENT}/events`).stream();
    await again.send(["entry", ANSWER]);
    await lastTo(AGENT).answer(agent());
    expect(chat.live.value).toBeUndefined();
  });

  it("keeps a run that starts while it asks whether the last one has ended", async () => {
    const stream = await open([QUESTION], { runId: "r1" });
    await stream.send(["end", { runId: "r1" }], ["start", { runId: "r2" }]);
    await lastTo(AGENT).answer(agent());
    expect(chat.live.value?.runId).toBe("r2");
  });

  it("shows the later of two reads, whichever is answered first, on one stream", async () => {
    const opened = [chat.open(), chat.open()];
    const [agents, histories] = [AGENT, `${AGENT}/history`].map((path) => asked.filter((one) => one.path === path));
    await agents?.[1]?.answer(agent({ leaf: "e1" }));
    await histories?.[1]?.answer(page([QUESTION]));
    await agents?.[0]?.answer(agent());
    await histories?.[0]?.answer(page([QUESTION, ANSWER]));
    await Promise.all(opened);
    expect(texts()).toEqual(["How are you?"]);
    expect(countTo(`${AGENT}/events`)).toBe(1);
  });

  it("shows nothing and follows nothing if it is closed before the answer", async () => {
    const opened = chat.open();
    chat.close();
    await lastTo(AGENT).answer(agent());
    await opened;
    expect(countTo(`${AGENT}/events`)).toBe(0);
    expect(chat.agent.value).toBeUndefined();
  });

  it("adds earlier entries once, though they are asked for twice", async () => {
    const opened = chat.open();
    await lastTo(AGENT).answer(agent());
    await lastTo(`${AGENT}/history`).answer(page([entry(61, "user", "late")], 61));
    await opened;
    const reads = [chat.readOlder(), chat.readOlder()];
    const older = asked.filter(({ path, query }) => path === `${AGENT}/history` && query.get("before") === "61");
    await older[1]?.answer(page([entry(60, "user", "early")], 60));
    await older[0]?.answer(page([entry(60, "user", "early")], 60));
    await Promise.all(reads);
    expect(texts()).toEqual(["early", "late"]);
    expect(chat.older.value).toBe(60);
  });

  it("leaves no gap if entries leave the page while earlier ones are read", async () => {
    const stream = await open();
    chat.older.value = 1;
    const reading = chat.readOlder();
    await stream.send(...Array.from({ length: 400 }, (_, n) => ["entry", entry(n + 3, "user", `${n + 3}`)] as const));
    await lastTo(`${AGENT}/history`).answer(page([entry(0, "user", "old")]));
    await reading;
    const positions = chat.entries.value.map(({ position }) => position);
    expect(positions).toEqual(positions.map((_, n) => (positions[0] ?? 0) + n));
    expect(positions.length).toBeLessThanOrEqual(400);
    expect(chat.older.value).toBe(positions[0]);
  });

  it("forgets pieces of a text that it has read as a whole", async () => {
    const stream = await open();
    await stream.send(["start", { runId: "r2" }], [...pieceOf("half")]);
    await open([QUESTION, ANSWER], { runId: "r2" });
    await pass(20);
    expect(chat.live.value?.text).toBe("");
  });

  it("shows tools while they run, and a question until it is answered", async () => {
    const stream = await open();
    await stream.send(["start", { runId: "r2" }], ["tool_start", { callId: "c", name: "exec" }]);
    await stream.send(["tool_update", { callId: "c", text: "50 %" }], ["approval", { callId: "c" }]);
    expect(chat.live.value).toMatchObject({ asks: true });
    await stream.send(["tool_end", { callId: "c", isError: true }]);
    expect(chat.live.value?.asks).toBe(false);
    expect([...(chat.live.value?.tools ?? [])]).toEqual([
      ["c", { name: "exec", text: "50 %", isDone: true, isError: true }],
    ]);
    await stream.send(["error", { message: "The key was refused." }]);
    expect(chat.live.value?.error).toBe("The key was refused.");
  });

  it("closes the stream while the tab is hidden, and continues after the last event", async () => {
    const stream = await open();
    await stream.send(["entry", entry(3, "user", "And now?"), "-.0.0.0.3"]);
    see("hidden");
    see("hidden");
    await pass(1_000);
    see("visible");
    await pass(10_000);
    expect(lastTo(`${AGENT}/events`).isAborted).toBe(false);
    see("hidden");
    await pass(6_000);
    expect(lastTo(`${AGENT}/events`).isAborted).toBe(true);
    see("visible");
    await settle();
    expect(countTo(`${AGENT}/events`)).toBe(2);
    expect(lastTo(`${AGENT}/events`).headers.get("last-event-id")).toBe("-.0.0.0.3");
  });

  it("stops to ask for a conversation that is gone", async () => {
    const stream = await open();
    await stream.cut();
    await pass(1_000);
    await lastTo(`${AGENT}/events`).refuse(404, "not_found");
    const before = countTo(`${AGENT}/events`);
    await pass(60_000);
    expect(countTo(`${AGENT}/events`)).toBe(before);
  });
});

describe("a message that is sent", () => {
  const POST = `${AGENT}/messages`;

  it("is shown once, though the history has it before it is accepted", async () => {
    const stream = await open();
    const sending = sendMessage(chat, sent("And now?"));
    await settle();
    await stream.send(["entry", entry(3, "user", "And now?", { seqs: [7] })]);
    expect(chat.sent.value).toEqual([]);
    await lastTo(POST, "POST").answer({ agentId: "a1", seq: 7 });
    await sending;
    expect(chat.sent.value).toEqual([]);
    expect(texts().filter((text) => text === "And now?")).toHaveLength(1);
  });

  it("is shown until the history has it, and an equal one waits for its own entry", async () => {
    const stream = await open();
    const sending = [sendMessage(chat, sent("Again")), sendMessage(chat, { ...sent("Again"), key: "second" })];
    await settle();
    await lastTo(POST, "POST").answer({ agentId: "a1", seq: 7 });
    await lastTo(POST, "POST").answer({ agentId: "a1", seq: 8 });
    await Promise.all(sending);
    await stream.send(["entry", entry(3, "user", "Again", { seqs: [7] })]);
    expect(chat.sent.value.map(({ seq }) => seq)).toEqual([8]);
    await stream.send(["entry", entry(4, "user", "Again", { seqs: [8] })]);
    expect(chat.sent.value).toEqual([]);
  });

  it("reaches the engine after the one before it", async () => {
    await open();
    void sendMessage(chat, sent("one"));
    void sendMessage(chat, sent("two"));
    await settle();
    expect(countTo(POST, "POST")).toBe(1);
    await lastTo(POST, "POST").refuse(400, "invalid_input", "too long");
    expect(lastTo(POST, "POST").body).toMatchObject({ text: "two" });
    expect(chat.sent.value.map(({ text, problem }) => [text, problem])).toEqual([
      ["one", "too long"],
      ["two", undefined],
    ]);
  });

  it("says why it was not sent, and is sent again with the same key and content", async () => {
    await open();
    const message = sent("And now?", { files: [{ id: "f1", name: "list.txt" }], mode: "steer" });
    const sending = sendMessage(chat, message);
    await settle();
    const [first] = asked.filter(({ method }) => method === "POST");
    for (let n = 0; n < 20 && chat.sent.value[0]?.problem === undefined; n++) {
      await lastTo(POST, "POST").lose();
      await pass(10_000);
    }
    await sending;
    expect(chat.sent.value[0]?.problem).toMatch(/connection|engine|gateway/i);
    const [failed] = chat.sent.value;
    if (failed) void sendMessage(chat, failed);
    await settle();
    expect(chat.sent.value[0]?.problem).toBeUndefined();
    const last = lastTo(POST, "POST");
    expect(last.headers.get("idempotency-key")).toBe(first?.headers.get("idempotency-key"));
    expect(last.body).toEqual(first?.body);
    expect(last.body).toMatchObject({ text: "And now?", files: ["f1"], queue: { mode: "steer" } });
    await last.answer({ agentId: "a1", seq: 9 });
    expect(chat.sent.value).toMatchObject([{ seq: 9 }]);
  });

  it("is shown above its answer, and below an answer that was in progress", () => {
    const [early, late] = [sent("early"), sent("late", { during: "r1" })];
    expect(placeSent([early, late], { runId: "r1" })).toEqual({ above: [early], below: [late] });
    expect(placeSent([early, late], { runId: "r2" })).toEqual({ above: [early, late], below: [] });
    expect(placeSent([early], undefined)).toEqual({ above: [early], below: [] });
  });
});
