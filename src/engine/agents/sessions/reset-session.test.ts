/** What the commit that begins a new session writes, and who speaks in the new session. */
import { expect, it, test } from "vitest";
import type { Message, MessageBody } from "../../../core/message/message.ts";
import { messageTo, NOW, recordedLease } from "../actor/lease.test-kit.ts";
import { replaceStaleSession, resetSession } from "./reset-session.ts";

const STATE = { updatedAt: 1, label: "mine", speakers: ["bob"], untrusted: true, lastInteractionAt: 7 };
async function reset(more: object = {}, message: Partial<Message> = {}) {
  const recorded = recordedLease({ record: { state: STATE } });
  await resetSession(
    recorded.ports,
    recorded.lease,
    messageTo({ kind: "reset", by: "person", ...more } as MessageBody, message),
  );
  return { ...recorded, commit: recorded.commits[0] };
}
const markerOf = (commit: Awaited<ReturnType<typeof reset>>["commit"]): object | undefined =>
  commit?.append?.entries[0];

it("writes the marker, the new session and its state, settles the message and answers it", async () => {
  const { commits, commit, settled, shown } = await reset();
  expect([commits.length, commit?.site, shown]).toEqual([1, "reset", ["Session reset."]]);
  expect(commit?.begins).toEqual(expect.any(String));
  expect(markerOf(commit)).toMatchObject({ type: "reset", sessionId: commit?.begins, timestamp: NOW });
  expect(commit?.append).toMatchObject({ position: 5 });
  expect(commit?.state).toEqual({ label: "mine", tokens: null, updatedAt: NOW });
  expect(settled()).toEqual([{ seq: 4, from: "waiting", state: "recorded", reason: "reset" }]);
});

test.each<[string, object, Partial<Message>, readonly string[] | undefined]>([
  ["a text of another is read in the session", { text: "Be brief." }, { behalf: { person: "eve" as never } }, ["eve"]],
  ["a text of its own person", { text: "Be brief." }, { behalf: { person: "ann" as never } }, undefined],
  ["without a text no one has spoken", {}, { behalf: { person: "eve" as never } }, undefined],
])("%s", async (_title, more, message, speakers) => {
  const { commit } = await reset(more, message);
  expect(commit?.state).toEqual({ label: "mine", tokens: null, updatedAt: NOW, speakers });
  expect((markerOf(commit) as { message?: string }).message).toBe((more as { text?: string }).text);
});

it("is done by no other message", async () => {
  expect((await reset({ kind: "user", text: "hi" })).commits).toEqual([]);
});

it("replaces a stale session in the same way, without a message", async () => {
  const { ports, lease, commits, settled } = recordedLease({ record: { state: STATE } });
  await replaceStaleSession(ports, lease);
  const [commit] = commits;
  expect([commits.length, commit?.site, commit?.ops, settled()]).toEqual([1, "reset.stale", [], []]);
  expect(markerOf(commit)).toMatchObject({ type: "reset", sessionId: commit?.begins });
  expect(commit?.state).toEqual({ label: "mine", tokens: null, updatedAt: NOW });
});
