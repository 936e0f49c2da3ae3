import { expect, test } from "vitest";
import { OWNER, type PersonId } from "../people/person.ts";
import { decide, type Effect } from "./decide.ts";
import { isGitFile, namesGitFile } from "./git-files.ts";
import type { Rule } from "./rule.ts";
import { ruleSet } from "./rule-set.ts";

const detail = (path: string, repository?: boolean) => ({ kind: "path", access: "write", path, repository }) as const;

test.each<[string, boolean]>([
  ["/w/.git/config", true],
  ["/w/.git", true],
  ["/w/a/b/.git/hooks/pre-commit", true],
  ["/w/.GIT/config", true],
  ["/w/.git./config", true],
  ["/w/.g\u200cit/config", true],
  ["/w/GIT~1/config", true],
  ["/w/store/HEAD", true],
  ["/w/store/head", true],
  ["/w/HEAD/x", false],
  ["/w/.gitignore", false],
  ["/w/.github/workflows/x.yml", false],
  ["/w/git/config", false],
  ["/w/src/a.ts", false],
])("finds that git obeys %s: %s", (path, is) => {
  expect(isGitFile(detail(path))).toBe(is);
  expect(isGitFile(detail(path, true))).toBe(true);
});

test.each<[string, string, boolean]>([
  ["write(.git/**)", "/w/.git/config", true],
  ["write(/w/a/.git/config)", "/w/a/.git/config", true],
  ["write(store.git/**)", "/w/store.git/config", true],
  ["write(store/config)", "/w/store/config", true],
  ["write(**)", "/w/.git/w", false],
  ["write(src/**)", "/w/.git/config", false],
  ["write", "/w/.git/write", false],
])("finds that %s names %s: %s", (rule, path, names) => {
  expect(namesGitFile(rule, detail(path))).toBe(names);
});

const PLACE = { workspace: "/w", home: "/home/you" };

test.each<[string, readonly Pick<Rule, "verdict" | "text">[], "allow" | "ask" | "deny"]>([
  ["no rule", [], "ask"],
  ["a rule for every file", [{ verdict: "allow", text: "write(**)" }], "ask"],
  ["a rule for the tool", [{ verdict: "allow", text: "write" }], "ask"],
  ["a rule that names it", [{ verdict: "allow", text: "write(.git/**)" }], "allow"],
  ["a denial", [{ verdict: "deny", text: "write(**)" }], "deny"],
])("decides about a file of git with %s", (_title, given, verdict) => {
  const rules = ruleSet(given.map((one) => ({ ...one, source: "permissions" })));
  const effect: Effect = { action: "write", rights: ["write"], detail: detail("/w/.git/config") };
  for (const person of [OWNER, "ann" as PersonId]) {
    const role = person === OWNER ? "owner" : "guest";
    const standing = { person, role, grants: [{ allow: "write" }] } as const;
    const decision = decide(effect, { people: [standing], kind: "user", rules: [{ rules, place: PLACE }] });
    expect(decision.verdict).toBe(verdict);
    if (verdict === "ask") expect(decision.reason).toBe("it can make git run programs: a person reviews it");
  }
});
