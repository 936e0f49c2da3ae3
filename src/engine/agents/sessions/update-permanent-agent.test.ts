/** What a new description changes of a permanent agent, and what it leaves. */
import { expect, it, test } from "vitest";
import type { Message, MessageBody } from "../../../core/message/message.ts";
import { messageTo, NOW, recordedLease } from "../actor/lease.test-kit.ts";
import { updatePermanentAgent } from "./update-permanent-agent.ts";

const DESCRIPTOR = {
  ...{ type: "permanent", id: "p1", name: "guide", description: "old", systemPrompt: "old prompt" },
  ...{ workspaceDir: "/old", username: "gus" },
};
async function update(more: object = {}, message: Partial<Message> = {}, descriptor: object = DESCRIPTOR) {
  const state = { updatedAt: 1, label: "kept", permissions: { workspaceDir: "/kept" } };
  const recorded = recordedLease({ record: { descriptor, state } });
  const body = { kind: "describe", by: "ann", description: "new", systemPrompt: "new prompt", ...more } as MessageBody;
  await updatePermanentAgent(recorded.ports, recorded.lease, messageTo(body, message));
  return { ...recorded, commit: recorded.commits[0] };
}

test.each<[string, object, object]>([
  ["nothing more", {}, {}],
  ["a directory", { workspaceDir: "/new" }, { workspaceDir: "/new" }],
  ["a name", { username: "max" }, { username: "max" }],
])("the prompt and the description are replaced; %s is given, and the rest stays", async (_title, more, changed) => {
  const { commit, settled } = await update(more);
  const updated = { ...DESCRIPTOR, description: "new", systemPrompt: "new prompt", ...changed };
  expect(commit?.ops[0]).toEqual({ op: "agent.describe", descriptor: updated });
  expect(commit).toMatchObject({ site: "describe", descriptor: updated });
  expect(settled()).toEqual([{ seq: 4, from: "waiting", state: "recorded", reason: "updated by ann" }]);
  expect(commit?.state).toEqual({ label: "kept", permissions: { workspaceDir: "/kept" }, updatedAt: NOW });
});

it("has other permissions only if they are given, and the mark of text that its person did not write", async () => {
  const permissions = { workspaceDir: "/new" };
  expect((await update({ permissions })).commit?.state).toMatchObject({ permissions });
  const behalf = { person: "ann", untrusted: true } as never;
  expect((await update({}, { behalf })).commit?.state).toMatchObject({ madeUntrusted: true, label: "kept" });
});

it("is refused for an agent that is not permanent, and nothing but the message changes", async () => {
  const { commits, settled } = await update({}, {}, { type: "user" });
  expect(commits).toHaveLength(1);
  expect([commits[0]?.ops.length, commits[0]?.state]).toEqual([1, undefined]);
  expect(settled()).toEqual([
    { seq: 4, from: "waiting", state: "dropped", reason: "a user agent has no description to change" },
  ]);
});

it("is done by no other message", async () => {
  const { commits } = await update({ kind: "user", text: "hi" });
  expect(commits).toEqual([]);
});
