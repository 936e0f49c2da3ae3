import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { AGENT_KINDS } from "../agent/descriptor.ts";
import { type Grant, strictest, VERDICTS } from "../people/grant.ts";
import { OWNER, type PersonId, type Role } from "../people/person.ts";
import { type Decision, decide, type Effect, judge, type Situation, type Standing } from "./decide.ts";
import { RIGHTS } from "./right.ts";
import type { Rule } from "./rule.ts";
import { ruleSet } from "./rule-set.ts";
import type { RulesParty } from "./rules-party.ts";

const standing = (role: Role, grants: readonly Grant[] = [], person = role as string): Standing => ({
  person: person as PersonId,
  role,
  grants,
});
const owner = standing("owner", [], OWNER);
const guest = (...grants: readonly Grant[]): Standing => standing("guest", grants, "ann");
const effect = (action: string, more: Partial<Effect> = {}): Effect => ({ action, rights: [], ...more });
const asUser = (...people: readonly Standing[]): Situation => ({ people, kind: "user" });

describe("decide", () => {
  const exec = effect("exec", { rights: ["exec"] });
  const pay = effect("pay", { needsYes: true });
  const toBob = effect("send_user_message", { rights: ["send"], target: "telegram:42" });

  test.each<[string, Effect, Situation, Decision["verdict"], string]>([
    ["the owner runs commands", exec, asUser(owner), "allow", ""],
    ["a guest does not", exec, asUser(guest()), "deny", "grant"],
    ["a guest with a grant does", exec, asUser(guest({ allow: "exec" })), "allow", ""],
    ["a grant can ask", exec, asUser(guest({ ask: "exec" })), "ask", "ask first"],
    [
      "nobody can be asked in a headless run",
      exec,
      { ...asUser(guest({ ask: "exec" })), headless: true },
      "deny",
      "no one",
    ],
    ["the owner's word does not carry a guest's text", exec, asUser(owner, guest()), "deny", "grant"],
    ["deny wins over allow", exec, asUser(guest({ allow: "exec" }, { deny: "ex*" })), "deny", "denies"],
    ["ask wins over allow", exec, asUser(guest({ ask: "exec" }, { allow: "*" })), "ask", "ask first"],
    ["a tool that wants a yes asks the owner too", pay, asUser(owner), "ask", "pay asks before"],
    ["a grant that names the tool is that yes", pay, asUser(guest({ allow: "pay" })), "allow", ""],
    ["a grant for everything is not", pay, asUser(guest({ allow: "*" }, { allow: "pa*" })), "ask", "pay asks before"],
    ["nor is that of another on the way", pay, asUser(owner, guest({ allow: "pay" })), "ask", "pay asks before"],
    ["a denial is stricter than the tool", pay, asUser(guest({ deny: "pay" })), "deny", "denies"],
    ["what a role denies is not asked for", { ...exec, needsYes: true }, asUser(guest()), "deny", "grant"],
    ["no one can say yes in a headless run", pay, { ...asUser(owner), headless: true }, "deny", "no one"],
    ["someone who is gone has no rights", effect("read"), asUser(owner, standing("stranger")), "deny", "not known"],
    ["a run for nobody does nothing", effect("read"), asUser(), "deny", "no one"],
    ["a guest uses an own address", effect("send_user_message", { rights: ["send"] }), asUser(guest()), "allow", ""],
    ["a guest does not reach another's", toBob, asUser(guest()), "deny", "another person"],
    ["a grant for the tool names no target", toBob, asUser(guest({ allow: "send_user_message" })), "deny", "another"],
    ["a grant names the target", toBob, asUser(guest({ allow: "send_user_message(telegram:42)" })), "allow", ""],
    ["a grant names all of a channel", toBob, asUser(guest({ allow: "send_*(telegram:*)" })), "allow", ""],
    [
      "a denial of the tool covers every target",
      toBob,
      asUser(guest({ allow: "*(*)" }, { deny: "send_*" })),
      "deny",
      "denies",
    ],
    ["a guest schedules for themselves", effect("cron_add", { rights: ["schedule"] }), asUser(guest()), "allow", ""],
    ["a gate is the owner's", effect("gate"), asUser(guest()), "deny", "gates"],
    [
      "the heartbeat is the owner's",
      effect("heartbeat_add", { rights: ["schedule"] }),
      asUser(guest()),
      "deny",
      "heartbeat",
    ],
    ["a contact talks", effect("send_agent_message"), { people: [standing("contact")], kind: "swarm" }, "allow", ""],
    ["a contact does nothing else", effect("read"), asUser(standing("contact")), "deny", "contact"],
    ["the kind limits the owner too", effect("write"), { people: [owner], kind: "swarm" }, "deny", "swarm"],
    [
      "the profile limits the owner too",
      effect("write"),
      { ...asUser(owner), profile: { deny: ["write"] } },
      "deny",
      "profile",
    ],
    [
      "a grant does not lift a profile's denial",
      exec,
      { ...asUser(guest({ allow: "*" })), profile: { allow: ["read"] } },
      "deny",
      "profile",
    ],
  ])("%s", (_, what, situation, verdict, reason) => {
    const decision = decide(what, situation);
    expect(decision.verdict).toBe(verdict);
    expect(decision.reason).toContain(reason);
  });

  const rulesOf = (...texts: readonly (readonly [Rule["verdict"], string])[]): RulesParty => ({
    rules: ruleSet(texts.map(([verdict, text]) => ({ verdict, text, source: "permissions" }))),
  });
  const withRules = (one: Standing, ...rules: readonly RulesParty[]): Situation => ({ ...asUser(one), rules });

  test.each<[string, Effect, Situation, Decision["verdict"], string | undefined]>([
    ["names the tool: that is its yes", pay, withRules(owner, rulesOf(["allow", "pay"])), "allow", "pay"],
    ["is for everything: that is no yes", pay, withRules(owner, rulesOf(["allow", "*"])), "ask", undefined],
    ["is for a beginning: that is no yes", pay, withRules(owner, rulesOf(["allow", "pa*"])), "ask", undefined],
    ["asks beside a grant", exec, withRules(guest({ allow: "exec" }), rulesOf(["ask", "exec"])), "ask", "exec"],
    ["allows what a role denies", exec, withRules(guest(), rulesOf(["allow", "exec"])), "deny", undefined],
    ["denies what another allows", exec, withRules(owner, rulesOf(["allow", "exec"], ["deny", "ex*"])), "deny", "ex*"],
    [
      "of one profile allows, of another denies",
      exec,
      withRules(owner, rulesOf(["allow", "exec"]), rulesOf(["deny", "*"])),
      "deny",
      "*",
    ],
    [
      "of one profile denies, of another allows",
      exec,
      withRules(owner, rulesOf(["deny", "*"]), rulesOf(["allow", "exec"])),
      "deny",
      "*",
    ],
  ])("a rule that %s", (_, what, situation, verdict, text) => {
    const decision = decide(what, situation);
    expect([decision.verdict, decision.rule?.text]).toEqual([verdict, text]);
  });

  const paying = (...grants: readonly Grant[]): Standing => standing("owner", grants, OWNER);
  const allows = (...texts: readonly string[]): RulesParty => rulesOf(...texts.map((text) => ["allow", text] as const));

  test.each<[string, Standing, readonly RulesParty[], Decision["verdict"]]>([
    ["a rule behind one for everything", owner, [allows("*", "pay")], "allow"],
    ["a rule before one for everything", owner, [allows("pay", "*")], "allow"],
    ["a rule of each party", owner, [allows("pay"), allows("*", "pay")], "allow"],
    ["a rule of the first party alone", owner, [allows("pay"), allows("*")], "ask"],
    ["a rule of the last party alone", owner, [allows("*"), allows("pay")], "ask"],
    ["a rule of the first of two, of which one says nothing", owner, [allows("pay"), allows()], "ask"],
    ["a grant behind one for everything", paying({ allow: "*" }, { allow: "pay" }), [allows("*")], "allow"],
    ["a grant beside a party that says nothing", paying({ allow: "pay" }), [allows(), allows("*")], "allow"],
    ["a grant of another tool", paying({ allow: "pays" }), [allows("*")], "ask"],
    ["a rule of another tool", owner, [allows("pays", "*")], "ask"],
    [
      "a grant, with a question for untrusted text",
      paying({ allow: "pay" }, { ask: "pay", when: "untrusted" }),
      [],
      "allow",
    ],
  ])("a tool that wants a yes finds it or not in %s", (_, one, rules, verdict) => {
    expect(decide(pay, withRules(one, ...rules)).verdict).toBe(verdict);
    expect(decide(pay, withRules(one, ...rules.toReversed())).verdict).toBe(verdict);
    // A denial beside it is stricter.
    expect(decide(pay, withRules(one, ...rules, rulesOf(["deny", "pay"]))).verdict).toBe("deny");
  });

  test("a token that lacks the scope of a request denies it, and nothing without a token or a request", () => {
    const token = { scopes: ["read"], confined: false } as const;
    const asking = effect("read", { asked: { scope: "admin" } });
    expect(decide(asking, { ...asUser(owner), token })).toMatchObject({
      ...{ verdict: "deny", scope: "admin", reason: expect.stringContaining("needs the scope admin") },
    });
    expect(decide(asking, asUser(owner)).verdict).toBe("allow");
    expect(decide(effect("read"), { ...asUser(owner), token }).verdict).toBe("allow");
    expect(decide(effect("read", { asked: { scope: "read" } }), { ...asUser(owner), token }).verdict).toBe("allow");
  });

  test("a question that no one can answer keeps whose it is and its rule", () => {
    const asks = { ...withRules(owner, rulesOf(["ask", "exec"])), headless: true };
    expect(decide(exec, asks)).toMatchObject({ verdict: "deny", rule: { text: "exec" } });
    expect(decide(exec, { ...asUser(guest({ ask: "exec" })), headless: true })).toMatchObject({ person: "ann" });
    expect(decide(exec, { ...asUser(owner), headless: true })).toMatchObject({ verdict: "allow", reason: "" });
  });

  test("a stranger may do nothing, whatever was granted", () => {
    expect(decide(effect("read"), asUser(standing("stranger", [{ allow: "*" }])))).toMatchObject({
      ...{ verdict: "deny", reason: "stranger is not known here" },
    });
  });

  test("the rule that allows it is named, also if another party has none about it", () => {
    for (const parties of [
      [allows("pay"), allows()],
      [allows(), allows("pay")],
    ])
      expect(decide(effect("pay"), withRules(owner, ...parties))).toMatchObject({ rule: { text: "pay" } });
  });

  test("the tools of a skill are relative to the workspace", () => {
    const skills = [{ skill: "s", tools: ["write(src/**)"] }];
    const write = effect("write", { detail: { kind: "path", access: "write", path: "/w/src/a" } });
    const placed = (workspace?: string) => withRules(owner, { ...rulesOf(), place: { workspace } });
    expect(decide(write, { ...placed("/w"), skills }).verdict).toBe("allow");
    expect(decide(write, { ...placed("/x"), skills }).reason).toContain("the skill s");
    expect(decide(write, { ...asUser(owner), skills }).reason).toContain("the skill s");
  });

  const unread = effect("exec", { rights: ["exec"], detail: { kind: "unparsed", line: "$x", cwd: "/", why: "w" } });
  test.each<[string, readonly Grant[], Decision["verdict"]]>([
    ["none", [], "allow"],
    ["a denial of certain commands", [{ deny: "exec(rm *)" }], "ask"],
    ["a question about certain commands", [{ ask: "exec(rm *)" }], "ask"],
    ["an allowance of certain commands", [{ allow: "exec(rm *)" }], "allow"],
    ["a denial of something else", [{ deny: "write(x)" }], "allow"],
    ["one of several about commands", [{ deny: "write(x)" }, { allow: "exec" }, { ask: "exec(rm *)" }], "ask"],
    ["a question that cannot be read", [{ ask: "exec(a; b)" }], "ask"],
    ["an allowance that cannot be read", [{ allow: "exec(a; b)" }], "allow"],
    ["a denial that cannot be read", [{ deny: "exec(a; b)" }], "deny"],
  ])("a line that cannot be read, where all of exec is allowed, with grants: %s", (_, grants, verdict) => {
    expect(decide(unread, withRules(paying(...grants), allows("exec"))).verdict).toBe(verdict);
  });

  const making = effect("exec", { rights: ["exec"], detail: { kind: "command", argv: ["make"], cwd: "/" } });

  test.each<[string, readonly Grant[], boolean, Decision["verdict"]]>([
    ["an allowance", [{ allow: "exec(make)" }], false, "allow"],
    ["no grant", [], false, "ask"],
    ["a question", [{ allow: "exec(make)" }, { ask: "exec(make)" }], false, "ask"],
    ["a question for untrusted text", [{ allow: "exec(make)" }, { ask: "exec", when: "untrusted" }], false, "allow"],
    ["a denial for untrusted text", [{ allow: "exec(make)" }, { deny: "exec", when: "untrusted" }], false, "allow"],
    ["a denial for untrusted text", [{ allow: "exec(make)" }, { deny: "exec", when: "untrusted" }], true, "deny"],
    ["an allowance for untrusted text", [{ allow: "exec(make)", when: "untrusted" }], false, "allow"],
  ])("beside rules %s of a person counts %#", (_, grants, isUntrusted, verdict) => {
    const party: RulesParty = { ...rulesOf(), untrusted: "off" };
    const situation = { ...withRules(paying(...grants), party), untrusted: isUntrusted };
    expect(decide(making, situation).verdict).toBe(verdict);
  });

  const cron = effect("cron_add", { rights: ["schedule"] });
  const fetching = effect("web_fetch", { rights: ["network"] });
  const untrusted = (situation: Situation): Situation => ({ ...situation, untrusted: true });

  test.each<[string, Effect, Situation, Decision["verdict"], string]>([
    ["a command is asked for, also for the owner", exec, untrusted(asUser(owner)), "ask", "someone else"],
    ["a schedule is asked for", cron, untrusted(asUser(guest())), "ask", "someone else"],
    ["in a headless run both are denied", cron, { ...untrusted(asUser(owner)), headless: true }, "deny", "no one"],
    ["sending to others is asked for", toBob, untrusted(asUser(owner)), "ask", "someone else"],
    ["sending to the owner of the target is not", { ...toBob, of: OWNER }, untrusted(asUser(owner)), "allow", ""],
    ["a file is written", effect("write", { rights: ["write"] }), untrusted(asUser(guest())), "allow", ""],
    ["a child is started", effect("sessions_spawn", { rights: ["spawn"] }), untrusted(asUser(guest())), "allow", ""],
    ["more is read from the network", fetching, untrusted(asUser(owner)), "allow", ""],
    ["an ordinary grant does not replace the question", exec, untrusted(asUser(guest({ allow: "exec" }))), "ask", ""],
    [
      "a grant for untrusted text does",
      exec,
      untrusted(asUser(guest({ allow: "exec", when: "untrusted" }))),
      "allow",
      "",
    ],
    ["and it counts without such text too", exec, asUser(guest({ allow: "exec", when: "untrusted" })), "allow", ""],
    [
      "a question for untrusted text counts with it",
      fetching,
      untrusted(asUser(guest({ ask: "web_*", when: "untrusted" }))),
      "ask",
      "ask first",
    ],
    ["and only with it", fetching, asUser(guest({ ask: "web_*", when: "untrusted" })), "allow", ""],
    ["so does a denial", fetching, untrusted(asUser(guest({ deny: "*", when: "untrusted" }))), "deny", "denies"],
    ["what is denied stays denied", exec, untrusted(asUser(guest())), "deny", "grant"],
  ])("with untrusted text %s", (_, what, situation, verdict, reason) => {
    const decision = decide(what, situation);
    expect(decision.verdict).toBe(verdict);
    expect(decision.reason).toContain(reason);
  });

  const name = fc.constantFrom(
    "exec",
    "read",
    "cron_add",
    "gate",
    "heartbeat_add",
    "send_user_message",
    "create_swarm",
  );
  const subject = fc.constantFrom(
    "*",
    "exec",
    "ex*",
    "read",
    "cron_*",
    "gate",
    "send_*(telegram:*)",
    "send_user_message(x:1)",
  );
  const when = fc.option(fc.constant("untrusted" as const), { nil: undefined });
  const grant = fc.oneof(
    fc.tuple(subject, when).map(([allow, only]): Grant => ({ allow, when: only })),
    fc.tuple(subject, when).map(([ask, only]): Grant => ({ ask, when: only })),
    fc.tuple(subject, when).map(([deny, only]): Grant => ({ deny, when: only })),
  );
  const person = fc
    .record({
      role: fc.constantFrom<Role>("owner", "guest", "contact", "stranger"),
      grants: fc.array(grant, { maxLength: 4 }),
    })
    .map(({ role, grants }) => standing(role, grants));
  const anyEffect: fc.Arbitrary<Effect> = fc.record(
    { action: name, rights: fc.subarray([...RIGHTS]), target: fc.constantFrom("telegram:42", "x:1") },
    { requiredKeys: ["action", "rights"] },
  );
  const situation = fc.record({
    people: fc.array(person, { maxLength: 4 }),
    kind: fc.constantFrom(...AGENT_KINDS),
    headless: fc.boolean(),
  });

  it("never exceeds the verdict of any person on the way, and adding a person never widens it", () => {
    fc.assert(
      fc.property(anyEffect, situation, person, (what, where, more) => {
        const { verdict } = decide(what, where);
        for (const one of where.people) expect(strictest(verdict, judge(what, one).verdict)).toBe(verdict);
        const { verdict: later } = decide(what, { ...where, people: [...where.people, more] });
        if (where.people.length > 0) expect(strictest(verdict, later)).toBe(later);
      }),
    );
  });

  it("is never milder with untrusted text than without", () => {
    fc.assert(
      fc.property(anyEffect, situation, (what, where) => {
        const { verdict } = decide(what, where);
        const marked = decide(what, { ...where, untrusted: true }).verdict;
        expect(strictest(verdict, marked)).toBe(marked);
      }),
    );
  });

  it("does not depend on the order of the people or of a person's grants", () => {
    fc.assert(
      fc.property(anyEffect, situation, (what, where) => {
        const people = where.people.toReversed().map((one) => ({ ...one, grants: one.grants.toReversed() }));
        expect(decide(what, { ...where, people }).verdict).toBe(decide(what, where).verdict);
      }),
    );
  });

  it("never asks in a headless run, and gives a reason for everything that is not allowed", () => {
    fc.assert(
      fc.property(anyEffect, situation, (what, where) => {
        const { verdict, reason } = decide(what, where);
        if (where.headless) expect(verdict).not.toBe("ask");
        expect(reason === "").toBe(verdict === "allow");
        expect(VERDICTS).toContain(verdict);
      }),
    );
  });
});
