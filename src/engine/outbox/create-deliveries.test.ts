import { describe, expect, it } from "vitest";
import type { FileReference } from "../../core/file-reference.ts";
import type { AgentId, RunId } from "../../core/ids.ts";
import type { PersonId } from "../../core/people/person.ts";
import type { Connector, ConnectorCapabilities } from "../../core/ports/connector.ts";
import { createDeliveries, createReplyDeliveries, isSilentReply } from "./create-deliveries.ts";

const draft = (maxTextLength?: number) => ({
  agentId: "a" as AgentId,
  runId: "r" as RunId,
  ordinal: 4,
  at: 7,
  target: { channel: "test", to: "ann" },
  person: "ann" as PersonId,
  connectors: new Map([["test", { capabilities: { sendText: true, maxTextLength } } as Connector]]),
});
const nothing = { texts: [], targets: [] };

describe("createDeliveries", () => {
  it("makes one delivery, whose id is the run and its ordinal", () => {
    expect(createDeliveries(draft(), { text: "hi", replyToId: "m1" })).toEqual([
      {
        id: "r.4",
        agentId: "a",
        runId: "r",
        target: { channel: "test", to: "ann" },
        payload: { text: "hi", replyToId: "m1", person: "ann" },
        createdAt: 7,
      },
    ]);
  });

  it("numbers what stands before a reply and the reply itself one after the other", () => {
    const made = createReplyDeliveries(draft(4), { text: "abc" }, nothing, { before: "one two", behind: "end" });
    expect(made.map(({ id, payload }) => `${id} ${payload.text}`)).toEqual([
      "r.4 one",
      "r.5 two",
      "r.6 abc",
      "r.7 end",
    ]);
  });

  it("makes one delivery per part of a long text; the first carries the reply id and the media, all carry isError", () => {
    const parts = createDeliveries(draft(4), { text: "one two", replyToId: "m1", mediaUrl: "/a.png", isError: true });
    expect(parts.map(({ id, payload }) => [id, payload])).toEqual([
      ["r.4", { text: "one", replyToId: "m1", mediaUrl: "/a.png", isError: true, person: "ann" }],
      ["r.5", { text: "two", isError: true, person: "ann" }],
    ]);
  });

  it("makes one delivery without text from a payload without text", () => {
    expect(createDeliveries(draft(4), { mediaUrl: "/a.png" }).map(({ payload }) => payload)).toEqual([
      { mediaUrl: "/a.png", person: "ann" },
    ]);
  });

  it("does not split a text for a channel without a limit", () => {
    const text = "x".repeat(100_000);
    expect(createDeliveries(draft(), { text }).map(({ payload }) => payload.text)).toEqual([text]);
  });

  it("does not split a text for a channel that is not connected", () => {
    expect(createDeliveries({ ...draft(4), target: { channel: "absent", to: "x" } }, { text: "one two" })).toHaveLength(
      1,
    );
  });
});

describe("files", () => {
  const files = ["a", "b"].map((id) => ({ id, name: `${id}.txt`, mimeType: "text/plain", size: 1 }) as FileReference);
  const payloads = (connector: Partial<ConnectorCapabilities> | undefined) => {
    const connectors = new Map(
      connector ? [["test", { capabilities: { sendText: true, ...connector } } as Connector]] : [],
    );
    return createDeliveries({ ...draft(), connectors }, { text: "see", files }).map(({ payload }) => payload);
  };
  const apart = [
    { text: "see", person: "ann" },
    { files: [files[0]], person: "ann" },
    { files: [files[1]], person: "ann" },
  ];

  it("are rows of their own behind the text, also if it is not known yet which channel sends them", () => {
    expect(payloads({ sendFiles: { modes: ["document"] } })).toEqual(apart);
    expect(payloads(undefined)).toEqual(apart);
  });

  it("are named in the text for a channel that cannot send them", () => {
    const [only, ...rest] = payloads({});
    expect(only?.text).toBe("see\n[File: a.txt (text/plain, 1 bytes)]\n[File: b.txt (text/plain, 1 bytes)]");
    expect(rest).toEqual([]);
  });
});

describe("a final reply", () => {
  const here = { channel: "test", to: "ann" };
  const elsewhere = { channel: "test", to: "bob" };
  for (const [what, payload, sent, reason] of [
    ["with text", { text: "hi" }, nothing, undefined],
    ["that is empty", { text: " " }, nothing, "empty answer"],
    ["without text but with a picture", { text: "", mediaUrl: "/a" }, nothing, undefined],
    ["that is silent", { text: "NO_REPLY" }, nothing, "silent reply"],
    ["that was sent here before", { text: "hi " }, { texts: [" hi"], targets: [here] }, "already sent by a tool"],
    ["that was sent elsewhere before", { text: "hi" }, { texts: ["hi"], targets: [elsewhere] }, undefined],
    [
      "that was sent elsewhere, with another text here,",
      { text: "hi" },
      { texts: ["hi", "x"], targets: [elsewhere, here] },
      undefined,
    ],
    ["that differs from a text sent here", { text: "hi" }, { texts: ["bye"], targets: [here] }, undefined],
  ] as const) {
    it(`${what} is ${reason ? `suppressed: ${reason}` : "sent"}`, () => {
      const [delivery] = createReplyDeliveries(draft(), payload, sent);
      expect(delivery?.ended).toEqual(reason ? { state: "suppressed", reason } : undefined);
    });
  }
});

describe("a silent reply", () => {
  for (const [text, silent] of [
    ["NO_REPLY", true],
    ["  NO_REPLY\n", true],
    ["NO_REPLY.", true],
    ["NO_REPLY, nothing to say", true],
    ["Nothing to say. NO_REPLY", true],
    ["NO_REPLYING", false],
    ["MY_NO_REPLY", false],
    ["I will answer NO_REPLY to that question", false],
    ["no_reply", false],
    ["", false],
  ] as const) {
    it(`${JSON.stringify(text)} is ${silent ? "" : "not "}silent`, () => {
      expect(isSilentReply(text)).toBe(silent);
    });
  }
});
