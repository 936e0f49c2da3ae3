import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { OWNER } from "../people/person.ts";
import { decide, type Effect, type Situation } from "./decide.ts";
import { parseRule } from "./rule.ts";
import { ruleSet } from "./rule-set.ts";
import { denialBySkills, withLimits } from "./skill-limits.ts";

const of = (...tools: string[]) => [{ skill: "s", tools }];
const exec = (...argv: string[]): Effect => ({
  ...{ action: "exec", rights: ["exec"], tool: "exec", detail: { kind: "command", argv, cwd: "/w" } },
});
const path = (action: string, access: "read" | "write", name: string): Effect => ({
  ...{ action, rights: [access], tool: action, detail: { kind: "path", access, path: name } },
});
const plain = (action: string): Effect => ({ action, rights: [] });

describe("allowed-tools of a skill", () => {
  it.each<[string, readonly string[], Effect, boolean]>([
    ["a named tool", ["read"], path("read", "read", "/w/a"), true],
    ["another tool that reads", ["read"], path("grep", "read", "/w/a"), false],
    ["another tool that writes", ["write"], path("edit", "write", "/w/a"), false],
    ["the tool that writes", ["write"], path("write", "write", "/w/a"), true],
    ["all that writes, as other programs write it", ["Write"], path("edit", "write", "/w/a"), true],
    ["a file of another tool that writes", ["write(/w/**)"], path("edit", "write", "/w/a"), false],
    ["a tool that is not named", ["read"], plain("web_fetch"), false],
    ["no tool at all", [], plain("current_time"), false],
    ["the tool that reads the skill", [], plain("skill"), true],
    ["the tool that finds tools", [], plain("find_tools"), true],
    ["a beginning", ["memory_*"], plain("memory_get"), true],
    ["a whole server", ["mcp__mail"], plain("mcp__mail__list"), true],
    ["another server", ["mcp__mail"], plain("mcp__bank__pay"), false],
    ["the tool of a command, before its words are known", ["exec(git *)"], { action: "exec", rights: ["exec"] }, true],
    ["a command", ["exec(git *)"], exec("git", "status"), true],
    ["another command", ["exec(git *)"], exec("rm", "-rf"), false],
    ["a command as other programs write it", ["Bash(git:*)"], exec("git", "log"), true],
    ["all that reads, as other programs write it", ["Read"], path("grep", "read", "/w/a"), true],
    ["a file", ["write(/w/out/**)"], path("write", "write", "/w/out/x"), true],
    ["another file", ["write(/w/out/**)"], path("write", "write", "/w/AGENTS.md"), false],
    ["an entry that cannot be read", ["exec(git"], exec("git"), false],
  ])("%s", (_, tools, effect, isAllowed) => {
    expect(denialBySkills(effect, of(...tools)) === undefined).toBe(isAllowed);
  });

  it.each([
    [[], "none"],
    [["read"], "read"],
    [["read", "Bash(git:*)"], "read, Bash(git:*)"],
  ])("%j are named to who is refused something else", (tools, named) => {
    const reason = `the skill s is used with these tools only: ${named}`;
    expect(denialBySkills(plain("web_fetch"), of(...tools))).toBe(reason);
  });

  it("of several skills must all allow it", () => {
    const both = withLimits(of("read", "exec"), [{ skill: "t", tools: ["read"] }]);
    expect(denialBySkills(plain("read"), both)).toBeUndefined();
    expect(denialBySkills(exec("ls"), both)).toContain("the skill t");
    expect(withLimits(both, of("write"))).toEqual(both);
    expect(withLimits(undefined, [])).toBeUndefined();
  });

  it("only narrow: nothing is allowed with them that is not allowed without", () => {
    const names = ["read", "write", "exec", "web_fetch", "memory_get", "cron_add", "mcp__a__b", "Bash(ls:*)", "*"];
    const effects = [
      plain("web_fetch"),
      plain("cron_add"),
      exec("ls"),
      exec("rm"),
      path("write", "write", "/w/SOUL.md"),
    ];
    fc.assert(
      fc.property(
        fc.subarray(names),
        fc.constantFrom(...effects),
        fc.constantFrom("owner", "guest", "contact", "stranger"),
        fc.boolean(),
        (tools, effect, role, untrusted) => {
          const rules = ruleSet([{ verdict: "deny", text: "cron_add", source: "test" }]);
          const situation = {
            ...{ people: [{ person: OWNER, role, grants: [] }], kind: "user", untrusted },
            rules: [{ rules }],
          } as unknown as Situation;
          const order = ["allow", "ask", "deny"];
          const without = order.indexOf(decide(effect, situation).verdict);
          const with_ = order.indexOf(decide(effect, { ...situation, skills: of(...tools) }).verdict);
          expect(with_).toBeGreaterThanOrEqual(without);
        },
      ),
    );
  });

  it("are read as rules are", () => expect(parseRule("Bash(git:*)")).toHaveProperty("subject"));
});
