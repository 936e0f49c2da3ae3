/**
 * A call as people write it: `exec(git status && git push)`, `write(src/a.ts)`, `web(https://example.org/x)`, `cron_add`. It names
 * the effects that a tool would name, so that rules can be tried without a run and examples in rules can be checked.
 */
import { parseSubject } from "../people/grant.ts";
import type { Effect } from "./decide.ts";
import type { EffectDetail } from "./effect-detail.ts";
import type { Place } from "./match-rule.ts";
import type { Right } from "./right.ts";
import { namesOf, READS, WRITES } from "./rule.ts";
import { splitShellLine } from "./shell-line.ts";

type CalledEffects = { readonly effects: readonly Effect[] } | { readonly wrong: string };

const WEB = ["web", "web_fetch", "web_search"];
/** Where examples take place. */
export const EXAMPLE_PLACE: Place = { workspace: "/workspace", home: "/home/you" };

export function effectsOfCall(text: string, place: Place = EXAMPLE_PLACE): CalledEffects {
  const called = parseSubject(text);
  if (!called || called.action.endsWith("*")) {
    return {
      wrong: "expected a call, such as exec(git push), write(src/a.ts), web(example.org) or the name of a tool",
    };
  }
  const { action, target } = called;
  if (target === undefined) return { effects: [{ action, rights: rightsOf(action) }] };
  return effectsOf(action, target, place);
}

function effectsOf(action: string, target: string, place: Place): CalledEffects {
  const rights = rightsOf(action);
  const one = (detail: EffectDetail): CalledEffects => ({ effects: [{ action, rights, detail }] });
  if (action === "exec") return { effects: commandEffects(target, place) };
  if (WRITES.includes(action)) return one({ kind: "path", access: "write", path: absolute(target, place) });
  if (READS.includes(action)) return one({ kind: "path", access: "read", path: absolute(target, place) });
  if (WEB.includes(action)) {
    const detail = hostOf(target);
    if (!detail) return { wrong: `"${target}" is neither a host nor an address` };
    return { effects: [{ action: action === "web" ? "web_fetch" : action, rights, detail }] };
  }
  return { effects: [{ action, rights, target }] };
}

/** One effect per command of a line, and one per file that it redirects to. */
export function commandEffects(line: string, place: Place): readonly Effect[] {
  const cwd = place.workspace ?? "/";
  const rights: readonly Right[] = ["exec"];
  const split = splitShellLine(line);
  if ("unparsed" in split) {
    return [{ action: "exec", rights, detail: { kind: "unparsed", line, cwd, why: split.unparsed } }];
  }
  return [
    ...split.parts.map((argv): Effect => ({ action: "exec", rights, detail: { kind: "command", argv, cwd } })),
    ...split.redirects.map(
      ({ access, path }): Effect => ({
        action: access,
        rights: [access],
        detail: { kind: "path", access, path: absolute(path, place) },
      }),
    ),
  ];
}

/** Without links: those are resolved by the tool itself. */
function absolute(path: string, { workspace = "/", home = "/" }: Place): string {
  const from = path.startsWith("/")
    ? path
    : path.startsWith("~/")
      ? `${home}/${path.slice(2)}`
      : `${workspace}/${path}`;
  return `/${namesOf(from).join("/")}`;
}

function hostOf(target: string): EffectDetail | undefined {
  const given = target.startsWith("domain:") ? target.slice("domain:".length) : target;
  const url = URL.parse(given.includes("://") ? given : `https://${given}`);
  if (!url?.hostname) return undefined;
  return { kind: "host", host: url.hostname, port: url.port === "" ? undefined : Number(url.port) };
}

/** What tools of these names touch. */
function rightsOf(action: string): readonly Right[] {
  if (action === "exec" || action === "process") return ["exec"];
  if (WRITES.includes(action)) return ["write"];
  if (READS.includes(action)) return ["read"];
  if (WEB.includes(action) || action.startsWith("mcp__")) return ["network"];
  if (/^(?:cron|heartbeat)/u.test(action)) return ["schedule"];
  return /^(?:send|message)/u.test(action) ? ["send"] : [];
}
