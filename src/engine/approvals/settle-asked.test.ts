/** Which calls are asked about, and what counts as the same call; by tables. */
import { describe, expect, test } from "vitest";
import type { RunId } from "../../core/ids.ts";
import type { JudgedCall } from "../../core/ports/gate.ts";
import type { Approval } from "../../core/rights/approval.ts";
import type { Effect } from "../../core/rights/decide.ts";
import type { CallRecord } from "../../core/run/run.ts";
import { ANN, approval, command, NOW } from "./answers.test-kit.ts";
import { digestOf } from "./call-digest.ts";
import { deniedBefore } from "./denied-before.ts";
import { endNeedless, settleAsked } from "./settle-asked.ts";

describe("the digest of a call", () => {
  const call: CallRecord = {
    callId: "c",
    name: "exec",
    arguments: { b: { y: 1, x: 2 }, a: [1, 2] },
    replay: "never",
    state: "asked",
  };
  const base = digestOf(call, {});
  test("is the same for the same call in any order of its fields and names", () => {
    expect(digestOf({ ...call, arguments: { a: [1, 2], b: { x: 2, y: 1 } } }, {})).toBe(base);
    expect(digestOf(call, { environment: ["A", "B"] })).toBe(digestOf(call, { environment: ["B", "A"] }));
    expect(digestOf({ ...call, callId: "other" }, { made: true })).toBe(base);
  });
  test("is another one for anything else", () => {
    const others = [
      digestOf({ ...call, name: "write" }, {}),
      digestOf({ ...call, arguments: { b: { y: 1, x: 2 }, a: [2, 1] } }, {}),
      digestOf(call, { directory: "/x" }),
      digestOf(call, { environment: ["A"] }),
      digestOf(call, { files: { f: "1" } }),
      digestOf(call, { preview: "p" }),
    ];
    expect(new Set([base, ...others]).size).toBe(7);
  });
});

describe("a call that must be asked about", () => {
  const call = (more: Partial<CallRecord> = {}): CallRecord => ({
    callId: "c1",
    name: "exec",
    arguments: {},
    replay: "never",
    state: "asked",
    ...more,
  });
  const digest = digestOf(call(), {});
  const settle = async (
    known: Partial<Approval> | undefined,
    more: { asked?: boolean; waitEnds?: boolean; taken?: string[]; surroundings?: object; through?: string[] } = {},
  ) => {
    const found = known && approval({ digest, ...known });
    const ports = {
      store: { approval: async () => found, openApprovals: async () => (found ? [found] : []) } as never,
      clock: { now: () => NOW },
      approvals: { surroundingsOf: async () => more.surroundings ?? {} } as never,
    };
    const judged = {
      call: call(more.asked ? { approval: "kfmz" } : {}),
      effects: [command("ls")],
      person: ANN,
      decision: { verdict: "ask", reason: "" },
      acts: true,
    } as JudgedCall;
    const run = { id: "r1" as RunId, body: { behalf: { person: ANN, through: more.through } } } as never;
    return settleAsked(ports, { id: "a1" } as never, run, judged, more.waitEnds ?? false, new Set(more.taken));
  };
  const asked = true;
  test.each<[string, Partial<Approval> | undefined, Parameters<typeof settle>[1], object]>([
    ["waits while no one has answered", { state: "pending" }, { asked }, { is: "held", held: { approval: "kfmz" } }],
    ["is held with a new question", undefined, {}, { is: "held", held: { approval: undefined, digest } }],
    [
      "is not made now if its wait ends",
      { state: "pending" },
      { asked, waitEnds: true },
      { is: "refused", text: "Not executed; approval kfmz is still open." },
    ],
    ["is held although the wait ends, if it was not asked yet", undefined, { waitEnds: true }, { is: "held" }],
    [
      "starts with a yes",
      { state: "approved" },
      { asked },
      { is: "allowed", approval: "kfmz", use: { op: "approval.use", id: "kfmz", digest } },
    ],
    [
      "starts with an unused yes that an earlier version asked for",
      { state: "approved", dueAt: NOW + 1 },
      {},
      { is: "allowed" },
    ],
    [
      "asks again if that yes is over",
      { state: "approved", dueAt: NOW },
      {},
      { is: "held", held: { approval: undefined } },
    ],
    [
      "asks again if another call of the answer uses that yes",
      { state: "approved" },
      { taken: ["kfmz"] },
      { is: "held", held: { approval: undefined } },
    ],
    [
      "waits for the open question about the same call",
      { state: "pending", version: 2 },
      {},
      { held: { approval: "kfmz" } },
    ],
    [
      "asks again if someone else is on its way",
      { state: "pending", version: 2 },
      { through: ["bob"] },
      { held: { approval: undefined } },
    ],
    [
      "is not made again if a yes executes the same call",
      { state: "approved", version: 2 },
      {},
      { text: "Not executed again: approval kfmz was given for the same call, which is executed after this run." },
    ],
    [
      "does not use the yes of another call",
      { state: "used", used: { runId: "r1", callId: "c2" } },
      { asked },
      { text: "Not executed: approval kfmz was used by another call." },
    ],
    [
      "goes on with the yes that names it",
      { state: "used", used: { runId: "r1", callId: "c1" } },
      { asked },
      { is: "allowed" },
    ],
    [
      "is refused if its yes is over",
      { state: "approved", dueAt: NOW },
      { asked },
      { is: "refused", text: "Not executed: approval kfmz was given too long ago." },
    ],
    [
      "is refused if what was approved has changed",
      { state: "approved", digest: "old" },
      { asked },
      { is: "refused", ops: [{ op: "approval.decide", from: "approved", to: "withdrawn" }] },
    ],
    ["goes on with a yes that it has used", { state: "used" }, { asked }, { is: "allowed", approval: "kfmz" }],
    ["is refused if what it used has changed", { state: "used", digest: "old" }, { asked }, { is: "refused", ops: [] }],
    [
      "goes on if it made the change itself",
      { state: "used", digest: "old" },
      { asked, surroundings: { made: true } },
      { is: "allowed" },
    ],
    [
      "is refused by a no",
      { state: "denied", decidedBy: "olga", reason: "not now" },
      { asked },
      { text: "Not executed: olga denied approval kfmz: not now." },
    ],
    [
      "is refused by time",
      { state: "expired" },
      { asked },
      { text: "Not executed: no one answered approval kfmz in time." },
    ],
    [
      "is refused if it was taken back",
      { state: "withdrawn" },
      { asked },
      { text: "Not executed: approval kfmz was withdrawn." },
    ],
    [
      "is refused if its question is gone",
      undefined,
      { asked },
      { is: "refused", text: "Not executed: there is no approval kfmz." },
    ],
  ])("%s", async (_title, known, more, expected) => {
    expect(await settle(known, more)).toMatchObject(expected);
  });
  test.each<[string, Partial<Approval> | undefined, string | undefined, object[]]>([
    ["without a question", { state: "pending" }, undefined, []],
    ["whose question is gone", undefined, "kfmz", []],
    [
      "whose question waits",
      { state: "pending" },
      "kfmz",
      [{ op: "approval.decide", from: "pending", to: "withdrawn", by: "system" }],
    ],
    ["with a yes", { state: "approved", dueAt: NOW + 1 }, "kfmz", [{ op: "approval.use", id: "kfmz" }]],
    ["with a yes that is over", { state: "approved", dueAt: NOW }, "kfmz", []],
    ["with a no", { state: "denied" }, "kfmz", []],
  ])("that needs no yes any more, %s", async (_title, known, id, ops) => {
    const store = { approval: async () => known && approval(known) } as never;
    expect(
      await endNeedless({ store, clock: { now: () => NOW } }, "r1" as RunId, call({ approval: id })),
    ).toMatchObject(ops);
  });
});

describe("after a no", () => {
  const judged = (effect: Effect, args: object = {}) =>
    ({ call: { name: "exec", arguments: args }, effects: [effect] }) as never;
  const denial = (effect: Effect, more: Partial<Approval> = {}) =>
    approval({ state: "denied", decidedBy: "olga", arguments: { z: 1 }, effects: [effect], ...more });
  const unparsed = (line: string): Effect => ({
    action: "exec",
    rights: [],
    detail: { kind: "unparsed", line, cwd: "/", why: "w" },
  });
  test.each<[string, Effect, Effect, boolean]>([
    ["the same command", command("git", "push"), command("git", "push"), true],
    ["by its full path and case", command("git", "push"), command("/usr/bin/GIT", "push"), true],
    ["with options in between", command("git", "push"), command("git", "-C", "/x", "push"), true],
    ["another command", command("git", "push"), command("git", "pull"), false],
    ["the same line with other blanks", unparsed("a  $x"), unparsed(" a $x "), true],
    ["another line", unparsed("a $x"), unparsed("a $y"), false],
    ["a command instead of a line", unparsed("ls"), command("ls"), false],
    ["the same command with a choice", command("grep", "a|b"), command("grep", "a|b"), true],
    ["a command that a wildcard may stand for", command("rm", "*"), command("rm", "a"), true],
    ["another command than one with a wildcard", command("rm", "*"), command("ls", "a"), false],
    ["the same command, too long for a rule", command("x".repeat(999)), command("x".repeat(999)), true],
    ["another command than one too long for a rule", command("x".repeat(999)), command("y".repeat(999)), false],
    [
      "the same target",
      { action: "send", rights: [], target: "t:1" },
      { action: "send", rights: [], target: "t:1" },
      true,
    ],
    [
      "another target",
      { action: "send", rights: [], target: "t:1" },
      { action: "send", rights: [], target: "t:2" },
      false,
    ],
    ["what names nothing", { action: "cron_add", rights: [] }, { action: "cron_add", rights: [] }, false],
  ])("%s is asked again: not if it is the same", (_title, denied, effect, same) => {
    expect(deniedBefore(judged(effect), [denial(denied)])?.includes("denied approval kfmz") ?? false).toBe(same);
  });
  test("the same call is the same, and another tool with the same arguments is not", () => {
    const other = { action: "cron_add", rights: [] } as Effect;
    expect(deniedBefore(judged(other, { z: 1 }), [denial(other)])).toContain("olga denied approval kfmz");
    expect(deniedBefore(judged(other, { z: 1 }), [denial(other, { tool: "write" })])).toBeUndefined();
    expect(deniedBefore(judged(other, { z: 2 }), [denial(other)])).toBeUndefined();
  });
  test("nothing is asked after three", () => {
    const other = (n: number) => denial(command(`other${n}`));
    expect(deniedBefore(judged(command("ls")), [other(1), other(2)])).toBeUndefined();
    expect(deniedBefore(judged(command("ls")), [other(1), other(2), other(3)])).toContain("said no 3 times");
  });
});
