import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { api, type FakeModel, fakeModel, openaiClient, type Served, serve, userMessage } from "./serving.ts";

const MB = 1_000_000;
const NOTE = "The answer was cut off here: it is longer than 1000000 characters";

let model: FakeModel;
let served: Served;
beforeAll(async () => {
  model = await fakeModel();
  served = await serve(model);
});
afterAll(async () => {
  await served.stop();
  await model.close();
});

/** Streams `megabytes` as fast as the reader takes them, and counts what left this process. */
function flood(call: FakeModel["calls"][number], megabytes: number, chunkOf: (text: string) => string): () => number {
  const { response } = call;
  let sent = 0;
  const text = "x".repeat(10_000);
  const more = (): void => {
    while (!response.destroyed && sent < megabytes * MB) {
      const piece = chunkOf(text);
      sent += piece.length;
      if (!response.write(piece)) {
        response.once("drain", more);
        return;
      }
    }
    if (!response.destroyed) call.end();
  };
  more();
  return () => sent;
}

const event = (delta: object): string => `data: ${JSON.stringify({ choices: [{ index: 0, delta }] })}\n\n`;
const peakMemory = (pid: number): number => {
  const kilobytes = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  return Number(kilobytes) / 1_000;
};

let ids = 0;
const onLinux = process.platform === "linux";

describe("an answer of 100 MB", () => {
  it.each([
    ["in many events", (text: string) => event({ content: text })],
    ["as thinking", (text: string) => event({ reasoning_content: text })],
    [
      "as the arguments of a call",
      (text: string) => event({ tool_calls: [{ index: 0, id: "c", function: { name: "f", arguments: text } }] }),
    ],
    ["in one event without an end", (text: string) => text],
    ["of calls without a name", () => event({ tool_calls: [{ id: `c${++ids}`, function: { arguments: "" } }] })],
  ])("%s is cut while it streams, and the person and the history are told (L14)", async (how, chunkOf) => {
    const user = `ann ${how}`;
    let sent = (): number => 0;
    model.script = (call) => {
      // A call that was cut off is not executed; the model is told, and answers. Other calls summarise long conversations.
      if (call.body.messages.at(-1)?.role !== "user" || call.prompt !== "write much") {
        call.say("sorry");
        call.end();
        return;
      }
      if (how.startsWith("in one event")) call.response.write("data: ");
      sent = flood(call, 100, chunkOf);
    };
    const before = onLinux ? peakMemory(served.pid) : 0;
    const answer = await openaiClient(served.port).chat.completions.create({
      model: "main",
      user,
      messages: userMessage("write much"),
    });
    const text = answer.choices[0]?.message.content ?? "";
    const isCall = how.includes("call");
    if (isCall) expect(text).toBe("sorry");
    else {
      expect(text).toContain(NOTE);
      expect(text.length).toBeLessThan(1.01 * MB);
      expect(answer.choices[0]?.finish_reason).toBe("length");
    }
    // Not all of it was taken over the network.
    expect(sent()).toBeLessThan(60 * MB);
    const key = encodeURIComponent(`agent:main:api:dm:${encodeURIComponent(user)}`);
    const history = JSON.stringify(await api(served, `/api/agents/${key}/history?before=4`));
    expect(history.includes(NOTE)).toBe(true);
    expect(history.length).toBeLessThan(3 * MB);
    if (onLinux) expect(peakMemory(served.pid) - before).toBeLessThan(150);
  });

  it("reaches a person who reads a stream with its beginning and the note", async () => {
    model.script = (call) => {
      if (call.prompt === "write much") flood(call, 100, (text) => event({ content: text }));
      else call.end();
    };
    const stream = await openaiClient(served.port).chat.completions.create({
      model: "main",
      user: "stream",
      stream: true,
      messages: userMessage("write much"),
    });
    let text = "";
    let reason = "";
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta.content ?? "";
      reason = chunk.choices[0]?.finish_reason ?? reason;
    }
    expect(text.slice(MB)).toContain(NOTE);
    expect([text.slice(0, MB) === "x".repeat(MB), reason]).toEqual([true, "length"]);
  });
});
