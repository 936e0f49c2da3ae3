/** Which rules count for an agent: configuration, profile, agent, and everyone above it; and the rules that people store. */
import { beforeEach, describe, expect, test } from "vitest";
import { virtualClock } from "../../../test/kit/clock.ts";
import { seededIds } from "../../../test/kit/ids.ts";
import { openMemoryStore } from "../../adapters/store/sqlite/open-store.ts";
import type { AgentRecord } from "../../core/agent/agent.ts";
import { OWNER, type PersonId } from "../../core/people/person.ts";
import type { Effect } from "../../core/rights/decide.ts";
import type { RulesParty } from "../../core/rights/rules-party.ts";
import type { Store } from "../../core/store/store.ts";
import { addPerson } from "../people/change-people.ts";
import { configuredRules, rulesIn } from "./configured-rules.ts";
import { addRule, grantOfRule, removeRule, withGrant } from "./stored-rules.ts";

const agent = (more: { profile?: string; state?: object } = {}): AgentRecord =>
  ({ id: "a", profile: "main", state: {}, ...more }) as unknown as AgentRecord;
const effect = (action: string): Effect => ({ action, rights: [] });
const people = [OWNER];

describe("the rules of an agent", () => {
  const config = {
    permissions: {
      deny: ["one", { rule: "long", because: "so", when: "untrusted" as const }],
      untrusted: "rules" as const,
    },
    profiles: {
      main: { permissions: { ask: ["two"] } },
      Strict: { permissions: { deny: ["three"], untrusted: "off" as const }, workspaceAccess: "ro" as const },
      node: { exec: { host: "node" as const, node: "mars" } },
      host: { exec: { host: "gateway" as const } },
    },
  } as unknown as Parameters<typeof configuredRules>[0];
  const rules = configuredRules(config);
  const sees = (party: RulesParty | undefined, ...names: string[]) =>
    names.filter((name) => party?.rules.find(effect(name)) !== undefined);
  const NAMES = ["one", "two", "three", "own"];

  test("are those of the configuration, of its profile and its own", () => {
    const [party, ...more] = rules.partiesOf(agent({ state: { rules: [{ deny: "own" }] } }), people);
    expect(more).toEqual([]);
    expect(sees(party, ...NAMES)).toEqual(["one", "two", "own"]);
    expect(party?.untrusted).toBe("rules");
    expect(party?.access).toBeUndefined();
    expect(sees(rules.partiesOf(agent(), people)[0], ...NAMES)).toEqual(["one", "two"]);
    expect(sees(rules.partiesOf(agent({ profile: "gone" }), people)[0], ...NAMES)).toEqual(["one"]);
  });

  test("are found by a profile in any spelling", () => {
    const [party] = rules.partiesOf(agent({ profile: "strict" }), people);
    expect(sees(party, ...NAMES)).toEqual(["one", "three"]);
    expect(party).toMatchObject({ untrusted: "off", access: "ro" });
    expect(rules.workspaceAccessOf("STRICT")).toBe("ro");
    expect(rules.workspaceAccessOf("main")).toBe("rw");
    expect(rules.workspaceAccessOf("gone")).toBe("rw");
  });

  test("of a child under another profile are those of its parents' profiles too, each once", () => {
    const child = agent({ profile: "strict", state: { inheritedProfiles: ["main", "strict"] } });
    const parties = rules.partiesOf(child, people, { place: { workspace: "/w" } });
    expect(parties.map((party) => sees(party, ...NAMES))).toEqual([
      ["one", "three"],
      ["one", "two"],
    ]);
    expect(parties.every(({ place }) => place?.workspace === "/w")).toBe(true);
  });

  test("are those of the agents above as they are now", () => {
    const ancestors = [agent({ state: { rules: [{ deny: "own" }] } }), agent({ profile: "strict" })];
    const parties = rules.partiesOf(agent({ profile: "gone" }), people, { ancestors });
    expect(parties.map((party) => sees(party, ...NAMES))).toEqual([["one"], ["one", "two", "own"], ["one", "three"]]);
  });

  test("say why, and when they count", () => {
    expect(rulesIn(config.permissions, "here")).toEqual([
      { verdict: "deny", text: "one", source: "here" },
      { verdict: "deny", text: "long", source: "here", because: "so", when: "untrusted" },
    ]);
  });

  test("of an agent are read once while they are the same list", () => {
    const own = [{ deny: "own" }];
    const bare = configuredRules({ permissions: {}, profiles: {} } as never);
    const [first] = bare.partiesOf(agent({ state: { rules: own } }), people);
    expect(bare.partiesOf(agent({ state: { rules: own } }), people)[0]?.rules).toBe(first?.rules);
    expect(bare.partiesOf(agent({ state: { rules: [...own] } }), people)[0]?.rules).not.toBe(first?.rules);
  });

  test.each<[string, object, string | undefined]>([
    ["main", {}, undefined],
    ["node", {}, "mars"],
    ["node", { execNode: "venus" }, "venus"],
    ["node", { execHost: "gateway" }, undefined],
    ["main", { execHost: "node" }, ""],
    ["main", { execHost: "node", execNode: "venus" }, "venus"],
    ["main", { execNode: "venus" }, undefined],
  ])("of the profile %s with %j run commands on the node %s", (profile, state, node) => {
    expect(rules.nodeOf(agent({ profile, state }))).toBe(node);
  });

  test("keep a child in the sandbox in which an agent above it is now", () => {
    const onHost = agent({ profile: "host" });
    const shut = agent();
    expect(rules.execPolicyOf(onHost, people).host).toBe("gateway");
    expect(rules.execPolicyOf(onHost, people, { ancestors: [onHost] }).host).toBe("gateway");
    expect(rules.execPolicyOf(onHost, people, { ancestors: [shut] }).host).toBe("sandbox");
    expect(rules.execPolicyOf(onHost, people, { ancestors: [onHost, shut] }).host).toBe("sandbox");
    const parties = rules.partiesOf(onHost, people, { ancestors: [onHost, shut] });
    expect(parties.map(({ exec }) => exec?.host)).toEqual(["sandbox", "sandbox", "sandbox"]);
    const free = rules.partiesOf(onHost, people, { ancestors: [onHost] });
    expect(free.map(({ exec }) => exec?.host)).toEqual(["gateway", "gateway"]);
    expect(rules.execPolicyOf(agent({ profile: "node" }), people, { nodes: ["mars"] }).refused).toBeUndefined();
    expect(rules.execPolicyOf(agent({ profile: "node" }), people).refused).toContain("no node mars");
  });
});

describe("rules that people store", () => {
  const BY = { person: "owner", surface: "cli" };
  let store: Store;
  let ports: { store: Store; clock: ReturnType<typeof virtualClock>; ids: ReturnType<typeof seededIds> };
  beforeEach(() => {
    store = openMemoryStore();
    ports = { store, clock: virtualClock(), ids: seededIds("rules") };
  });
  const grants = async (id: string) => (await store.person(id))?.grants;

  test.each([
    ["allow", { allow: "exec(ls)", note: "why", when: "untrusted" }],
    ["ask", { ask: "exec(ls)", note: "why", when: "untrusted" }],
    ["deny", { deny: "exec(ls)", note: "why", when: "untrusted" }],
  ] as const)("are grants: %s", (verdict, grant) => {
    expect(grantOfRule({ verdict, rule: " exec(ls) ", because: "why", when: "untrusted" })).toEqual(grant);
  });

  test("must be rules", () => {
    expect(() => grantOfRule({ verdict: "deny", rule: "exec(a; b)" })).toThrow("is not valid: expected one command");
  });

  test("replace the one with the same text and verdict", () => {
    const before = [{ deny: "a" }, { allow: "a", note: "old" }, { allow: "b" }];
    expect(withGrant(before, { allow: "a" })).toEqual([{ deny: "a" }, { allow: "b" }, { allow: "a" }]);
  });

  test("of the owner make the owner's record, with a row of the audit log each", async () => {
    await addRule(ports, BY, OWNER, { verdict: "deny", rule: "exec(rm *)" });
    await addRule(ports, BY, OWNER, { verdict: "ask", rule: "exec(rm *)", because: "careful" });
    expect(await store.person(OWNER)).toMatchObject({ id: OWNER, role: "owner", accounts: [] });
    expect(await grants(OWNER)).toMatchObject([{ deny: "exec(rm *)" }, { ask: "exec(rm *)", note: "careful" }]);
    const audit = (await store.audit({ limit: 10 })).map(({ action, target }) => `${action} ${target}`);
    expect(audit).toEqual(["permission.add owner", "permission.add owner", "person.add owner"]);
    await removeRule(ports, BY, OWNER, "exec(rm *)");
    expect(await grants(OWNER)).toEqual([]);
  });

  test("of a person need the person, and are removed by their text", async () => {
    const rule = { verdict: "allow", rule: "cron_add" } as const;
    await expect(addRule(ports, BY, "ann", rule)).rejects.toThrow("There is no person ann");
    await addPerson(ports, BY, { id: "ann", name: "Ann", accounts: ["telegram:7"] });
    expect(await addRule(ports, BY, "ann", rule)).toMatchObject({ name: "Ann", accounts: ["telegram:7"] });
    await expect(removeRule(ports, BY, "ann", "cron_remove")).rejects.toThrow(
      "There is no stored rule cron_remove of ann",
    );
    expect(await removeRule(ports, BY, "ann", "cron_add")).toMatchObject({ name: "Ann", grants: [] });
    expect(await store.person(OWNER)).toBeUndefined();
    expect((await store.person("ann"))?.id as PersonId).toBe("ann");
  });

  test("to remove of an owner without a record are none", async () => {
    await expect(removeRule(ports, BY, OWNER, "exec")).rejects.toThrow("There is no stored rule exec of owner");
  });
});
