/** A new description replaces the prompt of a permanent agent and keeps its other fields. */
import { expect, it, test } from "vitest";
import { TestEngine } from "../../../../test/kit/engine.ts";
import type { AgentDescriptor } from "../../../core/agent/descriptor.ts";
import type { MessageBody } from "../../../core/message/message.ts";
import type { PersonId } from "../../../core/people/person.ts";
import type { PostRequest } from "../message-ingress.ts";

const GUIDE = {
  ...{ type: "permanent", id: "9".repeat(24), name: "guide", description: "old", systemPrompt: "old prompt" },
  ...{ workspaceDir: "/old", username: "gus" },
} as const satisfies AgentDescriptor;
type Describing = Extract<MessageBody, { kind: "describe" }>;

async function update(
  more: Partial<Describing> = {},
  from: Partial<PostRequest> = {},
  descriptor: AgentDescriptor = GUIDE,
) {
  const engine = await TestEngine.open();
  const first = await engine.system.post({ to: { descriptor }, body: { kind: "user", text: "hi" } });
  if (first.status === "stale") throw new TypeError("not accepted");
  await engine.settle();
  const body: Describing = { kind: "describe", by: "ann", description: "new", systemPrompt: "new prompt", ...more };
  await engine.system.post({ to: { agentId: first.agentId }, body, ...from });
  await engine.settle();
  const [message] = await engine.store.messages(first.agentId, { limit: 1 });
  return { agent: await engine.agent(first.agentId), message };
}

test.each<[string, Partial<Describing>, object]>([
  ["nothing more", {}, {}],
  ["a directory", { workspaceDir: "/new" }, { workspaceDir: "/new" }],
  ["a name", { username: "max" }, { username: "max" }],
])("replaces the prompt, the description and %s", async (_title, more, changed) => {
  const { agent, message } = await update(more);
  const prompt = { description: "new", systemPrompt: "new prompt" };
  expect(agent.descriptor).toEqual({ ...GUIDE, ...prompt, ...changed });
  expect(message).toMatchObject({ state: "recorded", reason: "updated by ann" });
});

it("replaces given permissions, and marks a prompt that follows untrusted text", async () => {
  const permissions = { workspaceDir: "/new" };
  expect((await update({ permissions })).agent.state).toMatchObject({ permissions });
  const { agent } = await update({}, { behalf: { person: "ann" as PersonId, untrusted: true } });
  expect(agent.state).toMatchObject({ madeUntrusted: true });
  expect((await update()).agent.state).not.toHaveProperty("madeUntrusted");
});

it("is dropped for an agent that is not permanent", async () => {
  const user: AgentDescriptor = { type: "user", connector: "test", userId: "ann", channelId: "ann" };
  const { agent, message } = await update({}, {}, user);
  expect(agent.descriptor).toEqual(user);
  expect(message).toMatchObject({ state: "dropped", reason: "a user agent has no description to change" });
});
