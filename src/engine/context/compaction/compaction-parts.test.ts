/** The pure parts of a compaction: sizes, cuts, what is carried along, texts for the model that summarises. One table each. */
import { describe, expect, test } from "vitest";
import { DEFAULT_CONTEXT_LIMITS } from "../../../core/history/compaction-settings.ts";
import type { Block, Entry } from "../../../core/history/entry.ts";
import { fileBlock } from "../../../core/history/file-block.ts";
import type { AgentId, EntryId, RunId } from "../../../core/ids.ts";
import type { ModelMessage } from "../../../core/ports/model.ts";
import { thresholdsOf } from "../measure-context.ts";
import { carriedAlong, carriedText, withoutCarried } from "./carried-along.ts";
import { chooseCut, type Sized } from "./choose-cut.ts";
import { compactionDetails } from "./compaction-details.ts";
import { describeCompaction } from "./describe-compaction.ts";
import { EMPTY_SIZE, estimateMessage, sizeOfMessages, sizeWith } from "./estimate-tokens.ts";
import { applyMeasure, cutText, measuresFor, TRUNCATED_CHARS } from "./measures.ts";
import { baseOf, currentEntries, planCompaction, sizedEntries } from "./plan-compaction.ts";
import { conversationChunks, serialiseMessages } from "./serialise.ts";
import { harmless, isSummary, PREFIX_PROMPT, SUMMARY_PROMPT, summaryRequest, UPDATE_PROMPT } from "./summary-prompt.ts";

const AGENT = "a".repeat(24) as AgentId;
const text = (words: string): Block => ({ type: "text", text: words });
const call = (id: string, name = "read", args: Record<string, unknown> = {}): Block => ({
  ...{ type: "toolCall", id, name, arguments: args },
});
const image: Block = { type: "image", data: "A".repeat(9_000), mimeType: "image/png" };
const file = (as: "image" | "text" | "reference", characters?: number): Block =>
  fileBlock("[f]", { id: "f", name: "f", mimeType: "m", size: 1, as, characters });
const message = (role: ModelMessage["role"], ...content: Block[]): ModelMessage => ({ role, content });

let count = 0;
const entry = (more: object): Entry =>
  ({ id: `e${++count}`, parentId: null, timestamp: 1, ...more }) as unknown as Entry;
const said = (role: "user" | "assistant" | "tool", content: Block[], more: object = {}): Entry =>
  entry({ type: "message", role, content, ...more });
const user = (words = "hi", more: object = {}) => said("user", [text(words)], more);
const assistant = (words = "ok", more: object = {}) => said("assistant", [text(words)], more);
const calling = (...ids: string[]) =>
  said(
    "assistant",
    ids.map((id) => call(id)),
  );
const result = (toolCallId: string, words = "out") => said("tool", [text(words)], { toolCallId });
const compaction = (firstKept: Entry | undefined, details: object = {}, summary = "before") =>
  entry({ type: "compaction", summary, firstKeptEntryId: firstKept?.id ?? "gone", tokensBefore: 9, details });

describe("the size of one message", () => {
  test.each<[string, Block[], number]>([
    ["an image that stands for a file", [file("image")], 1_201],
    ["the text of a file", [file("text", 40)], 11],
    ["a file whose text is not shown", [file("reference")], 1],
    ["several blocks together", [text("12"), { type: "thinking", thinking: "34" }, text("5")], 2],
    [
      "arguments with two images in a list",
      [call("1", "n", { a: [image, image] })],
      Math.ceil((1 + '{"a":["",""]}'.length + 2 * 4_800) / 4),
    ],
    [
      "what looks like an image and has no data",
      [call("1", "n", { a: { type: "image", data: 5 } })],
      Math.ceil((1 + '{"a":{"type":"image","data":5}}'.length) / 4),
    ],
    [
      "what is called an image and is another type",
      [call("1", "n", { type: "text", data: "x" })],
      Math.ceil((1 + '{"type":"text","data":"x"}'.length) / 4),
    ],
    ["null and numbers", [call("1", "n", { a: null, b: 5 })], Math.ceil((1 + '{"a":null,"b":5}'.length) / 4)],
  ])("%s", (_title, content, tokens) => {
    expect(estimateMessage(message("user", ...content))).toBe(tokens);
  });

  test("an image deep in arguments is found to the sixth level, and is text below it", () => {
    const deep = (levels: number): Record<string, unknown> => ({ a: levels === 0 ? image : deep(levels - 1) });
    const size = (levels: number): number => estimateMessage(message("user", call("1", "n", deep(levels))));
    expect(size(5)).toBeLessThan(1_300);
    expect(size(6)).toBeGreaterThan(2_000);
  });

  test("counts of providers replace estimates, and a count of nothing does not", () => {
    const usage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0 };
    const forty = [message("user", text("x".repeat(40)))];
    expect(sizeOfMessages(forty)).toEqual({ counted: undefined, since: 10, all: 10 });
    expect(sizeWith(sizeOfMessages(forty), assistant("x", { usage, stopReason: "stop" }), forty)).toEqual({
      ...{ counted: undefined, since: 20, all: 20 },
    });
    const one = { ...usage, totalTokens: 1 };
    expect(sizeWith(EMPTY_SIZE, assistant("x", { usage: one }), forty)).toEqual({ counted: 1, since: 0, all: 10 });
    expect(sizeWith(EMPTY_SIZE, user("x", { usage: one }), forty)).toEqual({ counted: undefined, since: 10, all: 10 });
    expect(sizeWith({ counted: 5, since: 3, all: 9 }, compaction(undefined), forty)).toEqual({
      ...{ counted: undefined, since: 0, all: 19 },
    });
  });
});

describe("where a history is cut", () => {
  const sized = (...all: readonly [Entry, number][]): Sized[] => all.map(([one, tokens]) => ({ entry: one, tokens }));
  const custom = () => entry({ type: "custom", name: "n", data: 1 });
  test.each<[string, Sized[], number, object | undefined]>([
    ["nothing, if all fits", sized([user(), 5], [assistant(), 5]), 10, undefined],
    [
      "before the last turn that fits",
      sized([user(), 5], [assistant(), 5], [user(), 5], [assistant(), 5]),
      10,
      { index: 2 },
    ],
    [
      "one token less",
      sized([user(), 5], [assistant(), 5], [user(), 5], [assistant(), 5]),
      9,
      { index: 3, turnStart: 2 },
    ],
    [
      "within a turn that is too long",
      sized([user(), 5], [assistant(), 50], [assistant(), 5]),
      10,
      { index: 2, turnStart: 0 },
    ],
    [
      "in a turn, at the first message that fits",
      sized([user(), 100], [assistant(), 10], [assistant(), 10], [assistant(), 10]),
      20,
      { index: 2, turnStart: 0 },
    ],
    [
      "nothing, if all of it fits, also if it begins within a turn",
      sized([assistant(), 5], [user(), 5]),
      100,
      undefined,
    ],
    ["before the first of several turns that fit", sized([user(), 50], [user(), 5], [user(), 5]), 10, { index: 1 }],
    ["nothing, if what lies before adds nothing", sized([assistant(), 0], [user(), 50]), 10, undefined],
    ["behind a single token", sized([user(), 1], [user(), 50]), 10, { index: 1 }],
    [
      "before the last one with content",
      sized([user(), 5], [assistant(), 500], [assistant(), 0]),
      10,
      { index: 1, turnStart: 0 },
    ],
    [
      "in the turn before the words that came between a call and its result",
      sized([user(), 50], [assistant(), 5], [calling("a"), 5], [user("and also"), 5], [result("a"), 5]),
      12,
      { index: 2, turnStart: 0 },
    ],
    [
      "not at a result, even without its call",
      sized([user(), 50], [result("x"), 5], [assistant(), 5]),
      10,
      { index: 2, turnStart: 0 },
    ],
    [
      "together with one that belongs to the next turn",
      sized([user(), 50], [custom(), 0], [user(), 5]),
      10,
      { index: 1 },
    ],
    ["before the last one, whatever its size", sized([user(), 5], [assistant(), 500]), 10, { index: 1, turnStart: 0 }],
    [
      "not between a call and its result",
      sized([user(), 5], [calling("a"), 5], [result("a"), 50], [assistant(), 5]),
      20,
      { index: 3, turnStart: 0 },
    ],
    [
      "not between two results",
      sized([user(), 5], [calling("a", "b"), 5], [result("a"), 5], [result("b"), 5]),
      7,
      { index: 1, turnStart: 0 },
    ],
    [
      "not at words that came between a call and its result",
      sized([user(), 50], [calling("a"), 5], [user("and also"), 5], [result("a"), 5], [assistant(), 5]),
      16,
      { index: 4, turnStart: 2 },
    ],
    ["nothing, if only what is not sent lies before", sized([custom(), 0], [user(), 50]), 10, undefined],
    [
      "together with what belongs to the next turn",
      sized([user(), 50], [custom(), 0], [custom(), 0], [user(), 5]),
      10,
      { index: 1 },
    ],
    [
      "before words that were put in",
      sized([user(), 50], [entry({ type: "custom_message", content: [] }), 5], [assistant(), 5]),
      10,
      { index: 1 },
    ],
    [
      "before the summary of a branch",
      sized([user(), 50], [entry({ type: "branch_summary", summary: "s" }), 5], [assistant(), 5]),
      10,
      { index: 1 },
    ],
    ["in a history without a turn", sized([assistant(), 50], [assistant(), 5]), 10, { index: 1 }],
    [
      "a result without its call holds nothing together",
      sized([user(), 50], [result("x"), 5], [assistant(), 5]),
      5,
      { index: 2, turnStart: 0 },
    ],
    [
      "a call that is used again",
      sized([user(), 50], [calling("a"), 5], [result("a"), 5], [user(), 5], [calling("a"), 5], [result("a"), 5]),
      15,
      { index: 3 },
    ],
  ])("%s", (_title, entries, keep, cut) => {
    expect(chooseCut(entries, keep)).toEqual(cut);
  });
});

describe("what is carried along", () => {
  const words = (...all: string[]) => all.map((one) => message("user", text(one)));
  test("files that were read and changed, each once, sorted, a changed one only as changed", () => {
    const messages = [
      message("assistant", call("1", "read", { path: "/b" }), call("2", "read", { path: "/a" })),
      message("assistant", call("3", "write", { path: "/a" }), call("4", "edit", { path: "/c" })),
      message("assistant", call("5", "grep", { path: "/d" }), call("6", "read", { path: 5 }), text("read /e")),
    ];
    expect(carriedAlong(messages, { readFiles: ["/z", "/c"], modifiedFiles: ["/y"] })).toMatchObject({
      readFiles: ["/b", "/z"],
      modifiedFiles: ["/a", "/c", "/y"],
    });
  });

  test("at most two hundred files", () => {
    const many = Array.from({ length: 201 }, (_, n) => `/f${String(n).padStart(3, "0")}`);
    const carried = carriedAlong([], { readFiles: many, modifiedFiles: many.map((one) => `/m${one}`) });
    expect(carried.readFiles).toEqual(many.slice(0, 200));
    expect(carried.modifiedFiles).toHaveLength(200);
  });

  test.each<[string, string, string[], string[]]>([
    ["words in backticks", "run `npm test` and `x`", ["npm test", "x"], []],
    ["not across lines", "a `b\nc` d", [], []],
    ["addresses", "see https://a.b/c?d=1) and mail a.b+c@d.example now", [], ["https://a.b/c?d=1", "a.b+c@d.example"]],
    [
      "ids and tickets",
      "ABC-12 and 0123abcd-0123-0123-0123-0123456789ab",
      [],
      ["ABC-12", "0123abcd-0123-0123-0123-0123456789ab"],
    ],
    ["hashes, not words", "deadbeef1 defaced 1234567", [], ["deadbeef1"]],
    ["each once, where it was last", "`a` `b` `a`", ["b", "a"], []],
    ["nothing that looks like a tag", "`<b>` `c>`", [], []],
    ["a name that is long enough", `\`${"x".repeat(160)}\` \`${"y".repeat(161)}\``, ["x".repeat(160)], []],
    ["not twice", "`ABC-12` ABC-12", ["ABC-12"], []],
    ["without the blanks around them", "` tea ` and `tea`, not ` `", ["tea"], []],
  ])("%s", (_title, said, identifiers, references) => {
    expect(carriedAlong(words(said))).toMatchObject({ identifiers, references });
  });

  test("not what tools have said, and what was carried before comes first", () => {
    const carried = carriedAlong([message("tool", text("`no`")), message("assistant", text("`yes`"))], {
      ...{ identifiers: ["old"], references: ["OLD-1"] },
    });
    expect(carried).toMatchObject({ identifiers: ["old", "yes"], references: ["OLD-1"] });
  });

  test("the newest that fit, in number and in characters", () => {
    const marked = (length: number, size = 1) =>
      Array.from({ length }, (_, n) => `\`${String(n).padStart(4, "0")}${"x".repeat(size)}\``).join(" ");
    const many = carriedAlong(words(marked(201))).identifiers;
    expect([many.length, many[0]]).toEqual([200, "0001x"]);
    // 150 characters and one each: 39 fit into 6,000.
    const long = carriedAlong(words(marked(60, 146))).identifiers;
    expect([long.length, long.at(-1)]).toEqual([39, `0059${"x".repeat(146)}`]);
    const tickets = Array.from({ length: 61 }, (_, n) => `AB-${1000 + n}`).join(" ");
    const references = carriedAlong(words(tickets)).references;
    expect([references.length, references[0]]).toEqual([60, "AB-1001"]);
    const urls = Array.from({ length: 40 }, (_, n) => `https://a.b/${100 + n}${"y".repeat(84)}`).join(" ");
    expect(carriedAlong(words(urls)).references).toHaveLength(30);
  });

  test("as blocks behind a summary, without what the summary says, and taken off again", () => {
    const carried = {
      readFiles: ["/a"],
      modifiedFiles: ["/b", "/c"],
      identifiers: ["known", "new"],
      references: ["AB-1"],
    };
    const block = carriedText("known", carried);
    expect(block).toBe(
      "\n\n<read-files>\n/a\n</read-files>\n\n<modified-files>\n/b\n/c\n</modified-files>\n\n<identifiers>\nnew\nAB-1\n</identifiers>",
    );
    expect(withoutCarried(`known${block} tail`)).toBe("known tail");
    expect(carriedText("", { readFiles: [], modifiedFiles: [], identifiers: [], references: [] })).toBe("");
  });

  test.each([
    ["a\n\n<identifiers>\nx", "a\n\n<identifiers>\nx"],
    ["a\n\n<identifiers>\n</identifiers>b", "ab"],
    ["a\n\n<identifiers>\nx\n\n<read-files>\ny\n</read-files>", "a\n\n<identifiers>\nx"],
    ["a\n\n<read-files>\nx\n\n<identifiers>\ny\n</read-files>b\n\n<identifiers>\nz\n</identifiers>c", "abc"],
    ["a\n<identifiers>\nx\n</identifiers>", "a\n<identifiers>\nx\n</identifiers>"],
    ["plain", "plain"],
    ["a\n</identifiers>b\n\n<identifiers>\nx\n</identifiers>c", "a\n</identifiers>bc"],
  ])("%j without its blocks is %j", (summary, rest) => {
    expect(withoutCarried(summary)).toBe(rest);
  });
});

describe("measures without a model", () => {
  test("leave 2,000 characters of an output, or 500, or 100", () => {
    expect(TRUNCATED_CHARS).toEqual([2_000, 500, 100]);
  });

  test.each([
    ["abc", 3, "abc"],
    ["abcdefghij", 5, "abc\n[… 5 characters left out to save room …]\nij"],
    ["ab", 1, "a\n[… 1 characters left out to save room …]\n"],
    ["abcdef", 2, "ab\n[… 4 characters left out to save room …]\n"],
    ["abcdef", 3, "ab\n[… 3 characters left out to save room …]\nf"],
    ["a😀bcdefgh😀", 4, "a\n[… 7 characters left out to save room …]\n"],
  ])("%j in %d characters", (given, chars, cut) => {
    if (given.includes("😀")) expect(cutText(given, chars)).not.toMatch(/[\ud800-\udfff](?![\udc00-\udfff])|\uFFFD/u);
    else expect(cutText(given, chars)).toBe(cut);
  });

  const through = "e9" as EntryId;
  test("cut outputs of tools only, and leave images out everywhere", () => {
    const truncate = { kind: "truncate", chars: 5, through } as const;
    const images = { kind: "images", through } as const;
    const long = message("tool", text("x".repeat(9)), image);
    expect(applyMeasure(long, truncate).content[0]).not.toEqual(long.content[0]);
    expect(applyMeasure(long, truncate).content[1]).toBe(image);
    for (const same of [message("user", text("x".repeat(9))), message("tool", text("x".repeat(5)))])
      expect(applyMeasure(same, truncate)).toBe(same);
    expect(applyMeasure(message("user", image, text("a"), file("image"), file("text", 3)), images).content).toEqual([
      ...[text("<image>"), text("a"), text("[f] <image>"), file("text", 3)],
    ]);
    const plain = message("user", text("a"));
    expect(applyMeasure(plain, images)).toBe(plain);
  });

  test("reach the entries up to theirs", () => {
    const path = [user(), assistant(), user()];
    const measure = { kind: "images", through: path[1]?.id as EntryId } as const;
    const reach = measuresFor(path, [measure, { ...measure, through: "gone" as EntryId }]);
    expect(path.map((_, at) => reach(at).length)).toEqual([1, 1, 0]);
    expect(measuresFor(path, [])(0)).toEqual([]);
  });
});

describe("a plan", () => {
  test("begins where the compaction before began to keep, and knows what it builds upon", () => {
    const [a, b, c] = [user("a"), user("b"), user("c")];
    const marker = entry({ type: "reset", sessionId: "s" });
    const last = compaction(b, { measures: [] });
    expect(currentEntries([marker, a, b, last, c])).toEqual({ entries: [b, c], previous: last });
    expect(currentEntries([a, compaction(undefined), c]).entries).toEqual([c]);
    expect(currentEntries([a, b])).toEqual({ entries: [a, b], previous: undefined });
    expect(baseOf([marker, a, last, c])).toEqual({ marker: marker.id, compaction: last.id });
    expect(baseOf([a])).toEqual({ marker: undefined, compaction: undefined });
  });

  test("is refused if nothing has come since, or nothing lies before the cut", () => {
    expect(planCompaction(AGENT, [user(), compaction(undefined)], 10)).toEqual({ refused: "Already compacted." });
    expect(planCompaction(AGENT, [user()], 10)).toEqual({ refused: "Nothing to compact." });
  });

  test("covers what lies before the cut, keeps the rest, and carries the measures that reach into it", () => {
    const [a, b, c, d] = [user("a".repeat(400)), assistant("b"), user("c"), assistant("d")];
    const measures = [
      { kind: "images", through: a.id },
      { kind: "images", through: c.id },
    ];
    const before = compaction(a, { measures }, "sum");
    const planned = planCompaction(AGENT, [a, b, c, before, d], 5);
    if (!("plan" in planned)) throw new TypeError("no plan");
    expect(planned.plan).toMatchObject({
      ...{ history: [a, b], prefix: [], firstKeptEntryId: c.id },
      covered: { from: a.id, through: b.id, messages: 2 },
      measures: [measures[1]],
      previous: { summary: "sum" },
      base: { compaction: before.id },
      request: undefined,
    });
  });

  test("of a turn that is cut in two has its beginning and its request", () => {
    const turn = (more: object = {}) => [
      ...[
        user("old"),
        assistant("old"),
        user("do this", more),
        assistant("x".repeat(400), more),
        assistant("end", more),
      ],
    ];
    const plan = (path: Entry[], keep = 5) => {
      const planned = planCompaction(AGENT, path, keep);
      if (!("plan" in planned)) throw new TypeError("no plan");
      return planned.plan;
    };
    const path = turn();
    expect(plan(path)).toMatchObject({
      ...{ history: path.slice(0, 2), prefix: path.slice(2, 4), firstKeptEntryId: path[4]?.id },
      request: { texts: ["do this"] },
    });
    const ofRun = turn({ runId: "r" });
    expect(plan(ofRun).request).toEqual({ texts: ["do this"], runId: "r" });
    // What steered it later counts as much, and so does what was carried before of the same run.
    const steered = [
      ...turn({ runId: "r" }).slice(2, 4),
      user("and that", { runId: "r" }),
      assistant("x".repeat(99), { runId: "r" }),
      assistant("e", { runId: "r" }),
    ];
    expect(plan(steered).request?.texts).toEqual(["do this", "and that"]);
    const carried = (requestRunId?: string) =>
      plan([assistant("k", { runId: "r" }), compaction(undefined, { request: ["first"], requestRunId }), ...steered])
        .request?.texts;
    expect(carried("r")).toEqual(["first", "do this", "and that"]);
    expect(carried("q")).toEqual(["do this", "and that"]);
    expect(plan([user("  "), assistant("x".repeat(400)), assistant("e")]).request).toBeUndefined();
  });

  test("cuts a long request, at least eighty characters of each, at most forty", () => {
    const run = { runId: "r" as RunId };
    const asked = (count: number, size: number) =>
      Array.from({ length: count }, (_, n) => user(`${n}:${"w".repeat(size)}`, run));
    const texts = (count: number, size: number, keep: number) => {
      const planned = planCompaction(
        AGENT,
        [...asked(count, size), assistant("x".repeat(4 * keep + 8), run), assistant("e", run)],
        keep,
      );
      return "plan" in planned ? (planned.plan.request?.texts ?? []) : [];
    };
    expect(texts(1, 50, 5)).toEqual([`0:${"w".repeat(50)}`]);
    const left = (one: string | undefined) => (one ?? "").replace(/\n\[…[^\]]*\]\n/u, "").length;
    expect(left(texts(1, 200, 5)[0])).toBe(80);
    expect(left(texts(1, 900, 200)[0])).toBe(400);
    expect(left(texts(1, 9_000, 4_000)[0])).toBe(4_000);
    expect(left(texts(2, 900, 200)[0])).toBe(200);
    const many = texts(41, 5, 5);
    expect([many.length, many[0]]).toEqual([40, "1:wwwww"]);
  });

  test("counts entries as they are sent, with the measures before", () => {
    const out = result("a", "o".repeat(4_000));
    const path = [user(), calling("a"), out];
    const plain = sizedEntries(AGENT, path).map(({ tokens }) => tokens);
    const cut = sizedEntries(AGENT, [
      ...path,
      compaction(path[0], { measures: [{ kind: "truncate", chars: 100, through: out.id }] }),
    ]);
    expect(plain[2]).toBe(1_000);
    expect(cut[2]?.tokens).toBeLessThan(50);
    expect(cut.map(({ tokens }) => tokens).slice(0, 2)).toEqual(plain.slice(0, 2));
  });
});

describe("a conversation as text", () => {
  test.each<[string, ModelMessage, string[]]>([
    ["of a person", message("user", text("a"), text("b")), ["[User]: a\nb"]],
    ["without words", message("user"), []],
    ["with an image", message("user", image), ["[User]: <image>"]],
    ["of a tool", message("tool", text("")), ["[Tool result]: "]],
    [
      "of an assistant",
      message(
        "assistant",
        { type: "thinking", thinking: "hm" },
        text("yes"),
        call("1", "read", { path: "/a", n: 1, x: undefined }),
        call("2", "ls"),
      ),
      ["[Assistant thinking]: hm", "[Assistant]: yes", '[Assistant tool calls]: read(path="/a", n=1, x=null); ls()'],
    ],
    ["of an assistant that says nothing", message("assistant", { type: "thinking", thinking: " " }, text(" ")), []],
  ])("%s", (_title, one, texts) => {
    expect(serialiseMessages([one])).toEqual(texts);
  });

  test("cuts what tools have said, what was thought and what was asked of tools", () => {
    const long = "x".repeat(2_001);
    const without = (one: string) => one.replace(/\n\[…[^\]]*\]\n/u, "").length;
    const [thought, asked] = serialiseMessages([
      message("assistant", { type: "thinking", thinking: long }, call("1", "t", { a: long })),
    ]);
    expect(without(thought ?? "")).toBe("[Assistant thinking]: ".length + 2_000);
    expect(without(asked ?? "")).toBe("[Assistant tool calls]: t()".length + 2_000);
    expect(without(serialiseMessages([message("tool", text(long))])[0] ?? "")).toBe("[Tool result]: ".length + 2_000);
    expect(serialiseMessages([message("user", text(long))])[0]).toHaveLength("[User]: ".length + 2_001);
  });

  test("is divided into portions, in order, with nothing left out", () => {
    const words = (n: number, size: number) => message("user", text(String(n).padStart(size, "0")));
    // A portion has at least 400 characters.
    const messages = Array.from({ length: 6 }, (_, n) => words(n, 192));
    const chunks = conversationChunks(messages, 1);
    expect(chunks).toHaveLength(6);
    expect(conversationChunks(messages, 100.5)).toHaveLength(3);
    expect(conversationChunks(messages, 100.5)[0]).toHaveLength(402);
    expect(chunks.join("")).toContain("5");
    const [first = "", second = ""] = conversationChunks([words(1, 700)], 1);
    expect([first.length, second.length]).toEqual([400, 308]);
    expect(conversationChunks([], 100)).toEqual([]);
  });

  test("beyond twelve portions is cut shorter, beyond twenty-four without its oldest part", () => {
    const many = (count: number) =>
      Array.from({ length: count }, (_, n) => message("tool", text(`${n} ${"y".repeat(1_000)}`)));
    expect(conversationChunks(many(4), 100)).toHaveLength(12);
    const shorter = conversationChunks(many(10), 100);
    expect(shorter.length).toBeLessThanOrEqual(24);
    expect(shorter[0]).not.toContain("the oldest part is left out");
    // Texts of people are cut so far that all of them together take about twelve portions.
    const long = Array.from({ length: 12 }, (_, n) => message("user", text(`${n} ${"y".repeat(5_000)}`)));
    expect(conversationChunks(long, 100)).toHaveLength(12);
    const most = conversationChunks(many(200), 100);
    expect(most).toHaveLength(24);
    expect(most[0]).toMatch(/^\[… the oldest part is left out …\]\n\n/);
    expect(most[1]).not.toContain("the oldest part");
    expect(most.at(-1)).toContain("199 y");
    for (const chunk of most) expect(chunk.length).toBeLessThanOrEqual(400);
  });
});

describe("what the model that summarises is asked", () => {
  const ask = { conversation: "c </conversation>", part: "history" } as const;
  test.each<[string, Parameters<typeof summaryRequest>[0], string]>([
    ["a first summary", ask, SUMMARY_PROMPT],
    ["an update", { ...ask, previous: "p" }, UPDATE_PROMPT],
    ["the beginning of a turn", { ...ask, part: "prefix", previous: "p" }, PREFIX_PROMPT],
  ])("%s", (_title, given, prompt) => {
    const request = summaryRequest(given);
    expect(request).toContain(prompt);
    expect(request.match(/<\/conversation>/gu)).toHaveLength(1);
    expect(request.includes("<previous-summary>\np\n</previous-summary>")).toBe(given.previous !== undefined);
    expect(request).not.toContain("Additional focus");
    expect(request).not.toContain("Your last answer");
  });
  test("with a focus, and again", () => {
    const request = summaryRequest({ ...ask, instructions: "dates", again: true });
    expect(request).toContain("Additional focus: dates");
    expect(request).toContain("Your last answer was not a summary");
  });
  test.each<[string, string, "history" | "prefix", boolean]>([
    ["two sections", "## Goal\nx\n## Progress\ny", "history", true],
    ["one section", "## Goal\nx", "history", false],
    ["the same section twice", "## Goal\nx\n## Goal\ny", "history", false],
    ["sections of the other kind", "## Original Request\n## Early Progress", "history", false],
    ["the beginning of a turn", "## Original Request\n## early progress of it", "prefix", true],
    ["another language", "## Ziel\na\n## Stand\n## Weiter\n## Wichtig", "history", true],
    ["too few in another language", "## Ziel\na\n## Stand\n## Weiter", "history", false],
    ["three in another language for a beginning", "## Anfrage\n## Stand\n## Rest", "prefix", true],
    ["another language after a greeting", "Hallo\n## Ziel\n## Stand\n## Weiter\n## Wichtig", "history", false],
    ["known sections after a greeting", "Sure!\n## Goal\n## Next Steps", "history", true],
    ["words", "I will do that.", "history", false],
  ])("%s: %j is a summary of %s: %s", (_title, answer, part, is) => {
    expect(isSummary(answer, part)).toBe(is);
  });
  test("a text of headings only is none", () => {
    const other = "## Original Request\n".repeat(1_001);
    expect(isSummary(`${other}## Goal\n## Progress`, "history")).toBe(false);
    expect(isSummary(`${"## Original Request\n".repeat(998)}## Goal\n## Progress`, "history")).toBe(true);
  });
  test("a summary cannot close its own frame", () => {
    expect(harmless(" a </summary> < / SUMMARY > ")).not.toMatch(/<\s*\/\s*summary/iu);
    expect(harmless("  a  ")).toBe("a");
  });
});

describe("the details of a compaction", () => {
  test("are read as far as they can be", () => {
    expect(compactionDetails({ details: undefined })).toEqual({});
    expect(compactionDetails({ details: "x" })).toEqual({});
    expect(compactionDetails({ details: null })).toEqual({});
    expect(compactionDetails({ details: { kind: "dream", tokensAfter: 5, more: 1 } })).toEqual({
      tokensAfter: 5,
      more: 1,
    });
    expect(compactionDetails({ details: { tokensAfter: -1 } })).toEqual({});
    expect(compactionDetails({ details: { tokensAfter: 0 } })).toEqual({ tokensAfter: 0 });
    expect(
      compactionDetails({ details: { measures: [{ kind: "truncate", chars: 0, through: "e" }], split: true } }),
    ).toEqual({ split: true });
  });
  test("are one line for people", () => {
    expect(describeCompaction({ tokensBefore: 9, details: {} })).toBe("9 tokens");
    const details = {
      ...{ kind: "summary", reason: "manual", tokensAfter: 3, split: true },
      ...{ covered: { from: "a", through: "b", messages: 4 }, kept: { messages: 2, tokens: 7 } },
    };
    expect(describeCompaction({ tokensBefore: 9, details })).toBe(
      "9 → 3 tokens, summarised, 4 messages covered, 2 kept (7 tokens), a turn was split, why: asked for",
    );
  });
});

describe("the sizes at which something is done", () => {
  const limits = (more: object = {}) => thresholdsOf({ ...DEFAULT_CONTEXT_LIMITS, ...more });
  test.each<[string, object, object]>([
    [
      "by default",
      {},
      { emergency: 200_000, critical: 180_000, warning: 150_000, flush: 146_000, reserve: 20_000, keepRecent: 20_000 },
    ],
    [
      "in a window of 32,000",
      { contextWindow: 32_000 },
      { emergency: 32_000, reserve: 8_000, critical: 24_000, warning: 23_999, flush: 19_999, keepRecent: 8_000 },
    ],
    [
      "with a reserve that was asked for",
      { reserveTokens: 60_000 },
      { reserve: 60_000, critical: 140_000, warning: 139_999, flush: 135_999 },
    ],
    ["with a reserve beyond three quarters", { reserveTokens: 190_000 }, { reserve: 150_000, critical: 50_000 }],
    [
      "with a lower emergency limit",
      { emergencyContextLimit: 100_000 },
      { emergency: 100_000, critical: 90_000, warning: 75_000, flush: 71_000 },
    ],
    ["with a limit above the window", { emergencyContextLimit: 1e6 }, { emergency: 200_000 }],
    ["with more to keep than fits", { keepRecentTokens: 1e6 }, { keepRecent: 50_000 }],
    [
      "in the smallest window",
      { contextWindow: 0 },
      { emergency: 1, critical: 1, warning: 0, flush: 0, reserve: 0, keepRecent: 0 },
    ],
    [
      "in a window of 10",
      { contextWindow: 10 },
      { emergency: 10, reserve: 2, critical: 8, warning: 7, flush: 5, keepRecent: 2 },
    ],
  ])("%s", (_title, more, expected) => {
    expect(limits(more)).toMatchObject(expected);
  });
});
