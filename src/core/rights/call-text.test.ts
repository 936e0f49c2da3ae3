import { describe, expect, test } from "vitest";
import { commandEffects, effectsOfCall } from "./call-text.ts";

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
