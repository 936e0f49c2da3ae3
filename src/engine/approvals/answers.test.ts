/** Answers to questions about calls, and the rules that a yes for always stores: pure parts, by tables. */
import { describe, expect, test } from "vitest";
import type { AgentRecord } from "../../core/agent/agent.ts";
import type { RunId } from "../../core/ids.ts";
import type { Grant } from "../../core/people/grant.ts";
import { OWNER, type PersonId, type PersonRecord } from "../../core/people/person.ts";
import type { JudgedCall } from "../../core/ports/gate.ts";
import type { Approval, ApprovalId } from "../../core/rights/approval.ts";
import type { Effect } from "../../core/rights/decide.ts";
import type { Rule } from "../../core/rights/rule.ts";
import { ruleSet } from "../../core/rights/rule-set.ts";
import type { CallRecord } from "../../core/run/run.ts";
import type { PeopleNow } from "../people/directory.ts";
import { type AskedUnder, alwaysRecords, alwaysWidths, isMarked, widthLines } from "./always-rules.ts";
import { approvalPortOf } from "./approval-port.ts";
import { digestOf } from "./call-digest.ts";
import { answerOps, auditOf, decidedBy, mayApprove, maySee, wakingPost } from "./decide-approval.ts";
import { deniedBefore, MAX_DENIALS } from "./denied-before.ts";
import { approvalButtons, questionOf, questionText, waitingText, widthButtons } from "./question.ts";
import { type AskPorts, endNeedless, settleAsked } from "./settle-asked.ts";

const [ANN, BOB, EVE] = ["ann", "bob", "eve"] as unknown as [PersonId, PersonId, PersonId];
const NOW = 1_000_000;
const DAY = 86_400_000;
const command = (...argv: string[]): Effect => ({
  action: "exec",
  rights: ["exec"],
  detail: { kind: "command", argv, cwd: "/" },
});

function people(grants: Record<string, readonly Grant[]> = {}): PeopleNow {
  const record = (id: string): PersonRecord | undefined =>
    grants[id] &&
    ({ id, role: "guest", accounts: [], grants: grants[id], createdAt: 1, createdBy: "owner" } as PersonRecord);
  return {
    revision: 7,
    personOf: (id: PersonId) => (id === "test:ann" ? ANN : id),
    sender: () => ANN,
    record,
    standing: (id: PersonId) => ({ person: id, role: id === OWNER ? "owner" : "guest", grants: grants[id] ?? [] }),
  };
}
const approval = (more: Partial<Approval> = {}): Approval =>
  ({
    ...{
      id: "kfmz" as ApprovalId,
      agentId: "a1",
      runId: "r1" as RunId,
      callId: "c1",
      tool: "exec",
      arguments: {},
      digest: "d1",
    },
    ...{
      behalf: { person: ANN },
      prompt: "p",
      askedAt: 1,
      dueAt: NOW + 1,
      state: "pending",
      n: 1,
      effects: [command("git", "push")],
    },
    ...more,
  }) as Approval;

describe("who may answer", () => {
  test.each<[string, PersonId, Record<string, readonly Grant[]>, Partial<Approval>, boolean, boolean]>([
    ["the owner", OWNER, {}, {}, true, true],
    ["its own person", ANN, {}, {}, true, false],
    ["its own person by an account", ANN, {}, { behalf: { person: "test:ann" as PersonId } }, true, false],
    [
      "an account that belongs to a record since",
      "test:ann" as PersonId,
      {},
      { behalf: { person: "test:ann" as PersonId } },
      true,
      false,
    ],
    ["someone on its way", BOB, {}, { behalf: { person: ANN, through: [BOB] } }, true, false],
    [
      "someone on its way by an account, beside others",
      ANN,
      {},
      { behalf: { person: BOB, through: ["test:ann" as PersonId] } },
      true,
      false,
    ],
    ["someone else", EVE, {}, {}, false, false],
    ["its own person with the grant", ANN, { ann: [{ allow: "approve" }] }, {}, true, true],
    ["another with the grant for that person", BOB, { bob: [{ allow: "approve(ann)" }] }, {}, true, true],
    ["another with the grant for oneself only", BOB, { bob: [{ allow: "approve" }] }, {}, false, false],
    [
      "another with the grant for one of two",
      BOB,
      { bob: [{ allow: "approve(ann)" }] },
      { behalf: { person: ANN, through: [EVE] } },
      false,
      false,
    ],
  ])("%s", (_title, person, grants, more, sees, approves) => {
    const now = people(grants);
    expect([maySee(now, approval(more), person), mayApprove(now, approval(more), person)]).toEqual([sees, approves]);
  });
});

describe("an answer", () => {
  const ops = (
    answer: Parameters<typeof answerOps>[2],
    person = OWNER,
    more: Partial<Approval> = {},
    grants: Record<string, readonly Grant[]> = {},
  ) => answerOps(people(grants), approval(more), answer, { person, surface: "cli", token: "t" }, NOW);
  test("is a row that leaves its state, its audit and the message that wakes the agent", () => {
    expect(ops({ approve: true, reason: "ok" })).toEqual([
      expect.objectContaining({
        op: "approval.decide",
        id: "kfmz",
        agentId: "a1",
        digest: "d1",
        from: "pending",
        to: "approved",
        by: OWNER,
        surface: "cli",
        reason: "ok",
        until: NOW + DAY,
      }),
      {
        op: "audit.add",
        entry: expect.objectContaining({
          at: NOW,
          person: OWNER,
          surface: "cli",
          token: "t",
          action: "approval.decide",
          decision: "allow",
          reason: "ok",
          agentId: "a1",
          runId: approval().runId,
          callId: approval().callId,
          target: "kfmz exec",
          digest: "d1",
        }),
      },
      {
        op: "message.post",
        to: { agentId: "a1" },
        message: expect.objectContaining({
          acceptedAt: NOW,
          body: expect.objectContaining({ kind: "permission", runId: "r1", callId: "c1", approved: true, by: OWNER }),
        }),
      },
    ]);
    const no = ops({ approve: false }, ANN);
    expect(no.map(({ op }) => op)).toEqual(["fact.put", "approval.decide", "audit.add", "message.post"]);
    expect(no[1]).toMatchObject({ to: "denied", until: undefined });
    expect(no[2]).toMatchObject({ entry: { decision: "deny" } });
    expect(JSON.stringify(no[3])).toContain("was denied");
  });
  test("of someone other than the owner holds only if the rights have not changed", () => {
    expect(ops({ approve: true }, ANN, {}, { ann: [{ allow: "approve" }] })[0]).toMatchObject({
      op: "fact.put",
      value: "7",
      expect: "7",
    });
  });
  test.each<[string, Parameters<typeof answerOps>[2], PersonId, Partial<Approval>, string]>([
    ["of someone who has nothing to do with it", { approve: false }, EVE, {}, "There is no approval kfmz"],
    ["yes of someone who may only say no", { approve: true }, ANN, {}, "Only the owner"],
    [
      "to a question that has ended",
      { approve: true },
      OWNER,
      { state: "denied", decidedBy: "bob" },
      "is already denied by bob",
    ],
    ["to one that ended by itself", { approve: true }, OWNER, { state: "expired" }, "is already expired."],
    ["when its time is over", { approve: true }, OWNER, { dueAt: NOW }, "has expired"],
    ["no for always", { approve: false, always: true }, OWNER, {}, "Only a yes can be for always"],
    ["with a long reason", { approve: true, reason: "x".repeat(501) }, OWNER, {}, "at most 500 characters"],
  ])("%s is refused", (_title, answer, person, more, text) => {
    expect(() => ops(answer, person, more)).toThrow(text);
  });
  test("with a reason of 500, and another digest, is taken", () => {
    expect(ops({ approve: true, reason: "x".repeat(500), digest: "d2" })[0]).toMatchObject({ digest: "d2" });
  });
  test("is kept in the log with at most 512 characters of each text", () => {
    const long = { callId: "c".repeat(513), tool: "t".repeat(600) };
    const by = { person: OWNER, surface: "cli" };
    expect(auditOf(approval(long), "deny", by, NOW, "r".repeat(513))).toMatchObject({
      callId: "c".repeat(512),
      target: `kfmz ${"t".repeat(507)}`,
      reason: "r".repeat(512),
    });
    expect(auditOf(approval(), "deny", by, NOW)).toEqual({
      ...{ at: NOW, ...by, token: undefined, action: "approval.decide", decision: "deny", reason: undefined },
      ...{ agentId: "a1", runId: "r1", callId: "c1", target: "kfmz exec", digest: "d1" },
    });
  });
  test("wakes the agent in the conversation and on behalf of those who wait", () => {
    const delivery = { channel: "c", to: "1" };
    const about = { runId: "r1", callId: "c1", by: ANN };
    const post = (approved: boolean) =>
      wakingPost(approval({ delivery }), { approved, by: ANN, how: "withdrawn", until: 0 }, NOW);
    const message = (approved: boolean, text: string) => ({
      op: "message.post",
      to: { agentId: "a1" },
      message: {
        body: { kind: "permission", ...about, approved, text },
        ...{ behalf: { person: ANN }, delivery, acceptedAt: NOW },
      },
    });
    const until = "1970-01-01T00:00:00.000Z";
    expect(post(true)).toEqual(
      message(true, `Approval kfmz was given by ann: the same call of exec may be made once until ${until}.`),
    );
    expect(post(false)).toEqual(message(false, "Approval kfmz for exec was withdrawn."));
  });
  test("changes the question", () => {
    const by = { person: OWNER, surface: "cli" };
    expect(decidedBy(approval(), { approve: true, reason: "ok" }, by, NOW)).toMatchObject({
      state: "approved",
      dueAt: NOW + DAY,
      decidedAt: NOW,
      decidedBy: OWNER,
      surface: "cli",
      reason: "ok",
    });
    expect(decidedBy(approval(), { approve: false }, by, NOW)).toMatchObject({ state: "denied", dueAt: NOW + 1 });
  });
  test("for always stores a rule of the person, with the revision of rights", () => {
    const done = answerOps(
      people({ ann: [{ ask: "exec(git push)" }, { deny: "other" }] }),
      approval(),
      { approve: true, always: true },
      { person: OWNER, surface: "cli" },
      NOW,
    );
    expect(done.map(({ op }) => op)).toEqual(["approval.decide", "person.put", "audit.add", "message.post"]);
    expect(done[1]).toMatchObject({ expect: 7, person: { id: "ann" } });
    expect(done[1]?.op === "person.put" && done[1].person.grants).toEqual([
      { deny: "other" },
      { allow: "exec(git push)", note: "approval kfmz by owner" },
    ]);
  });
  test("for always stores a rule for each person on the way, in the width that was chosen", () => {
    const ask = [{ ask: "exec(git push)" }];
    const grants = { ann: [...ask, { allow: "approve" }, { allow: "approve(bob)" }], bob: ask };
    const done = ops({ approve: true, always: "call" }, ANN, { behalf: { person: ANN, through: [BOB] } }, grants);
    // The first record names the revision of rights. The second is in the same change.
    expect(done.map((op) => [op.op, op.op === "person.put" ? op.expect : undefined])).toEqual([
      ["approval.decide", undefined],
      ["person.put", 7],
      ["person.put", undefined],
      ["audit.add", undefined],
      ["message.post", undefined],
    ]);
    const tool = answerOps(
      people(),
      approval({ behalf: { person: OWNER } }),
      { approve: true, always: "tool" },
      { person: OWNER, surface: "cli" },
      NOW,
      { rules: [{ rules: ruleSet([]) }], untrusted: false },
    );
    expect(tool[1]).toMatchObject({ person: { grants: [{ allow: "exec", note: "approval kfmz by owner" }] } });
  });
});

describe("the rules of a yes for always", () => {
  const none: AskedUnder = { rules: [], untrusted: false };
  /** No rule is about it: the defaults of rules ask. */
  const byDefault: AskedUnder = { rules: [{ rules: ruleSet([]) }], untrusted: false };
  const owners = approval({ behalf: { person: OWNER } });
  const storing = { width: "call", by: OWNER, at: NOW } as const;
  const party = (...rules: Partial<Rule>[]): AskedUnder => ({
    rules: [
      {
        rules: ruleSet(rules.map((rule) => ({ verdict: "ask", text: "exec", source: "permissions", ...rule }) as Rule)),
      },
    ],
    untrusted: false,
  });
  test.each<[string, "call" | "prefix" | "tool", string]>([
    ["this call", "call", "exec(git push)"],
    ["this beginning", "prefix", "exec(git push *)"],
    ["this tool", "tool", "exec"],
  ])("are about %s", (_title, width, allow) => {
    const { rules } = alwaysRecords(people(), owners, byDefault, { ...storing, width });
    expect(rules).toEqual([{ person: OWNER, allow, when: undefined }]);
  });
  test("are of everyone who is asked, and replace the question about the same", () => {
    const now = people({
      ann: [{ ask: "exec(git push)" }, { deny: "other" }],
      bob: [{ allow: "exec" }],
      eve: [{ ask: "exec(git push)" }],
    });
    const { records, rules } = alwaysRecords(
      now,
      approval({ behalf: { person: ANN, through: [BOB, EVE] } }),
      none,
      storing,
    );
    expect(rules.map(({ person }) => person)).toEqual([ANN, EVE]);
    expect(records.map(({ id, grants }) => [id, grants.length])).toEqual([
      ["ann", 2],
      ["eve", 1],
    ]);
    expect(records[0]?.grants).toMatchObject([{ deny: "other" }, { allow: "exec(git push)" }]);
  });
  test("of the owner make a record that only keeps rules", () => {
    const { records } = alwaysRecords(
      people(),
      approval({ behalf: { person: OWNER } }),
      { rules: [{ rules: ruleSet([]) }], untrusted: true },
      storing,
    );
    expect(records).toMatchObject([
      { id: OWNER, role: "owner", createdAt: NOW, grants: [{ allow: "exec(git push)", when: "untrusted" }] },
    ]);
  });
  test.each<[string, Record<string, readonly Grant[]>, Partial<Approval>, AskedUnder, string]>([
    [
      "someone without a record",
      {},
      { behalf: { person: "test:x" as PersonId }, effects: [{ ...command("ls", "x"), needsYes: true }] },
      none,
      "no grant of a person asked for it",
    ],
    ["no one", { ann: [{ allow: "exec" }] }, {}, none, "no grant of a person asked for it"],
    ["no effects", { ann: [{ ask: "exec" }] }, { effects: [] }, none, "no grant of a person asked for it"],
    [
      "no one knows what",
      { ann: [{ ask: "exec" }] },
      { effects: undefined },
      none,
      "no grant of a person asked for it",
    ],
    [
      "a rule of the configuration",
      { ann: [{ allow: "exec" }] },
      {},
      party({}),
      "the rule ask exec (permissions) says so",
    ],
    [
      "a call with a wildcard",
      { ann: [{ ask: "exec" }] },
      { effects: [command("rm", "*")] },
      none,
      "it has no rule of this width",
    ],
    [
      "a line that cannot be read",
      { ann: [{ ask: "exec" }] },
      { effects: [{ action: "exec", rights: ["exec"], detail: { kind: "unparsed", line: "$x", cwd: "/", why: "w" } }] },
      none,
      "it has no rule of this width",
    ],
  ])("are not stored if %s asked", (_title, grants, more, under, text) => {
    expect(() => alwaysRecords(people(grants), approval(more), under, storing)).toThrow(text);
  });
  test("are not stored for a person without a record, who could not keep them", () => {
    const unknown = {
      ...people(),
      standing: (person: PersonId) => ({ person, role: "guest", grants: [{ ask: "exec" }] }),
    };
    const asked = approval({ behalf: { person: "test:x" as PersonId } });
    expect(() => alwaysRecords(unknown as PeopleNow, asked, none, storing)).toThrow(
      "test:x has no record that could keep the rule",
    );
  });
  test("of several effects are all stored, and each replaces the answers of people to the same only", () => {
    const ask = [{ ask: "exec(git push)" }, { ask: "exec(git pull)" }];
    const never = { deny: "exec(git push)", when: "untrusted" } as const;
    const both = approval({ effects: [command("git", "push"), command("git", "pull")] });
    const { records } = alwaysRecords(people({ ann: [...ask, never] }), both, none, storing);
    const note = "approval kfmz by owner";
    expect(records[0]?.grants).toEqual([never, { allow: "exec(git push)", note }, { allow: "exec(git pull)", note }]);
    const again = alwaysRecords(
      people({ ann: [{ allow: "exec(git push)", note: "old" }] }),
      approval(),
      { rules: [], untrusted: true },
      storing,
    );
    expect(again.records[0]?.grants).toEqual([{ allow: "exec(git push)", note, when: "untrusted" }]);
  });
  test("name the target of an effect, unless it is the person's own", () => {
    const send: Effect = { action: "message", rights: [], target: "ann", of: ANN };
    const asked = approval({ behalf: { person: ANN, through: [BOB] }, effects: [send] });
    const { rules } = alwaysRecords(
      people({ ann: [{ ask: "message" }], bob: [{ ask: "message(ann)" }] }),
      asked,
      none,
      storing,
    );
    expect(rules).toEqual([
      { person: ANN, allow: "message" },
      { person: BOB, allow: "message(ann)" },
    ]);
  });
  test("are offered in three widths, or why not", () => {
    const widths = alwaysWidths(people(), owners, byDefault);
    expect(widthLines(widths)).toEqual([
      "call    allow exec(git push) for owner",
      "prefix  allow exec(git push *) for owner",
      "tool    allow exec for owner",
    ]);
    expect(widthButtons("kfmz" as ApprovalId, widths)).toEqual([
      { label: "Always, this call: exec(git push)", token: "a:kfmz:call", style: "yes" },
      { label: "Always, this prefix: exec(git push *)", token: "a:kfmz:prefix", style: "yes" },
      { label: "Always, this tool: exec", token: "a:kfmz:tool", style: "yes" },
      { label: "Back", token: "a:kfmz:b" },
    ]);
    const unreadable = approval({
      effects: [{ action: "exec", rights: ["exec"], detail: { kind: "unparsed", line: "$x", cwd: "/", why: "w" } }],
    });
    const some = alwaysWidths(people({ ann: [{ ask: "exec" }] }), unreadable, none);
    expect(widthButtons("kfmz" as ApprovalId, some).map(({ token }) => token)).not.toContain("a:kfmz:call");
    expect(widthLines(some)?.[0]).toBe(
      "call    No rule was stored: it has no rule of this width, because it cannot be read or has a wildcard.",
    );
    const same = alwaysWidths(
      people({ ann: [{ ask: "cron_add" }] }),
      approval({ tool: "cron_add", effects: [{ action: "cron_add", rights: [] }] }),
      none,
    );
    expect(widthLines(same)).toBeUndefined();
    const marked = alwaysWidths(people({ ann: [{ allow: "exec" }] }), approval(), { rules: [], untrusted: true });
    expect(widthLines(marked)?.[0]).toBe("call    allow exec(git push) for ann, also with untrusted text in context");
  });
  test("are shown with at most 300 characters, and each text once", () => {
    const rule = (allow: string) => ({ person: ANN, allow });
    const widths = (...call: string[]) => ({ call: call.map(rule), prefix: [rule("p")], tool: [rule("p")] });
    expect(widthLines(widths("x".repeat(300)))?.[0]).toBe(`call    allow ${"x".repeat(294)}`);
    expect(widthLines(widths("a", "b", "a"))).toEqual([
      "call    allow a for ann; allow b for ann",
      "prefix  allow p for ann",
      "tool    allow p for ann",
    ]);
    expect(widthLines(widths("p"))).toBeUndefined();
    const [button, ...more] = widthButtons("kfmz" as ApprovalId, widths("y".repeat(100), "y".repeat(100)));
    expect(button?.label).toBe(`Always, this call: ${"y".repeat(45)}`);
    expect(widthButtons("kfmz" as ApprovalId, widths("a", "b", "a"))[0]?.label).toBe("Always, this call: a, b");
    expect(more).toHaveLength(3);
  });
  test("know whether text of others is in the context", () => {
    const agent = (state: object) => ({ state }) as unknown as AgentRecord;
    expect(isMarked(approval(), undefined)).toBe(false);
    expect(isMarked(approval(), agent({}))).toBe(false);
    expect(isMarked(approval(), agent({ untrusted: true }))).toBe(true);
    expect(isMarked(approval(), agent({ madeUntrusted: true }))).toBe(true);
    expect(isMarked(approval({ behalf: { person: ANN, through: [BOB] } }), undefined)).toBe(true);
  });
});

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
    more: { asked?: boolean; waitEnds?: boolean; taken?: string[]; surroundings?: object } = {},
  ) => {
    const found = known && approval({ digest, ...known });
    const ports: AskPorts = {
      store: { approval: async () => found, grantFor: async () => (more.asked ? undefined : found) } as never,
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
    const run = { id: "r1" as RunId, body: { behalf: { person: ANN } } } as never;
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
    ["starts with an unused yes of an earlier run", { state: "approved", dueAt: NOW + 1 }, {}, { is: "allowed" }],
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
    expect(await endNeedless({ store, clock: { now: () => NOW } }, call({ approval: id }))).toMatchObject(ops);
  });
});

describe("the question", () => {
  const held = (more: object = {}) => ({
    ...{ digest: "d", files: [], behalf: { person: ANN } },
    judged: {
      call: { callId: "c1", name: "exec", arguments: { command: "ls" } },
      effects: [command("ls")],
      decision: { reason: "why" },
      person: ANN,
    },
    ...more,
  });
  const asking = {
    agent: { id: "a1" },
    run: { id: "r1", body: { delivery: { channel: "c" } } },
    at: NOW,
    dueAt: NOW + 5,
    uuid: () => "00000000-0000-7000-8000-000000000000",
  };
  const question = (more?: object) => questionOf(asking as never, held(more) as never);
  test("is about exactly this call", () => {
    expect(question()).toMatchObject({
      id: "aaaa",
      agentId: "a1",
      runId: "r1",
      callId: "c1",
      tool: "exec",
      digest: "d",
      delivery: { channel: "c" },
      askedAt: NOW,
      dueAt: NOW + 5,
      effects: [command("ls")],
    });
    expect(question().files).toBeUndefined();
    expect(question().prompt).toBe(
      'exec for ann (why):\n{\n  "command": "ls"\n}\nNo file is covered: the contents of files may change before the call.',
    );
    expect(question({ files: ["a", "b"], preview: "PRE" })).toMatchObject({
      files: ["a", "b"],
      prompt: "exec for ann (why):\nPRE\nThe contents of a, b are covered. Other files are not.",
    });
  });
  test("shows at most 2,000 characters, and says how many there are", () => {
    expect(question({ preview: "x".repeat(2_000) }).prompt).not.toContain("[cut:");
    expect(question({ preview: "x".repeat(2_001) }).prompt).toContain("[cut: 2001 characters in all]");
  });
  test("says how to answer, and until when", () => {
    expect(questionText({ ...question(), dueAt: 0 })).toContain(
      '"rookery approvals no aaaa" before 1970-01-01T00:00:00.000Z.',
    );
    expect(approvalButtons({ id: "aaaa" as ApprovalId }).map(({ token, style }) => [token, style])).toEqual([
      ["a:aaaa:y", "yes"],
      ["a:aaaa:w", undefined],
      ["a:aaaa:n", "no"],
    ]);
    const two = waitingText([
      { ...question(), dueAt: 5 },
      { ...question(), id: "bbbb" as ApprovalId, dueAt: 0 },
    ]);
    expect(two).toContain(
      "exec (approval aaaa), exec (approval bbbb). Without an answer until 1970-01-01T00:00:00.000Z",
    );
    expect(two).toContain("send /deny aaaa.");
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
    expect(MAX_DENIALS).toBe(3);
    expect(deniedBefore(judged(command("ls")), [other(1), other(2)])).toBeUndefined();
    expect(deniedBefore(judged(command("ls")), [other(1), other(2), other(3)])).toContain("said no 3 times");
  });
});

test("a question goes to the owner, where the owner is", async () => {
  const asked: unknown[] = [];
  const port = approvalPortOf(
    {},
    { addressOf: async (person) => ({ channel: "person", to: person }) },
    (at) => void asked.push(at),
  );
  const here = { channel: "c", to: "1" };
  expect(await port.askAt({ person: OWNER }, here)).toBe(here);
  expect(await port.askAt({ person: OWNER }, undefined)).toEqual({ channel: "person", to: OWNER });
  expect(await port.askAt({ person: ANN }, here)).toEqual({ channel: "person", to: OWNER });
  expect(port.expiryMs()).toBe(DAY);
  expect(approvalPortOf({ approvals: { expiryMs: 5 } }, {} as never, () => {}).expiryMs()).toBe(5);
  expect(await port.surroundingsOf({} as never, {} as never, [], "r" as RunId)).toEqual({});
  const around = approvalPortOf(
    { approvals: { surroundingsOf: async () => ({ directory: "/x" }) } },
    {} as never,
    () => {},
  );
  expect(await around.surroundingsOf({} as never, {} as never, [], "r" as RunId)).toEqual({ directory: "/x" });
  port.asked(7);
  expect(asked).toEqual([7]);
});
