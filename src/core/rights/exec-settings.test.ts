/** The ancestors' settings about commands, as a full table: every combination has one outcome, for the owner and for others. */
import { describe, expect, it } from "vitest";
import type { AgentRecord } from "../agent/agent.ts";
import { ELEVATED_LEVELS, EXEC_ASK, EXEC_HOSTS, EXEC_SECURITY } from "../agent/exec-fields.ts";
import { strictest, VERDICTS, type Verdict } from "../people/grant.ts";
import { OWNER, type PersonId } from "../people/person.ts";
import { decide, type Effect } from "./decide.ts";
import { type ExecPolicy, execPolicyFor, isNode } from "./exec-settings.ts";
import type { Rule } from "./rule.ts";
import { ruleSet } from "./rule-set.ts";

const ANN = "ann" as PersonId;
const agent = (state: object) => ({ state }) as Pick<AgentRecord, "state">;
const NODES = ["worker"];

const command = (...argv: string[]): Effect => ({
  action: "exec",
  rights: ["exec"],
  detail: { kind: "command", argv, cwd: "/w" },
});
const UNPARSED: Effect = {
  action: "exec",
  rights: ["exec"],
  detail: { kind: "unparsed", line: "$x", cwd: "/w", why: "it has a variable" },
};
const RULES: readonly Rule[] = [
  { verdict: "allow", text: "exec(git *)", source: "permissions" },
  { verdict: "ask", text: "exec(git push *)", source: "permissions" },
  { verdict: "deny", text: "exec(rm *)", source: "permissions" },
];
/** A listed command, one that no rule names, a safe one, one that a rule asks about, a denied one, a line that no one can read. */
const EFFECTS = [
  command("git", "commit"),
  command("make"),
  command("ls"),
  command("git", "push"),
  command("rm", "x"),
  UNPARSED,
];
const LETTER: Readonly<Record<Verdict, string>> = { allow: "+", ask: "?", deny: "-" };
const outcome = (exec: ExecPolicy): string =>
  EFFECTS.map((effect) => {
    const people = [{ person: OWNER, role: "owner", grants: [] } as const];
    return LETTER[decide(effect, { people, kind: "user", rules: [{ rules: ruleSet(RULES), exec }] }).verdict];
  }).join("");

const combinations = EXEC_HOSTS.flatMap((execHost) =>
  EXEC_SECURITY.flatMap((execSecurity) =>
    EXEC_ASK.flatMap((execAsk) =>
      ELEVATED_LEVELS.map((elevatedLevel) => ({ execHost, execSecurity, execAsk, elevatedLevel, execNode: "worker" })),
    ),
  ),
);

/** By security and ask: what the six commands become in the sandbox, then on a host (where no command is safe by itself). */
const TABLE: Readonly<Record<string, readonly [string, string]>> = {
  "deny off": ["------", "------"],
  "deny on-miss": ["------", "------"],
  "deny always": ["------", "------"],
  "allowlist off": ["+-+---", "+-----"],
  "allowlist on-miss": ["+?+?-?", "+???-?"],
  "allowlist always": ["????-?", "????-?"],
  "full off": ["+++---", "+++---"],
  "full on-miss": ["+++?-?", "+++?-?"],
  "full always": ["????-?", "????-?"],
};

describe("every combination for the owner", () => {
  it.each(combinations)("$execHost $execSecurity $execAsk $elevatedLevel", (settings) => {
    const { execHost, execSecurity, execAsk, elevatedLevel } = settings;
    const policy = execPolicyFor(agent(settings), OWNER, { nodes: NODES });
    const isElevated = elevatedLevel !== "off" && execSecurity !== "deny";
    const host = execHost === "node" ? "node" : isElevated ? "gateway" : execHost;
    expect(policy.host).toBe(host);
    expect(policy.refused).toBeUndefined();
    const isSandbox = host === "sandbox" ? 0 : 1;
    const plain = TABLE[`${execSecurity} ${execAsk}`]?.[isSandbox];
    if (!isElevated || elevatedLevel === "on") expect(outcome(policy)).toBe(plain);
    else if (elevatedLevel === "ask") expect(outcome(policy)).toBe("????-?");
    else expect(outcome(policy)).toBe("++++-+");
  });

  it("is the same for a list of people that names no one else", () => {
    const settings = { execHost: "gateway", execSecurity: "full", execAsk: "off", elevatedLevel: "on" };
    const alone = execPolicyFor(agent(settings), OWNER);
    expect(alone).toMatchObject({ host: "gateway", security: "full", ask: "off", elevated: "on" });
    for (const way of [[OWNER], [OWNER, OWNER]]) expect(execPolicyFor(agent(settings), way)).toEqual(alone);
  });

  it("are 108", () => expect(combinations).toHaveLength(108));
});

describe("other people", () => {
  it.each(combinations)("stay in the sandbox: $execHost $execSecurity $execAsk $elevatedLevel", (settings) => {
    for (const way of [[ANN], [OWNER, ANN], []]) {
      const policy = execPolicyFor(agent(settings), way, { nodes: NODES, host: "gateway", elevated: "full" });
      expect(policy).toMatchObject({ host: "sandbox", elevated: "off", security: "allowlist" });
    }
  });

  it("are bound by a profile that denies or asks more", () => {
    const policy = execPolicyFor(agent({}), ANN, { security: "deny", ask: "always" });
    expect(policy).toMatchObject({ security: "deny", ask: "always" });
  });
});

describe("the settings of a profile", () => {
  const profile = {
    host: "node",
    node: "worker",
    security: "full",
    ask: "always",
    elevated: "on",
    nodes: NODES,
  } as const;
  it("hold where the agent has none, and are replaced where it has", () => {
    const { bound: _, ...policy } = execPolicyFor(agent({}), OWNER, profile);
    expect(policy).toEqual({
      ...{ host: "node", node: "worker", security: "full", ask: "always", elevated: "on", refused: undefined },
    });
    const own = {
      ...{ execHost: "gateway", execNode: "other", execSecurity: "allowlist", execAsk: "off", elevatedLevel: "off" },
    };
    expect(execPolicyFor(agent(own), OWNER, profile)).toMatchObject({
      ...{ host: "gateway", node: "other", security: "allowlist", ask: "off", elevated: "off" },
    });
  });
  it("hold for others only where they are stricter", () => {
    expect(execPolicyFor(agent({}), [OWNER, ANN], profile)).toMatchObject({
      ...{ host: "sandbox", node: undefined, security: "allowlist", ask: "always", elevated: "off" },
    });
    const none = execPolicyFor(agent({}), ANN, { security: "deny" });
    expect(none).toMatchObject({ security: "deny", ask: "on-miss" });
    expect(execPolicyFor(agent({}), [], profile)).toMatchObject({ host: "sandbox", security: "allowlist" });
  });
  it("leave a child of a sandboxed agent in the sandbox", () => {
    const shut = { host: "sandbox", node: undefined, elevated: "off" };
    expect(execPolicyFor(agent({}), OWNER, { ...profile, isShut: true })).toMatchObject(shut);
    const inheritedExec = { host: "sandbox", security: "full", ask: "off", elevated: "off" };
    expect(execPolicyFor(agent({ inheritedExec }), OWNER, profile)).toMatchObject({ ...shut, bound: inheritedExec });
  });
});

describe("a node", () => {
  it.each([
    [{ execHost: "node", execNode: "worker" }, undefined],
    [{ execHost: "node", execNode: "nowhere" }, "there is no node nowhere in this cluster"],
    [{ execHost: "node" }, "execHost is node, and execNode names no node"],
  ])("%j", (settings, refused) => {
    const policy = execPolicyFor(agent(settings), OWNER, { nodes: NODES });
    expect(policy.refused).toBe(refused);
    if (refused !== undefined) expect(outcome(policy)).toBe("------");
  });
});

/** The name in the settings, the name of a node, and whether the one means the other. */
it.each([
  ["mars", "mars", true],
  ["mars", "mars pid 7", true],
  ["mars pid 7", "mars pid 7", true],
  ["mars pid 7", "mars pid 71", false],
  ["mars pid 7", "mars", false],
  ["mars", "marsh", false],
  ["mars", "marsh pid 7", false],
  ["mars", "mars2 pid 7", false],
  ["mars", "Mars", false],
  // No name means no node, not one without a name.
  ["", "", false],
  ["", " pid 7", false],
  ["", "mars", false],
])("%j means the node %j: %s", (wanted, name, is) => {
  expect(isNode(wanted, name)).toBe(is);
});

describe("a child", () => {
  it("of a sandboxed agent is sandboxed, whatever its profile says", () => {
    const inheritedExec = execPolicyFor(agent({}), OWNER);
    const policy = execPolicyFor(agent({ inheritedExec }), OWNER, { host: "gateway", elevated: "full" });
    expect(policy).toMatchObject({ host: "sandbox", elevated: "off" });
    expect(outcome(policy)).toBe("+?+?-?");
  });

  it("has never a milder verdict than its parent, in all combinations", () => {
    for (const parents of combinations) {
      const parent = execPolicyFor(agent(parents), OWNER, { nodes: NODES });
      for (const own of combinations.filter((_, at) => at % 5 === 0)) {
        const child = execPolicyFor(agent({ ...own, inheritedExec: parent }), OWNER, { nodes: NODES });
        const [a, b] = [outcome(parent), outcome(child)];
        const verdict = (sign: string | undefined) => VERDICTS.find((one) => LETTER[one] === sign) as Verdict;
        for (let at = 0; at < a.length; at++) {
          expect(strictest(verdict(a[at]), verdict(b[at]))).toBe(verdict(b[at]));
        }
        if (parent.host === "sandbox") expect(child.host).toBe("sandbox");
      }
    }
  });
});

it("treats a setting it does not know as absent", () => {
  const settings = { execHost: "moon", execSecurity: "none", execAsk: "sometimes", elevatedLevel: "high" };
  expect(execPolicyFor(agent(settings), OWNER)).toEqual(execPolicyFor(agent({}), OWNER));
});
