import { describe, expect, it } from "vitest";
import type { ModelEvent, ModelMessage, ModelRequest, ModelResult } from "../../core/ports/model.ts";
import { offlineModel } from "./offline-model.ts";
import { OFFLINE_PHRASES, phraseIn } from "./offline-phrases.ts";

const OFFLINE_LABEL = "[offline model, not an LLM]";

const TOOLS = [...new Set(OFFLINE_PHRASES.map(({ tool }) => tool))];
const say = (text: string): ModelMessage => ({ role: "user", content: [{ type: "text", text }] });

const requestOf = (messages: readonly ModelMessage[], tools: readonly string[] = TOOLS): ModelRequest => ({
  model: "offline",
  system: "You are under test.",
  messages,
  tools: tools.map((name) => ({ name, description: "", parameters: {} })),
  sessionId: "s",
});

const ask = (
  messages: readonly ModelMessage[],
  tools?: readonly string[],
  events: ModelEvent[] = [],
): Promise<ModelResult> =>
  offlineModel.call(requestOf(messages, tools), new AbortController().signal, (event) => events.push(event));

const textOf = ({ content }: ModelResult): string =>
  content.map((block) => (block.type === "text" ? block.text : "")).join("");

describe("the offline model", () => {
  it.each<[string, object, object | undefined]>([
    ["Weather in Rome?", { city: { type: "string" } }, { city: "Rome" }],
    ["weather: New York", { city: { type: "string" } }, { city: "New York" }],
    ["Weather in Rome?", { city: { type: "string" }, day: { type: "string" } }, undefined],
    ["Weather in Rome?", { days: { type: "number" } }, undefined],
    ["Whether in Rome?", { city: { type: "string" } }, undefined],
  ])("tries a tool of one text that %j begins with, given %j", async (words, properties, given) => {
    const tools = [{ name: "weather", description: "", parameters: { properties } }];
    const { content } = await offlineModel.call(
      { ...requestOf([say(words)]), tools },
      new AbortController().signal,
      () => {},
    );
    expect(content).toEqual([
      given
        ? expect.objectContaining({ name: "weather", arguments: given })
        : expect.objectContaining({ type: "text" }),
    ]);
  });

  it("names itself in every answer, streams it, and gives the same answer to the same text", async () => {
    const events: ModelEvent[] = [];
    const first = await ask([say("tell me a story")], [], events);
    expect(textOf(first)).toBe(`${OFFLINE_LABEL} You said: tell me a story`);
    expect(events.map((event) => (event.type === "text" ? event.delta : "")).join("")).toBe(textOf(first));
    expect(await ask([say("tell me a story")], [])).toEqual(first);
    expect(first).toMatchObject({ provider: "offline", stopReason: "stop", usage: { cacheRead: 0 } });
  });

  it("suggests requests that the agent has tools for", async () => {
    expect(textOf(await ask([say("hello")]))).toContain('"read notes.txt"');
    expect(textOf(await ask([say("hello")], []))).not.toContain("Try:");
    expect(textOf(await ask([say("help")], ["read"]))).toContain("rookery models");
  });

  it.each<[string, string, object]>([
    ["ask librarian what do we know", "sessions_send", { sessionKey: "librarian", message: "what do we know" }],
    ["Ask the doctor: what is stuck?", "sessions_send", { sessionKey: "doctor", message: "what is stuck?" }],
    ["ask clerk to open the door", "sessions_send", { sessionKey: "clerk", message: "open the door" }],
    ["what is stuck?", "diagnose", {}],
    ['<system_message origin="x">what is stuck?</system_message>', "diagnose", {}],
    [
      "remind me in 10 seconds to drink tea",
      "cron",
      {
        action: "add",
        job: {
          name: "drink tea",
          schedule: { kind: "at", inMs: 10_000 },
          deleteAfterRun: true,
          payload: { kind: "systemEvent", text: "Reminder: drink tea" },
        },
      },
    ],
    [
      "Every minute, say hello.",
      "cron",
      {
        action: "add",
        job: {
          name: "say hello",
          schedule: { kind: "every", everyMs: 60_000 },
          payload: { kind: "systemEvent", text: "say hello" },
        },
      },
    ],
    ["what time is it", "current_time", {}],
    ["What time is it?", "current_time", {}],
    ["what's the date today?", "current_time", {}],
    ["list files", "list", {}],
    ["please list the files in notes", "list", { path: "notes" }],
    ["show me all files", "list", {}],
    ["read notes.txt", "read", { path: "notes.txt" }],
    ["Read the file docs/a.md.", "read", { path: "docs/a.md" }],
    ["write buy milk to notes.txt", "write", { path: "notes.txt", content: "buy milk" }],
    ['write "a to b" to notes.txt', "write", { path: "notes.txt", content: "a to b" }],
    [
      "in the background, read notes.txt",
      "start_background_agent",
      { prompt: "read notes.txt", name: "read notes.txt" },
    ],
    ["Do in the background: list files", "start_background_agent", { prompt: "list files", name: "list files" }],
    ["write line one\nline two to notes.txt", "write", { path: "notes.txt", content: "line one\nline two" }],
  ])("understands %j", async (words, tool, given) => {
    const events: ModelEvent[] = [];
    const result = await ask([say(words)], TOOLS, events);
    expect(result.stopReason).toBe("tool_calls");
    expect(result.content).toEqual([expect.objectContaining({ type: "toolCall", name: tool, arguments: given })]);
    expect(events).toEqual([expect.objectContaining({ type: "toolCall", name: tool })]);
    expect(textOf(await ask([say(words)], []))).toContain("You said:");
  });

  it.each([
    "read",
    "I read a book",
    "what is the meaning of time",
    "list",
    "write me a poem",
    "files",
    "ask me anything",
    "ask",
  ])("does not treat %j as a request", (words) => expect(phraseIn(words, TOOLS)).toBeUndefined());

  it("understands its own examples", () => {
    for (const { example, tool } of OFFLINE_PHRASES) expect(phraseIn(example, TOOLS)?.tool).toBe(tool);
  });

  it("answers from a tool's result, and says when the tool failed", async () => {
    const asked = await ask([say("read notes.txt")]);
    const call = asked.content[0];
    if (call?.type !== "toolCall") throw new TypeError("no call");
    const history = (isError: boolean, text: string): ModelMessage[] => [
      say("read notes.txt"),
      { role: "assistant", content: asked.content, stopReason: "tool_calls" },
      { role: "tool", toolCallId: call.id, toolName: "read", content: [{ type: "text", text }], isError },
    ];
    expect(textOf(await ask(history(false, "buy milk")))).toBe(`${OFFLINE_LABEL} notes.txt says:\nbuy milk`);
    expect(textOf(await ask(history(true, "no such file")))).toBe(`${OFFLINE_LABEL} read failed: no such file`);
    const again = await ask([
      ...history(false, "buy milk"),
      { role: "assistant", content: [{ type: "text", text: "x" }] },
      say("read notes.txt"),
    ]);
    expect(again.content[0]).toMatchObject({ type: "toolCall" });
    expect(again.content[0]).not.toMatchObject({ id: call.id });
  });

  it("repeats the findings of a subagent's report", async () => {
    const report = [
      'A background task "read notes.txt" just completed successfully.\n\nFindings:',
      `${OFFLINE_LABEL} notes.txt says:\nbuy milk\n\nStats: runtime 1s • tokens 3`,
    ].join("\n");
    expect(textOf(await ask([say(`<system_message origin="x">${report}</system_message>`)]))).toBe(
      `${OFFLINE_LABEL} read notes.txt: completed successfully.\n${OFFLINE_LABEL} notes.txt says:\nbuy milk`,
    );
  });

  it("answers a cron message, a heartbeat and a new schedule", async () => {
    const onTrigger = (origin: string, text: string) =>
      ask([say(`<system_message origin="${origin}">${text}</system_message>`)]);
    expect(textOf(await onTrigger("cron:j", "Reminder: tea"))).toBe(`${OFFLINE_LABEL} Reminder: tea`);
    expect(textOf(await onTrigger("heartbeat:main", "look"))).toBe(`${OFFLINE_LABEL} HEARTBEAT_OK`);
    for (const [words, answer] of [
      ["every minute say hello", "I will do that again and again, first at soon"],
      ["remind me in 5 minutes of tea", "I will remind you at soon"],
    ] as const) {
      const asked = await ask([say(words)]);
      const [call] = asked.content;
      if (call?.type !== "toolCall") throw new TypeError("no call");
      const result = await ask([
        say(words),
        { role: "assistant", content: asked.content, stopReason: "tool_calls" },
        { role: "tool", toolCallId: call.id, toolName: "cron", content: [{ type: "text", text: '{"next":["soon"]}' }] },
      ]);
      expect(textOf(result)).toBe(`${OFFLINE_LABEL} ${answer}.`);
    }
  });

  it("ends when it is aborted", async () => {
    const result = await offlineModel.call(requestOf([say("hello")]), AbortSignal.abort(), () => {});
    expect(result).toMatchObject({ stopReason: "aborted", error: { class: "aborted" } });
  });
});
