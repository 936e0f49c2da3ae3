import { describe, expect, test } from "vitest";
import type { Effect } from "./decide.ts";
import { denialOf, patternOf } from "./rule-of-effect.ts";

const command = (...argv: string[]): Partial<Effect> => ({ detail: { kind: "command", argv, cwd: "/" } });
const path = (access: "read" | "write", text: string): Partial<Effect> => ({
  detail: { kind: "path", access, path: text },
});
const host = (name: string, port?: number): Partial<Effect> => ({ detail: { kind: "host", host: name, port } });
const unparsed: Partial<Effect> = { detail: { kind: "unparsed", line: "$x", cwd: "/", why: "y" } };

describe("the pattern that always offers", () => {
  test.each<[string, Partial<Effect>, string | undefined]>([
    ["edit", path("write", "/w/a.ts"), "write(/w/a.ts)"],
    ["grep", path("read", "/a"), "read(/a)"],
    ["web_fetch", host("a.b.example.org", 81), "web(domain:a.b.example.org:81)"],
    ["web_fetch", host("ann.github.io"), "web(domain:ann.github.io)"],
    ["send", { target: "telegram:42" }, "send(telegram:42)"],
    // A wildcard in what was asked would allow more than that.
    ["read", path("read", "/a/*"), undefined],
    ["web_fetch", host("*.com"), undefined],
    ["send", { target: "telegram:4*" }, undefined],
    ["send", { target: "" }, undefined],
    // A rule that could not be read again.
    ["read", path("read", `/${"x".repeat(1_000)}`), undefined],
  ])("names the file, the host or the recipient of %s %j: %s", (action, more, rule) => {
    expect(patternOf({ action, ...more })).toBe(rule);
  });

  test.each<[string, Partial<Effect>]>([
    ["exec", command("git", "push", "origin")],
    ["exec", command("python3", "-c", "print(1)")],
    ["exec", command("python3", "x.py")],
    ...["node", "sh", "bash", "perl", "ruby", "npx", "env", "sudo", "xargs", "make", "find", "my-own-runner"].map(
      (program): [string, Partial<Effect>] => ["exec", command(program, "x")],
    ),
    ["exec", unparsed],
    ["exec", { target: "secret:KEY" }],
    ["exec", {}],
    ["cron_add", {}],
    ["mcp__bank__send", {}],
  ])("is never a tool or a program: %s %j", (action, more) => {
    expect(patternOf({ action, ...more })).toBeUndefined();
  });
});

test.each<[string, Partial<Effect>, string | undefined]>([
  ["exec", command("git", "push", "origin"), "exec(git push origin)"],
  ["exec", command("echo", "it's"), "exec(echo 'it'\\''s')"],
  ["exec", command("my prog", "x"), "exec('my prog' x)"],
  ["exec", unparsed, undefined],
  ["edit", {}, "write"],
  ["grep", {}, "read"],
  ["web_search", {}, "web"],
  ["cron_add", {}, "cron_add"],
])("a no to %s %j denies %s", (action, more, rule) => {
  expect(denialOf({ action, ...more })).toBe(rule);
});
