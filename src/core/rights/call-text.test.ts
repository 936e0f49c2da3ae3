import { describe, expect, test } from "vitest";
import { commandEffects, effectsOfCall } from "./call-text.ts";
import type { Effect } from "./decide.ts";
import { RULE_WIDTHS, ruleTextOf } from "./rule-widths.ts";

const place = { workspace: "/w", home: "/h" };
const host = (name: string, port?: number) => ({ kind: "host", host: name, port });
const file = (access: string, path: string) => ({ kind: "path", access, path });

describe("a call as people write it", () => {
  test.each<[string, readonly object[]]>([
    ["exec", [{ action: "exec", rights: ["exec"] }]],
    ["process", [{ action: "process", rights: ["exec"] }]],
    ["write", [{ action: "write", rights: ["write"] }]],
    ["grep", [{ action: "grep", rights: ["read"] }]],
    ["web_search", [{ action: "web_search", rights: ["network"] }]],
    ["mcp__github__list", [{ action: "mcp__github__list", rights: ["network"] }]],
    ["cron_add", [{ action: "cron_add", rights: ["schedule"] }]],
    ["heartbeat_run", [{ action: "heartbeat_run", rights: ["schedule"] }]],
    ["send_file", [{ action: "send_file", rights: ["send"] }]],
    ["message", [{ action: "message", rights: ["send"] }]],
    ["gateway", [{ action: "gateway", rights: [] }]],
    ["send(telegram:42)", [{ action: "send", rights: ["send"], target: "telegram:42" }]],
    ["write(src/../a.ts)", [{ action: "write", rights: ["write"], detail: file("write", "/w/a.ts") }]],
    ["edit(/etc/./x)", [{ action: "edit", rights: ["write"], detail: file("write", "/etc/x") }]],
    ["read(~/a)", [{ action: "read", rights: ["read"], detail: file("read", "/h/a") }]],
    ["list(~a)", [{ action: "list", rights: ["read"], detail: file("read", "/w/~a") }]],
    ["web(example.org)", [{ action: "web_fetch", rights: ["network"], detail: host("example.org") }]],
    [
      "web(https://example.org:8443/x)",
      [{ action: "web_fetch", rights: ["network"], detail: host("example.org", 8443) }],
    ],
    ["web_fetch(domain:a.b)", [{ action: "web_fetch", rights: ["network"], detail: host("a.b") }]],
    ["web_search(a.b)", [{ action: "web_search", rights: ["network"], detail: host("a.b") }]],
    [
      "exec(git status && rm x > out)",
      [
        { action: "exec", rights: ["exec"], detail: { kind: "command", argv: ["git", "status"], cwd: "/w" } },
        { action: "exec", rights: ["exec"], detail: { kind: "command", argv: ["rm", "x"], cwd: "/w" } },
        { action: "write", rights: ["write"], detail: file("write", "/w/out") },
      ],
    ],
    [
      "exec(echo $HOME)",
      [
        {
          ...{ action: "exec", rights: ["exec"] },
          detail: {
            ...{ kind: "unparsed", line: "echo $HOME", cwd: "/w" },
            why: "it has a variable, whose value is not known",
          },
        },
      ],
    ],
  ])("%s", (call, effects) => {
    const called = effectsOfCall(call, place);
    expect("effects" in called ? called.effects.map((one) => JSON.parse(JSON.stringify(one))) : called).toEqual(
      JSON.parse(JSON.stringify(effects)),
    );
  });

  test.each(["", "exec(", "cron_*", "a b", "exec()"])("%j is none", (call) => {
    expect(effectsOfCall(call, place)).toEqual({ wrong: expect.stringContaining("expected a call") });
  });

  test("a page without a host is none", () => {
    expect(effectsOfCall("web(http://)", place)).toEqual({ wrong: expect.stringContaining("neither a host") });
  });

  test("without a place examples are somewhere, and paths of a place without directories begin at the root", () => {
    expect(effectsOfCall("write(a)")).toMatchObject({ effects: [{ detail: { path: "/workspace/a" } }] });
    expect(effectsOfCall("write(~/a)")).toMatchObject({ effects: [{ detail: { path: "/home/you/a" } }] });
    expect(effectsOfCall("write(a)", {})).toMatchObject({ effects: [{ detail: { path: "/a" } }] });
    expect(effectsOfCall("write(~/a)", {})).toMatchObject({ effects: [{ detail: { path: "/a" } }] });
    expect(commandEffects("ls < in", {})).toMatchObject([
      { detail: { argv: ["ls"], cwd: "/" } },
      { action: "read", rights: ["read"], detail: { access: "read", path: "/in" } },
    ]);
    expect(commandEffects("$x", {})).toMatchObject([{ detail: { kind: "unparsed", cwd: "/" } }]);
  });
});

describe("the rules that an answer would make, for this call, for its beginning, for the tool", () => {
  const command = (...argv: string[]): Partial<Effect> => ({ detail: { kind: "command", argv, cwd: "/" } });
  const path = (access: "read" | "write", text: string): Partial<Effect> => ({
    detail: { kind: "path", access, path: text },
  });
  test.each<[string, Partial<Effect>, readonly (string | undefined)[]]>([
    ["exec", command("git", "push", "origin"), ["exec(git push origin)", "exec(git push *)", "exec"]],
    ["exec", command("ls", "-la"), ["exec(ls -la)", "exec(ls *)", "exec"]],
    ["exec", command("cat", "a/b"), ["exec(cat a/b)", "exec(cat *)", "exec"]],
    ["exec", command("echo", "two words"), ["exec(echo 'two words')", "exec(echo *)", "exec"]],
    ["exec", command("echo", "it's"), ["exec(echo 'it'\\''s')", "exec(echo *)", "exec"]],
    ["exec", command("echo"), ["exec(echo)", "exec(echo *)", "exec"]],
    ["exec", command("my prog", "x"), ["exec('my prog' x)", "exec('my prog' x *)", "exec"]],
    ["exec", { detail: { kind: "unparsed", line: "$x", cwd: "/", why: "y" } }, [undefined, undefined, "exec"]],
    ["edit", path("write", "/w/a.ts"), ["write(/w/a.ts)", "write(/w/**)", "write"]],
    ["grep", path("read", "/a"), ["read(/a)", "read(/**)", "read"]],
    [
      "web_fetch",
      { detail: { kind: "host", host: "a.b.example.org", port: 81 } },
      ["web(domain:a.b.example.org:81)", "web(domain:example.org)", "web"],
    ],
    [
      "web_search",
      { detail: { kind: "host", host: "example.org" } },
      ["web(domain:example.org)", "web(domain:example.org)", "web"],
    ],
    [
      "web_fetch",
      { detail: { kind: "host", host: "10.0.0.1" } },
      ["web(domain:10.0.0.1)", "web(domain:10.0.0.1)", "web"],
    ],
    ...(
      [
        ["a.b.co.uk", "b.co.uk"],
        ["a.abc.uk", "a.abc.uk"],
        ["a.abcd.uk", "abcd.uk"],
        ["x.abc.com", "abc.com"],
        ["localhost", "localhost"],
      ] as const
    ).map(([host, domain]): [string, Partial<Effect>, readonly string[]] => [
      ...(["web_fetch", { detail: { kind: "host", host } }] as const),
      [`web(domain:${host})`, `web(domain:${domain})`, "web"],
    ]),
    // Everyone has a domain below co.uk: no button offers a rule for all of them.
    [
      "web_fetch",
      { detail: { kind: "host", host: "example.co.uk" } },
      ["web(domain:example.co.uk)", "web(domain:example.co.uk)", "web"],
    ],
    [
      "web_fetch",
      { detail: { kind: "host", host: "www.example.com.au" } },
      ["web(domain:www.example.com.au)", "web(domain:example.com.au)", "web"],
    ],
    [
      "web_fetch",
      { detail: { kind: "host", host: "docs.example.de" } },
      ["web(domain:docs.example.de)", "web(domain:example.de)", "web"],
    ],
    ["cron_add", {}, ["cron_add", "cron_add", "cron_add"]],
    ["send", { target: "telegram:42" }, ["send(telegram:42)", "send(telegram:42)", "send(telegram:42)"]],
    // A wildcard in what was asked would allow more than that.
    ["exec", command("rm", "*"), [undefined, "exec(rm *)", "exec"]],
    ["exec", command("rm", "a*b", "c"), [undefined, "exec(rm *)", "exec"]],
    ["exec", command("grep", "a|b", "c"), [undefined, "exec(grep *)", "exec"]],
    ["exec", command("./*", "x"), [undefined, undefined, "exec"]],
    ["read", path("read", "/a/*"), [undefined, "read(/a/**)", "read"]],
    ["read", path("read", "/*/a"), [undefined, undefined, "read"]],
    ["web_fetch", { detail: { kind: "host", host: "*.com" } }, [undefined, undefined, "web"]],
    ["send", { target: "telegram:4*" }, [undefined, undefined, undefined]],
    // A rule that could not be read again is not offered.
    ["exec", command("x".repeat(1_000)), [undefined, undefined, "exec"]],
    ["send", { target: "" }, [undefined, undefined, undefined]],
  ])("%s %j", (action, more, rules) => {
    expect(RULE_WIDTHS.map((width) => ruleTextOf({ action, ...more }, width))).toEqual(rules);
  });
});
