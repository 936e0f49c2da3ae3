/** The stream of `useChat`, read by the AI SDK's own transport and reader. */
import { DefaultChatTransport, readUIMessageStream, type UIMessage, type UIMessageChunk } from "ai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { lastText, modelResult } from "../../../../test/kit/model.ts";
import { pngOf } from "../../../adapters/files/samples.test-kit.ts";
import type { Model, ModelRequest } from "../../../core/ports/model.ts";
import { openTestGateway, ROOT_TOKEN, type TestGateway } from "../gateway.test-kit.ts";

let held: PromiseWithResolvers<void> | undefined;
/** Thinks, answers in words, calls a tool if it is asked for the time, and waits in between if the test holds it. */
const requests: ModelRequest[] = [];
const model: Model = {
  async call(request, _signal, onEvent) {
    requests.push(request);
    const text = lastText(request);
    if (text.includes("what time") && request.messages.at(-1)?.role !== "tool") {
      onEvent({ type: "text", delta: "Let me look." });
      return modelResult({ say: "Let me look.", call: [{ name: "session_status", with: {} }] });
    }
    if (text.includes("fail"))
      return modelResult({ content: [], stopReason: "error", error: { class: "auth", message: "no key" } });
    onEvent({ type: "thinking", delta: "Hm." });
    onEvent({ type: "text", delta: "You said " });
    await held?.promise;
    onEvent({ type: "text", delta: text });
    return modelResult(`You said ${text}`);
  },
};

let kit: TestGateway;
beforeAll(async () => {
  kit = await openTestGateway({ model });
});
afterAll(() => kit.close());

const transportOf = (token = ROOT_TOKEN) =>
  new DefaultChatTransport({ api: `${kit.gateway.url}/api/chat`, headers: { authorization: `Bearer ${token}` } });
const user = (text: string, id = text): UIMessage => ({ id, role: "user", parts: [{ type: "text", text }] });
const send = (chatId: string, ...messages: UIMessage[]) =>
  transportOf().sendMessages({
    ...{ chatId, messages, messageId: undefined, abortSignal: undefined },
    trigger: "submit-message",
  });
async function last(stream: ReadableStream<UIMessageChunk>): Promise<UIMessage | undefined> {
  let message: UIMessage | undefined;
  for await (const next of readUIMessageStream({ stream })) message = next;
  return message;
}
const textOf = (message: UIMessage | undefined): string =>
  message?.parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("|") ?? "";

describe("useChat", () => {
  it("gets the answer in parts: thoughts, text", async () => {
    const message = await last(await send("c1", user("hello")));
    expect(message?.role).toBe("assistant");
    expect(message?.parts).toMatchObject([
      { type: "step-start" },
      { type: "reasoning", text: "Hm.", state: "done" },
      { type: "text", text: "You said hello", state: "done" },
    ]);
  });

  it("sends files: an image as data, a text by its name", async () => {
    const png = await pngOf(8, 8);
    const url = `data:image/png;base64,${png.toString("base64")}`;
    const note = `data:text/plain;base64,${Buffer.from("buy milk").toString("base64")}`;
    const parts: UIMessage["parts"] = [
      { type: "text", text: "look" },
      { type: "file", mediaType: "image/png", filename: "a.png", url },
      { type: "file", mediaType: "text/plain", filename: "note.txt", url: note },
    ];
    await last(await send("files", { id: "f1", role: "user", parts }));
    const sent = requests.at(-1)?.messages.at(-1)?.content ?? [];
    expect(sent).toContainEqual({ type: "image", mimeType: "image/png", data: png.toString("base64") });
    expect(JSON.stringify(sent)).toMatch(/note\.txt.*buy milk/);
  });

  it("keeps one conversation per chat: the agent remembers it, and earlier messages are not sent twice", async () => {
    const earlier = user("hello");
    const answer: UIMessage = {
      id: "a",
      role: "assistant",
      parts: [{ type: "step-start" }, { type: "text", text: "x" }],
    };
    expect(textOf(await last(await send("c1", earlier, answer, user("again"))))).toBe("You said again");
    const { items } = (await kit.ask({ path: "/api/agents/agent:main:api:dm:c1/history" })).json as unknown as {
      items: { entry?: { role?: string } }[];
    };
    expect(items.filter(({ entry }) => entry?.role === "user")).toHaveLength(2);
  });

  it("shows steps and calls of tools", async () => {
    const message = await last(await send("c2", user("what time is it")));
    expect(message?.parts.map(({ type }) => type)).toEqual(
      expect.arrayContaining(["step-start", "text", "data-tool", "reasoning"]),
    );
    expect(message?.parts.find(({ type }) => type === "data-tool")).toMatchObject({
      data: { name: "session_status", state: "done" },
    });
    expect(textOf(message)).toContain("Let me look.");
  });

  it("resumes an answer that is being written, and has nothing to resume afterwards", async () => {
    held = Promise.withResolvers();
    const lost = await send("c3", user("slow"));
    const reader = lost.getReader();
    while ((await reader.read()).value?.type !== "text-delta");
    await reader.cancel();
    const resumed = await transportOf().reconnectToStream({ chatId: "c3" });
    held.resolve();
    held = undefined;
    expect(resumed).not.toBeNull();
    expect(textOf(await last(resumed as ReadableStream<UIMessageChunk>))).toBe("You said slow");
    expect(await transportOf().reconnectToStream({ chatId: "c3" })).toBeNull();
    expect(await transportOf().reconnectToStream({ chatId: "never" })).toBeNull();
  });

  it("shows another person or application nothing of a chat with the same name", async () => {
    await kit.ask({ method: "POST", path: "/api/people", body: { id: "eve" } });
    const mint = async (more: object): Promise<string> => {
      const body = { name: "t", scopes: ["chat"], ...more };
      return String((await kit.ask({ method: "POST", path: "/api/tokens", body })).json.token);
    };
    const [app, person] = [await mint({ app: "shop" }), await mint({ person: "eve" })];
    held = Promise.withResolvers();
    const stream = await send("c6", user("a secret"));
    const reader = stream.getReader();
    while ((await reader.read()).value?.type !== "text-delta");
    for (const token of [app, person]) {
      expect(await transportOf(token).reconnectToStream({ chatId: "c6" })).toBeNull();
      const model = "agent:main:api:dm:c6";
      expect((await kit.ask({ path: `/api/chat/c6/stream?model=${model}`, token })).status).toBe(403);
    }
    held.resolve();
    held = undefined;
    await reader.cancel();
    for (const token of [app, person]) {
      const own = await transportOf(token).sendMessages({
        ...{ chatId: "c6", messages: [user("mine")], messageId: undefined, abortSignal: undefined },
        trigger: "submit-message",
      });
      expect(textOf(await last(own))).toBe("You said mine");
    }
    const { text } = await kit.ask({ path: "/api/agents/agent:main:api:dm:c6/history" });
    expect(text).not.toContain("mine");
  });

  it("reports a run that failed", async () => {
    const chunks: UIMessageChunk[] = [];
    for await (const chunk of await send("c4", user("fail"))) chunks.push(chunk);
    expect(chunks.at(-1)).toMatchObject({ type: "error", errorText: expect.stringContaining("no key") });
  });

  it("refuses what it cannot do, and a token that may not", async () => {
    const body = { id: "c5", messages: [user("x")], trigger: "regenerate-message" };
    expect((await kit.ask({ method: "POST", path: "/api/chat", body })).json.error?.code).toBe("unsupported_trigger");
    for (const part of [
      { type: "file", mediaType: "image/png", url: "/etc/passwd" },
      { type: "source-url", url: "x" },
    ]) {
      const withPart = { id: "c5", messages: [{ id: "f", role: "user", parts: [part] }] };
      expect((await kit.ask({ method: "POST", path: "/api/chat", body: withPart })).status).toBe(400);
    }
    const { token } = await kit.mint("read");
    expect(
      (await kit.ask({ method: "POST", path: "/api/chat", token, body: { ...body, trigger: undefined } })).status,
    ).toBe(403);
    expect((await kit.ask({ path: "/api/chat/c1/stream", token: null })).status).toBe(401);
  });
});
