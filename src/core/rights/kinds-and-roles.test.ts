/** Who may use what before any rule is asked: by the kind of the agent, its profile, the role of the person, the token. */
import { describe, expect, test } from "vitest";
import { AGENT_KINDS } from "../agent/descriptor.ts";
import type { Effect } from "./decide.ts";
import { denialByKind, mayUse, type ToolPolicy, type ToolUser } from "./kind-rules.ts";
import { isPromptFile, namesFile, plainName } from "./prompt-files.ts";
import { roleVerdict } from "./role-rules.ts";
import { holds, SCOPES, type Scope, within } from "./scope.ts";
import { denialByToken } from "./token-rules.ts";
import { needsQuestion } from "./untrusted-rules.ts";

describe("tools by the kind of the agent", () => {
  test.each<[string, Parameters<typeof mayUse>[1], ToolPolicy, ToolUser, boolean]>([
    ["exec", "user", {}, {}, true],
    ["ask_user", "user", {}, {}, true],
    ["ask_user", "subagent", {}, {}, false],
    ["send_file", "cron", {}, {}, false],
    ["set_reaction", "permanent", {}, {}, false],
    ["send_agent_message", "swarm", {}, {}, true],
    ["exec", "swarm", {}, {}, false],
    ["doctor", "system", {}, {}, true],
    ["diagnose", "user", {}, {}, false],
    ["diagnose", "system", {}, { tag: "doctor" }, true],
    ["diagnose", "system", {}, {}, false],
    ["read", "system", {}, { tag: "doctor" }, true],
    ["constructor", "user", {}, {}, true],
    ["diagnose", "system", {}, { tag: "other" }, false],
    ["exec", "subagent", {}, {}, true],
    ["exec", "subagent", {}, { inherited: ["read"] }, false],
    ["read", "subagent", {}, { inherited: ["read"] }, true],
    ["sessions_spawn", "subagent", {}, {}, false],
    ["sessions_spawn", "subagent", {}, { nesting: true }, true],
    ["sessions_spawn", "user", {}, {}, true],
    ["sessions_spawn", "subagent", { subagents: { allow: ["sessions_*"] } }, {}, true],
    ["sessions_spawn", "subagent", { subagents: { allow: ["*"], deny: ["sessions_*"] } }, { nesting: true }, false],
    ["exec", "subagent", { subagents: { deny: ["exec"] } }, {}, false],
    ["exec", "user", { subagents: { deny: ["exec"] } }, {}, true],
    ["cron_add", "subagent", { subagents: { allow: ["cron_add"] } }, {}, true],
    ["exec", "user", { allow: ["read"] }, {}, false],
    ["read", "user", { allow: ["read"] }, {}, true],
    ["read", "user", { allow: ["re*"], deny: ["read"] }, {}, false],
    ["read", "user", { allow: [] }, {}, false],
    ["read", "user", { allow: ["read"], deny: ["*"] }, {}, false],
    ["current_time", "user", { deny: ["cron_*"] }, {}, true],
    ["current_time", "swarm", { deny: ["*"] }, {}, false],
    ["set_reaction", "permanent", { allow: ["*"] }, {}, false],
    ["sessions_spawn", "subagent", { deny: ["sessions_spawn"], subagents: { allow: ["*"] } }, {}, false],
    ["sessions_spawn", "subagent", { subagents: { allow: ["*"], deny: ["sessions_*"] } }, {}, false],
  ])("%s for %s with %j and %j: %s", (tool, kind, policy, user, may) => {
    expect(mayUse(tool, kind, policy, user)).toBe(may);
  });

  test("denies subagents the tools for other sessions, schedules, lasting agents and memory", () => {
    const denied = [
      ...["sessions_list", "sessions_history", "sessions_send", "session_status", "agents_list", "message"],
      ...["gateway", "whatsapp_login", "memory_search", "memory_get", "memory_write"],
      ...["cron", "cron_add", "cron_delete_task", "heartbeat_add", "heartbeat_remove", "heartbeat_run"],
      ...["create_permanent_agent", "remove_permanent_agent", "create_swarm", "remove_swarm", "send_user_message"],
    ];
    const nested = ["sessions_spawn", "start_background_agent", "subagents"];
    for (const tool of [...denied, ...nested]) {
      expect(mayUse(tool, "subagent"), tool).toBe(false);
      expect(mayUse(tool, "subagent", { allow: ["*"] }), tool).toBe(false);
      expect(mayUse(tool, "subagent", {}, { nesting: true }), tool).toBe(nested.includes(tool));
      for (const kind of AGENT_KINDS.filter((one) => one !== "swarm" && one !== "subagent")) {
        expect(mayUse(tool, kind), `${kind} ${tool}`).toBe(true);
      }
    }
    for (const tool of nested) expect(denialByKind(tool, "subagent", {})).toBe("subagents may not have subagents");
  });

  test("allows tools that need a person to user agents only, and a swarm's agents only what they need to answer", () => {
    for (const tool of ["set_reaction", "send_file", "ask_user"]) {
      for (const kind of AGENT_KINDS) expect(mayUse(tool, kind), `${kind} ${tool}`).toBe(kind === "user");
    }
    for (const tool of ["send_agent_message", "read_message_file", "current_time"]) {
      expect(mayUse(tool, "swarm"), tool).toBe(true);
    }
    for (const tool of ["read", "write", "sessions_send", "create_swarm", "diagnose"]) {
      expect(mayUse(tool, "swarm"), tool).toBe(false);
    }
  });
});

describe("what a role may do without a grant", () => {
  const effect = (action: string, more: Partial<Effect> = {}): Effect => ({ action, rights: [], ...more });
  test.each<[string, Effect, boolean]>([
    ["owner", effect("gateway", { rights: ["exec"], target: "x" }), true],
    ["guest", effect("read"), true],
    ["guest", effect("exec", { rights: ["exec"] }), false],
    ["guest", effect("send", { target: "telegram:42" }), false],
    ["guest", effect("heartbeat_add"), false],
    ["guest", effect("gate"), false],
    ["guest", effect("gateway"), false],
    ["guest", effect("create_swarm"), false],
    ["guest", effect("remove_permanent_agent"), false],
    ["guest", effect("diagnose"), false],
    ["guest", effect("approve"), false],
    ["guest", effect("chat_send"), false],
    ["guest", effect("chat_elevated"), false],
    ["guest", effect("manage.tokens"), false],
    ["guest", effect("chat_model"), true],
    ["contact", effect("message"), true],
    ["contact", effect("send_agent_message"), true],
    ["contact", effect("send_user_message"), true],
    ["contact", effect("send_agent_message", { target: "agent:x" }), false],
    ["contact", effect("read"), false],
    ["stranger", effect("message"), false],
  ])("%s, %j: %s", (role, what, may) => {
    const { verdict, reason } = roleVerdict(role as never, what);
    expect(verdict).toBe(may ? "allow" : "deny");
    expect(reason === "").toBe(may);
  });
});

describe("tokens", () => {
  test("hold what their scopes include", () => {
    const held = (scope: Scope): Scope[] => SCOPES.filter((one) => holds([scope], one));
    expect(SCOPES.map(held)).toEqual([["read"], ["chat"], ["read", "chat", "operate"], [...SCOPES]]);
    expect(holds([], "read")).toBe(false);
    expect(within(["operate"], ["read", "chat"])).toBe(true);
    expect(within(["operate"], ["read", "admin"])).toBe(false);
    expect(within([], [])).toBe(true);
  });

  test.each<[Scope[], boolean, Scope, boolean, "ok" | "scope" | "owner"]>([
    [["read"], false, "read", false, "ok"],
    [["chat"], false, "read", false, "scope"],
    // A token of a person may do with the person's own things what chatting can do.
    [["chat"], true, "read", true, "ok"],
    [["chat"], true, "admin", true, "ok"],
    [["read"], true, "operate", true, "scope"],
    [["read"], true, "read", true, "ok"],
    [["chat"], false, "operate", true, "scope"],
    [["chat"], true, "read", false, "scope"],
    [["admin"], true, "read", false, "owner"],
    [["admin"], false, "admin", false, "ok"],
  ])("with %j, confined %s, asked for %s of one's own %s: %s", (scopes, confined, scope, own, outcome) => {
    const denial = denialByToken({ scope, own }, { scopes, confined });
    if (outcome === "ok") expect(denial).toBeUndefined();
    else expect(denial?.scope).toBe(outcome === "scope" ? scope : undefined);
    expect(denial !== undefined).toBe(outcome !== "ok");
  });

  test("what is not said to be one's own is not", () => {
    expect(denialByToken({ scope: "read" }, { scopes: ["chat"], confined: true })?.scope).toBe("read");
    expect(denialByToken({ scope: "chat" }, { scopes: ["chat"], confined: true })?.reason).toContain("for the owner");
  });
});

describe("files that decide what agents do", () => {
  test.each([
    ["/w/AGENTS.md", "/w", true],
    ["/w/agents.MD", "/w", true],
    ["/w/sub/SOUL.md", "/w", true],
    ["/w/SOUL.md. ", "/w", true],
    ["/w/SO\u200bUL.md", "/w", true],
    ["/w/ＳＯＵＬ.md", "/w", true],
    ["/w/MEMORY.md", "/w", false],
    ["/w/cron/a.md", "/w", true],
    ["/w/Heartbeat/a", "/w", true],
    ["/w/a/cron/b.md", "/w", false],
    ["/cron/b.md", undefined, true],
    ["/other/TASK.md", "/w", true],
    ["/other/cron/x", "/w", false],
    ["/w/x/cron/a", "/w/y", false],
    ["/w/y/cron/a", "/w/y", true],
    ["/w", "/w", false],
    ["/w/xAGENTS.md", "/w", false],
  ])("%s in %s: %s", (path, workspace, is) => {
    expect(isPromptFile(path, workspace)).toBe(is);
  });

  test.each([
    ["write(SOUL.md)", "/w/SOUL.md", true],
    ["write(**/soul.md)", "/w/SOUL.md", true],
    ["write(**)", "/w/SOUL.md", false],
    ["write", "/w/SOUL.md", false],
    ["write(x)", "", false],
    ["write(x)", undefined, false],
  ])("the rule %s names %s: %s", (rule, path, names) => {
    expect(namesFile(rule, path)).toBe(names);
  });

  test("names that some file system treats as equal are equal", () => {
    expect(plainName("Ｓoul\u00ad.MD . ")).toBe("soul.md");
    expect(plainName("straße")).toBe(plainName("STRASSE"));
  });
});

test.each<[Partial<Effect>, boolean]>([
  [{ action: "read", rights: ["read"] }, false],
  [{ action: "write", rights: ["write"] }, false],
  [{ action: "x", rights: ["exec"] }, true],
  [{ action: "x", rights: ["schedule"] }, true],
  [{ action: "x", detail: { kind: "command", argv: ["ls"], cwd: "/" } }, true],
  [{ action: "x", detail: { kind: "unparsed", line: "", cwd: "/", why: "" } }, true],
  [{ action: "mcp__a__b" }, true],
  [{ action: "create_swarm" }, true],
  [{ action: "remove_permanent_agent" }, true],
  [{ action: "recreate_swarm" }, false],
  [{ action: "web_fetch", rights: ["network"], detail: { kind: "host", host: "a.b" } }, true],
  [{ action: "web_search", rights: ["network"], detail: { kind: "host", host: "a.b" } }, false],
  [{ action: "send", rights: ["send"], target: "telegram:42" }, true],
  [{ action: "send", rights: ["send"] }, false],
  [{ action: "x", rights: ["network"], target: "y" }, true],
  [{ action: "x", rights: ["read"], target: "y" }, false],
])("with text of others in its context %j needs a question: %s", (effect, needs) => {
  expect(needsQuestion({ action: "x", rights: [], ...effect })).toBe(needs);
});
