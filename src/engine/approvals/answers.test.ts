/** Answers to questions about calls: who may give one, and what it changes; by tables. */
import { describe, expect, test } from "vitest";
import type { Grant } from "../../core/people/grant.ts";
import { OWNER, type PersonId } from "../../core/people/person.ts";
import type { Approval } from "../../core/rights/approval.ts";
import { ANN, approval, BOB, DAY, EVE, NOW, people } from "./answers.test-kit.ts";
import { answerOps, auditOf, decidedBy, maySee, wakingPost } from "./decide-approval.ts";

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
    const yes = () => answerOps(now, approval(more), { approve: true }, { person, surface: "cli" }, NOW);
    expect(maySee(now, approval(more), person)).toBe(sees);
    if (approves) expect(yes()).toContainEqual(expect.objectContaining({ op: "approval.decide", by: person }));
    else expect(yes).toThrow(sees ? "Only the owner" : "There is no approval kfmz");
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
    ["no for always", { approve: false, always: "call" }, OWNER, {}, "Only a yes can be for always"],
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
    const about = { runId: "r1", callId: "c1", by: ANN, approval: "kfmz" };
    const post = (approved: boolean) =>
      wakingPost(approval({ delivery }), { approved, by: ANN, how: "withdrawn" }, NOW);
    const message = (approved: boolean, text: string) => ({
      op: "message.post",
      to: { agentId: "a1" },
      message: {
        body: { kind: "permission", ...about, approved, text },
        ...{ behalf: { person: ANN }, delivery, acceptedAt: NOW },
      },
    });
    expect(post(true)).toEqual(message(true, "Approval kfmz for exec was given by ann."));
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
      { approve: true, always: "call" },
      { person: OWNER, surface: "cli" },
      NOW,
    );
    expect(done.map(({ op }) => op)).toEqual(["approval.decide", "person.put", "audit.add", "message.post"]);
    expect(done[1]).toMatchObject({ expect: 7, person: { id: "ann" } });
    expect(done[1]?.op === "person.put" && done[1].person.grants).toEqual([
      { ask: "exec(git push)" },
      { deny: "other" },
      { allow: "call(exec:d1)", note: "approval kfmz by owner", shows: "p" },
    ]);
  });
  test("for always stores a rule for each person on the way, whatever the tool", () => {
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
  });
});
