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
import { type AskedUnder, alwaysOffers, alwaysRecords, isMarked, offered, offerLines } from "./always-rules.ts";
import { ANN, approval, BOB, command, EVE, NOW, people } from "./answers.test-kit.ts";
import { alwaysButtons } from "./question.ts";

const PRESSED = { id: "kfmz" as ApprovalId, digest: "d1" };

describe("the rules of a yes for always", () => {
  const none: AskedUnder = { rules: [], untrusted: false };
  /** No rule is about it: the defaults of rules ask. */
  const byDefault: AskedUnder = { rules: [{ rules: ruleSet([]) }], untrusted: false };
  const owners = approval({ behalf: { person: OWNER } });
  const storing = { scope: "call", by: OWNER, at: NOW } as const;
  const party = (...rules: Partial<Rule>[]): AskedUnder => ({
    rules: [
      {
        rules: ruleSet(rules.map((rule) => ({ verdict: "ask", text: "exec", source: "permissions", ...rule }) as Rule)),
      },
    ],
    untrusted: false,
  });
  const reach: Effect = { action: "web_fetch", rights: ["network"], detail: { kind: "host", host: "example.org" } };
  const outside: AskedUnder = { rules: [{ rules: ruleSet([]) }], untrusted: true };
  test("are about exactly this call, or its pattern", () => {
    const asked = approval({ behalf: { person: OWNER }, tool: "web_fetch", effects: [reach] });
    const of = (scope: "call" | "pattern") => alwaysRecords(people(), asked, outside, { ...storing, scope }).rules;
    expect(of("call")).toEqual([{ person: OWNER, allow: "call(web_fetch:d1)", when: "untrusted" }]);
    expect(of("pattern")).toEqual([{ person: OWNER, allow: "web(domain:example.org)", when: "untrusted" }]);
  });
  test("hold 128 bits of a digest, and say what the call was", () => {
    const prompt = `exec\n  command: ${"x ".repeat(400)}\nann asks for ann: so\nIt works in /home/ann`;
    const asked = approval({ behalf: { person: OWNER }, digest: "f".repeat(64), prompt });
    const [record] = alwaysRecords(people(), asked, byDefault, storing).records;
    const [grant] = record?.grants ?? [];
    expect(grant).toMatchObject({ allow: `call(exec:${"f".repeat(32)})`, note: "approval kfmz by owner" });
    expect(grant?.shows).toMatch(/^exec command: x x .*… \d+ more characters in approval kfmz$/u);
    const short = approval({ behalf: { person: OWNER }, prompt: "exec\n  command: ls\nann asks\nIt works in /w" });
    expect(alwaysRecords(people(), short, byDefault, storing).records[0]?.grants[0]?.shows).toBe(
      "exec command: ls It works in /w",
    );
  });
  test("are refused when a person has as many rules as fit", () => {
    const full = Array.from({ length: 255 }, (_, n): Grant => ({ allow: `tool${n}` }));
    const ask = { ask: "exec" };
    expect(alwaysRecords(people({ ann: [...full, ask].slice(1) }), approval(), none, storing).rules).toHaveLength(1);
    expect(() => alwaysRecords(people({ ann: [...full, ask] }), approval(), none, storing)).toThrow("256 rules");
  });
  test("are of everyone who is asked", () => {
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
      ["ann", 3],
      ["eve", 2],
    ]);
    expect(records[0]?.grants.at(-1)).toMatchObject({ allow: "call(exec:d1)" });
  });
  test("of the owner make a record that only keeps rules", () => {
    const { records } = alwaysRecords(
      people(),
      approval({ behalf: { person: OWNER } }),
      { rules: [{ rules: ruleSet([]) }], untrusted: true },
      storing,
    );
    expect(records).toMatchObject([
      { id: OWNER, role: "owner", createdAt: NOW, grants: [{ allow: "call(exec:d1)", when: "untrusted" }] },
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
      "a rule about certain commands, for a line that cannot be read",
      { ann: [{ ask: "exec" }] },
      { effects: [{ action: "exec", rights: ["exec"], detail: { kind: "unparsed", line: "$x", cwd: "/", why: "w" } }] },
      party({ verdict: "deny", text: "exec(rm *)" }),
      "the line cannot be judged",
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
  test("replace an older one about the same, and nothing else", () => {
    const never = { deny: "exec(rm)", when: "untrusted" } as const;
    const old = { allow: "call(exec:d1)", note: "old" };
    const kept = [{ ask: "exec" }, never];
    const { records } = alwaysRecords(
      people({ ann: [...kept, old] }),
      approval({ effects: [command("git", "push"), command("git", "pull")] }),
      { rules: [], untrusted: true },
      storing,
    );
    const note = "approval kfmz by owner";
    expect(records[0]?.grants).toEqual([...kept, { allow: "call(exec:d1)", note, shows: "p", when: "untrusted" }]);
  });
  test("name the recipient in a pattern, unless it is the person's own", () => {
    const send: Effect = { action: "message", rights: [], target: "ann", of: ANN };
    const asked = approval({ behalf: { person: BOB }, effects: [send] });
    const pattern = { ...storing, scope: "pattern" } as const;
    expect(alwaysRecords(people({ bob: [{ ask: "message(ann)" }] }), asked, none, pattern).rules).toEqual([
      { person: BOB, allow: "message(ann)" },
    ]);
    const own = approval({ behalf: { person: ANN }, effects: [send] });
    expect(() => alwaysRecords(people({ ann: [{ ask: "message" }] }), own, none, pattern)).toThrow("no pattern");
  });
  test("are offered as this call and its pattern, or why not", () => {
    const offers = alwaysOffers(people(), owners, byDefault);
    expect(offerLines(offers)).toEqual(["call     exactly this call for owner"]);
    expect(alwaysButtons(PRESSED, offers)).toEqual([
      { label: "Always: exactly this call for owner", token: "a:kfmz:call:d1", style: "yes" },
      { label: "Back", token: "a:kfmz:b:d1" },
    ]);
    const page = approval({ behalf: { person: OWNER }, tool: "web_fetch", effects: [reach] });
    expect(offerLines(alwaysOffers(people(), page, outside))).toEqual([
      "call     exactly this call for owner, also with untrusted text",
      "pattern  web(domain:example.org) for owner, also with untrusted text",
    ]);
    const refused = alwaysOffers(people({ ann: [{ allow: "exec" }] }), approval(), none);
    expect(offerLines(refused)).toEqual(["No rule was stored: no grant of a person asked for it."]);
    expect(alwaysButtons(PRESSED, refused)).toHaveLength(1);
  });
  test("are shown whole, with every character visible, and each text once", () => {
    const rule = (allow: string) => ({ person: ANN, allow });
    const offers = (...pattern: string[]) => ({ call: { not: "no" }, pattern: pattern.map(rule) });
    expect(offered(offers(`${"x".repeat(300)}\u202e`))[0]?.text).toBe(`${"x".repeat(300)}<U+202E> for ann`);
    expect(offered(offers("a", "b", "a"))[0]?.text).toBe("a for ann; b for ann");
    const labels = (...pattern: string[]) => alwaysButtons(PRESSED, offers(...pattern)).map(({ label }) => label);
    expect(labels("a\u200b")).toEqual(["Always: a<U+200B> for ann", "Back"]);
    expect(labels("y".repeat(48))).toHaveLength(2);
    expect(labels("y".repeat(49))).toEqual(["Back"]);
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
