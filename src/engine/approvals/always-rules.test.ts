/** The rules that a yes for always stores, by tables. */
import { describe, expect, test } from "vitest";
import type { AgentRecord } from "../../core/agent/agent.ts";
import type { Grant } from "../../core/people/grant.ts";
import { OWNER, type PersonId } from "../../core/people/person.ts";
import type { Approval, ApprovalId } from "../../core/rights/approval.ts";
import type { Effect } from "../../core/rights/decide.ts";
import type { Rule } from "../../core/rights/rule.ts";
import { ruleSet } from "../../core/rights/rule-set.ts";
import type { PeopleNow } from "../people/directory.ts";
import { type AskedUnder, alwaysRecords, alwaysWidths, isMarked, widthLines } from "./always-rules.ts";
import { ANN, approval, BOB, command, EVE, NOW, people } from "./answers.test-kit.ts";
import { widthButtons } from "./question.ts";

const PRESSED = { id: "kfmz" as ApprovalId, digest: "d1" };

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
    expect(widthButtons(PRESSED, widths)).toEqual([
      { label: "Always, this call: exec(git push)", token: "a:kfmz:call:d1", style: "yes" },
      { label: "Always, this prefix: exec(git push *)", token: "a:kfmz:prefix:d1", style: "yes" },
      { label: "Always, this tool: exec", token: "a:kfmz:tool:d1", style: "yes" },
      { label: "Back", token: "a:kfmz:b:d1" },
    ]);
    const unreadable = approval({
      effects: [{ action: "exec", rights: ["exec"], detail: { kind: "unparsed", line: "$x", cwd: "/", why: "w" } }],
    });
    const some = alwaysWidths(people({ ann: [{ ask: "exec" }] }), unreadable, none);
    expect(widthButtons(PRESSED, some).map(({ token }) => token)).not.toContain("a:kfmz:call:d1");
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
  test("are shown whole, with every character visible, and each text once", () => {
    const rule = (allow: string) => ({ person: ANN, allow });
    const widths = (...call: string[]) => ({ call: call.map(rule), prefix: [rule("p")], tool: [rule("p")] });
    expect(widthLines(widths(`${"x".repeat(300)}\u202e`))?.[0]).toBe(
      `call    allow ${"x".repeat(300)}<U+202E> for ann`,
    );
    expect(widthLines(widths("a", "b", "a"))).toEqual([
      "call    allow a for ann; allow b for ann",
      "prefix  allow p for ann",
      "tool    allow p for ann",
    ]);
    expect(widthLines(widths("p"))).toBeUndefined();
    const labels = (...call: string[]) => widthButtons(PRESSED, widths(...call)).map(({ label }) => label);
    const others = ["Always, this prefix: p", "Always, this tool: p", "Back"];
    expect(labels("a", "b", "a")).toEqual(["Always, this call: a, b", ...others]);
    expect(labels("a\u200b")).toEqual(["Always, this call: a<U+200B>", ...others]);
    expect(labels("y".repeat(45))).toHaveLength(4);
    expect(labels("y".repeat(46))).toEqual(others);
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
