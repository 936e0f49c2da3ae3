import { describe, expect, it } from "vitest";
import type { FileReference } from "../../core/file-reference.ts";
import type { AgentId, RunId } from "../../core/ids.ts";
import type { PersonId } from "../../core/people/person.ts";
import type { Connector, ConnectorCapabilities } from "../../core/ports/connector.ts";
import type { Op } from "../../core/store/change.ts";
import {
  createDeliveries,
  createReplyDeliveries,
  forSlot,
  isSilentReply,
  suppressed,
  withFileLines,
  withRoutes,
} from "./create-deliveries.ts";

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
    expect(only?.files).toEqual(files);
    expect(rest).toEqual([]);
  });
});

describe("files without words", () => {
  const file = { id: "a", name: "a.txt", mimeType: "text/plain", size: 1 } as FileReference;
  const connectors = new Map([
    ["test", { capabilities: { sendFiles: { modes: ["document"] } } } as unknown as Connector],
  ]);

  it.each([undefined, ""])("(%j) are sent alone, numbered from the start", (text) => {
    const made = createDeliveries({ ...draft(), connectors }, { text, files: [file], replyToId: "m1" });
    expect(made.map(({ id, payload }) => [id, payload])).toEqual([["r.4", { files: [file], person: "ann" }]]);
  });

  it("are one line each on a channel that cannot send them", () => {
    expect(withFileLines({ files: [file] })).toBe("[File: a.txt (text/plain, 1 bytes)]");
    expect(withFileLines({ text: "see", files: [] })).toBe("see");
    expect(createDeliveries({ ...draft(), connectors }, { text: "", files: [] })).toHaveLength(1);
  });
});

describe("a text that has no route yet", () => {
  it.each([
    [2_000, 1],
    [2_001, 2],
  ])("of %i characters has %i parts: no channel takes less than 2000", (length, parts) => {
    const made = createDeliveries({ ...draft(), target: { channel: "gone", to: "x" } }, { text: "x".repeat(length) });
    expect(made).toHaveLength(parts);
    expect(made.every(({ waits }) => waits?.state === "unroutable")).toBe(true);
  });
});

describe("answers to choose from", () => {
  const choices = [
    { label: "Yes", token: "y" },
    { label: "No", token: "n" },
  ];
  it.each([
    [true, "Sure?", "Sure?"],
    [false, "Sure?", "Sure?\n1. Yes\n2. No"],
    [false, undefined, "1. Yes\n2. No"],
    [false, "", "1. Yes\n2. No"],
  ])("on a channel with buttons (%s), of %j: %j", (buttons, text, shown) => {
    const connectors = new Map([["test", { capabilities: { sendText: true, buttons } } as unknown as Connector]]);
    const [only] = createDeliveries({ ...draft(), connectors }, { text, buttons: choices });
    expect(only?.payload).toMatchObject({ text: shown, buttons: choices });
  });
});

describe("deliveries among ops", () => {
  const target = { channel: "test", to: "ann" };
  const add = (more: object = {}): Op => ({ op: "delivery.add", delivery: { id: "d", target, ...more } }) as never;
  const takesOver = (wanted: { channel?: string }, profile?: string) =>
    wanted.channel === "person" && profile === "work" ? { channel: "bridge", to: "x" } : undefined;
  const connectors = new Map(
    [{ name: "test" }, { name: "bridge", takesOver }].map((one) => [one.name, one as unknown as Connector]),
  );
  const routedOf = (op: Op, profile = "work") => withRoutes([op], connectors, profile)[0];
  const person = { channel: "person", to: "ann" };

  it("keep their target if a connector sends there, and go where one takes them over", () => {
    expect(routedOf(add())).toEqual(add());
    expect(routedOf(add({ target: person }))).toEqual(add({ target: { channel: "bridge", to: "x" } }));
  });

  it("wait for a reader or a route if no connector sends there", () => {
    const api = { channel: "api", to: "ann", threadId: 3 };
    expect(routedOf(add({ target: api }))).toEqual(
      add({ target: { channel: "api", to: "ann" }, waits: { state: "waiting-reader" } }),
    );
    expect(routedOf(add({ target: person }), "home")).toEqual(
      add({ target: person, waits: { state: "unroutable", reason: "no route to ann" } }),
    );
  });

  it("stay as they are if they have ended or wait, and so do other ops", () => {
    const gone = { target: { channel: "gone", to: "x" } };
    for (const op of [
      add({ ...gone, ended: { state: "failed", reason: "r" } }),
      add({ ...gone, waits: { state: "waiting-reader" } }),
      { op: "fact.put", key: "k", value: "v" } as Op,
    ])
      expect(routedOf(op)).toBe(op);
  });
});

describe("the slot of a trigger", () => {
  const [made] = createDeliveries(draft(), { text: "hi" });
  const ended = suppressed(draft(), { text: "hi" }, "silent reply");
  const named = (trigger: Parameters<typeof forSlot>[0]) =>
    forSlot(trigger, [made, ended] as never).map(({ payload }) => payload.slot);

  it("is named by every delivery that is sent", () => {
    const slot = { jobId: "j", slot: "s" };
    expect(named({ type: "cron", id: "j", slot: "s" })).toEqual([slot, undefined]);
    expect(named({ type: "heartbeat", id: "j", slot: "s" })).toEqual([slot, undefined]);
  });

  it.each([
    ["no trigger", undefined],
    ["no slot", { type: "cron", id: "j" }],
    ["a webhook", { type: "webhook", id: "j", slot: "s" }],
  ] as const)("is named by none with %s", (_, trigger) => {
    expect(named(trigger)).toEqual([undefined, undefined]);
  });

  it("leaves the rest of the payload", () => {
    expect(forSlot({ type: "cron", id: "j", slot: "s" }, [made] as never)).toMatchObject([
      { id: "r.4", payload: { text: "hi", person: "ann" } },
    ]);
  });
});

describe("a final reply", () => {
  const file = { id: "a", name: "a", mimeType: "x/y", size: 1 } as FileReference;
  it.each([
    [{ text: "" }, "empty answer"],
    [{}, "empty answer"],
    [{ mediaUrls: [], files: [] }, "empty answer"],
    [{ mediaUrls: ["/a"] }, undefined],
    [{ files: [file] }, undefined],
    [{ mediaUrls: ["/a"], files: [file] }, undefined],
  ])("of %j is suppressed: %s", (payload, reason) => {
    const [first] = createReplyDeliveries(draft(), payload, nothing);
    expect(first?.ended?.reason).toBe(reason);
  });

  it("that is suppressed keeps its place, its text and its person", () => {
    expect(createReplyDeliveries(draft(), { text: "NO_REPLY" }, nothing, { before: "b", behind: "e" })).toEqual([
      {
        ...{ id: "r.4", agentId: "a", runId: "r", target: { channel: "test", to: "ann" }, createdAt: 7 },
        payload: { text: "NO_REPLY", person: "ann" },
        ended: { state: "suppressed", reason: "silent reply" },
      },
    ]);
  });

  it.each([
    [{ mediaUrl: "/a" }, "end", { mediaUrl: "/a", text: "end" }],
    [{ mediaUrl: "/a", text: "hi" }, undefined, { mediaUrl: "/a", text: "hi" }],
    [{ mediaUrl: "/a" }, undefined, { mediaUrl: "/a" }],
    [{ text: "hi" }, "end", { text: "hi\n\nend" }],
  ])("%j, with %j behind it, is %j", (payload, behind, expected) => {
    const [only] = createReplyDeliveries(draft(), payload, nothing, { behind });
    expect(only?.payload).toEqual({ ...expected, person: "ann" });
  });

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
