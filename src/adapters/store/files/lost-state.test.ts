/** Which conversation an agent without a `state.json` continues, and what it loses. */
import { expect, test } from "vitest";
import { DEFAULT_PROFILE } from "../../../core/agent/agent.ts";
import type { AgentDescriptor } from "../../../core/agent/descriptor.ts";
import { freshState } from "../../../core/agent/fresh-state.ts";
import { sessionKeyOf } from "../../../core/agent/session-key.ts";
import { CorruptDataError } from "../../../core/errors.ts";
import type { AgentId } from "../../../core/ids.ts";
import { agentPaths } from "./file-format.ts";
import { stateWithoutFile } from "./lost-state.ts";
import { MemoryFiles } from "./memory-files.test-kit.ts";
import type { PendingFile } from "./read-agent-files.ts";
import type { RestoreContext } from "./restore-context.ts";

const paths = agentPaths("a".repeat(24) as AgentId);
const DESCRIPTOR: AgentDescriptor = { type: "user", connector: "telegram", userId: "ann", channelId: "ann" };
const start = (sessionId: string, timestamp: number): string =>
  JSON.stringify({ type: "start", id: "00000001-x", parentId: null, sessionId, timestamp });
const OTHER = JSON.stringify({ type: "someday", id: "00000000-x" });

function stateOf(lines: readonly string[] | undefined, pending?: Partial<PendingFile>) {
  const files = new MemoryFiles();
  files.makeDir(paths.dir);
  if (lines) files.put(paths.history, lines.map((line) => `${line}\n`).join(""));
  const reports: unknown[] = [];
  const context = { files, report: (problem: unknown) => reports.push(problem) } as unknown as RestoreContext;
  return { state: stateWithoutFile(context, paths, DESCRIPTOR, pending as PendingFile | undefined), reports };
}

test("the key and the profile follow from the descriptor, the session from the first marker", () => {
  const { state, reports } = stateOf([OTHER, start("first", 7), start("second", 8)]);
  const sessionKey = sessionKeyOf(DESCRIPTOR, DEFAULT_PROFILE);
  expect(state).toEqual({
    state: { ...freshState(7), untrusted: true },
    engine: { sessionKey, profile: DEFAULT_PROFILE, sessionId: "first", createdAt: 7 },
  });
  const reason = `It is missing. The conversation continues as ${sessionKey} with default settings.`;
  expect(reports).toEqual([{ file: paths.state, reason, consequence: "state-lost" }]);
});

test("what pending.json tells goes first", () => {
  const stopped = { at: 1, reason: "enough", seq: 2 };
  const pending = { sessionKey: "key", profile: "work", person: "ann", stopped } as unknown as Partial<PendingFile>;
  expect(stateOf([start("s", 7)], pending).state.engine).toEqual({ ...pending, sessionId: "s", createdAt: 7 });
  const { sessionKey } = stateOf([start("s", 7)], { profile: "work" } as Partial<PendingFile>).state.engine;
  expect(sessionKey).toBe(sessionKeyOf(DESCRIPTOR, "work"));
});

test.each([
  ["is missing", undefined, false],
  ["is empty", [], false],
  ["has a marker in the first line", [start("s", 7)], true],
  ["has a marker in the tenth line", [...Array(9).fill(OTHER), start("s", 7)], true],
  ["has a marker in the eleventh line", [...Array(10).fill(OTHER), start("s", 7)], false],
  ["has a broken line before it", ["{torn", start("s", 7)], true],
  ["has no marker", [OTHER], false],
])("an agent whose history %s is a conversation or none", (_title, lines, found) => {
  if (found) expect(stateOf(lines).state.engine.sessionId).toBe("s");
  else expect(() => stateOf(lines)).toThrow(CorruptDataError);
});
