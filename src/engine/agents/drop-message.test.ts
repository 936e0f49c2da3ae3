/** A person drops a message that waits: what one commit writes, and when it is refused. No engine. */
import { expect, it, test } from "vitest";
import type { AgentId } from "../../core/ids.ts";
import type { Change, Op } from "../../core/store/change.ts";
import { messageTo, NOW, recordedLease } from "./actor/lease.test-kit.ts";
import { dropMessage } from "./drop-message.ts";

const AGENT = "a1" as AgentId;
const BY = { person: "bob", surface: "web" } as never;
const POST = {
  ...{ op: "message.post", to: { agentId: "p1" } },
  message: { body: { kind: "system", text: "dropped" }, acceptedAt: 1 },
} as unknown as Op;

interface Given {
  readonly message?: object | null;
  readonly record?: null;
  /** The message as it is when the commit is refused. */
  readonly refused?: object;
  readonly owes?: boolean;
}

function world({ message = {}, record, refused, owes }: Given = {}) {
  const commits: Change[] = [];
  const told: unknown[] = [];
  const stored = message && messageTo({ kind: "user", text: "hi" }, { state: "waiting", ...message });
  const { ports, lease } = recordedLease();
  const store = {
    agent: async () => (record === null ? undefined : lease.record),
    message: async () => (commits.length > 0 ? { ...stored, ...refused } : (stored ?? undefined)),
    commit: async (change: Change) => {
      commits.push(change);
      const results = change.ops.map(({ op }) => (op === "message.post" ? { op, agentId: "p1", seq: 2 } : undefined));
      return refused ? { ok: false, refused: "conflict", detail: "no" } : { ok: true, results };
    },
    outcome: async () => undefined,
  };
  const all = {
    ...ports,
    store,
    opsOnSettle: owes
      ? async (_agent: unknown, _messages: unknown, reason: string) => [{ ...POST, reason }]
      : undefined,
    posted: (posts: readonly { seq: number }[]) => void told.push(...posts.map(({ seq }) => `posted ${seq}`)),
    onAddedOps: (ops: readonly Op[]) => void told.push(`added ${ops.length}`),
  };
  const drop = (also?: (dropped: object) => readonly Op[]) =>
    dropMessage(all as never, 3, { agentId: AGENT, seq: 4, by: BY, also });
  return { drop, commits, told };
}

it("settles it, tells who waits for it, and writes the audit log, in one commit", async () => {
  const { drop, commits, told } = world({ owes: true });
  const also = (dropped: object): readonly Op[] => [{ op: "fact.put", key: "k", value: JSON.stringify(dropped) }];
  const dropped = await drop(also);
  expect(dropped).toMatchObject({ seq: 4, state: "dropped", reason: "dropped by bob", settledAt: NOW });
  expect(commits).toHaveLength(1);
  const [change] = commits;
  expect([change?.site, change?.at]).toEqual(["inbox.drop", NOW]);
  expect(change?.ops).toMatchObject([
    { op: "message.drop", agentId: AGENT, seq: 4, reason: "dropped by bob" },
    { op: "message.post", claimFor: 3, reason: "dropped by bob", message: { behalf: { person: "ann" } } },
    { op: "audit.add", entry: { action: "message.drop", target: "a1/4" } },
    { op: "fact.put", value: JSON.stringify(dropped) },
  ]);
  expect(told).toEqual(["posted 2", "added 4"]);
});

it("owes no one anything if no one waits for it", async () => {
  const { drop, commits, told } = world();
  await drop();
  expect(commits[0]?.ops.map(({ op }) => op)).toEqual(["message.drop", "audit.add"]);
  expect(told).toEqual(["added 2"]);
});

test.each(["user", "system", "trigger"])("is possible for a message of the kind %s", async (kind) => {
  const { drop } = world({ message: { body: { kind, text: "x", trigger: { type: "job" } } } });
  expect(await drop()).toMatchObject({ state: "dropped" });
});

test.each<[string, Given, string, string | undefined, number]>([
  ["there is no such message", { message: null }, "This agent has no message 4.", undefined, 0],
  ["there is no such agent", { record: null }, "This agent has no message 4.", undefined, 0],
  [
    "it is a command",
    { message: { body: { kind: "stop" } } },
    "A message of the kind stop cannot be dropped.",
    "You can drop",
    0,
  ],
  ["a run has taken it", { message: { state: "taken" } }, "Message 4 is taken.", "You can stop the run", 0],
  [
    "it has ended",
    { message: { state: "dropped", reason: "cap" } },
    "Message 4 is dropped: cap.",
    "Nothing was changed",
    0,
  ],
  ["a run takes it meanwhile", { refused: { state: "taken" } }, "Message 4 is taken.", "You can stop the run", 1],
])("is refused if %s", async (_title, given, text, hint, tries) => {
  const { drop, commits, told } = world(given);
  const error = await drop().catch((one: Error & { hint?: string }) => one);
  expect(error).toMatchObject({ message: text });
  if (hint) expect((error as { hint?: string }).hint).toContain(hint);
  expect([commits.length, told]).toEqual([tries, []]);
});
