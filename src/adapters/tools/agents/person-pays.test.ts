import { expect, it } from "vitest";
import { START } from "../../../../test/kit/clock.ts";
import { lastText } from "../../../../test/kit/model.ts";
import type { ModelResult } from "../../../core/ports/model.ts";
import { openTestTools, permanent } from "./agents.test-kit.ts";

/** The day on which a virtual clock starts. */
const TODAY = new Date(START).toISOString().slice(0, 10);
const PRICE = {
  contextWindow: 100_000,
  maxTokens: 1_000,
  leastTokens: 10,
  cost: { input: 1, output: 10, cacheRead: 0, cacheWrite: 0 },
};
const cost = { input: 0.0001, output: 0.0009, cacheRead: 0, cacheWrite: 0, total: 0.001 };
const usage = { input: 100, output: 90, cacheRead: 0, cacheWrite: 0, totalTokens: 190, cost };
const answer = (text: string): Partial<ModelResult> => ({ content: [{ type: "text", text }], usage });

/** People whose spending counts; "use TOOL: …" calls a tool with these arguments, everything else is answered. */
async function open() {
  const kit = await openTestTools({
    config: `{ agentToAgent: { write: ["any"] } }`,
    engine: {
      children: true,
      price: PRICE,
      script: ({ request }) => {
        if (request.messages.at(-1)?.role === "tool") return answer("done");
        const words = lastText(request).replace(/<\/?system_message[^>]*>/gu, "");
        const use = /^use (\S+): (.*)$/su.exec(words);
        if (!use?.[1]) return answer(`yes: ${words}`);
        const call = {
          type: "toolCall",
          id: `c-${use[1]}`,
          name: use[1],
          arguments: JSON.parse(use[2] as string),
        } as const;
        return { content: [call], stopReason: "tool_calls", usage };
      },
      settings: { budgets: { person: { dollars: 1 } } },
    },
  });
  const spent = async (person: string) =>
    (await kit.engine.store.budget(`person:${TODAY}:test:${person}`))?.spent.micros ?? 0;
  const says = async (person: string, text: string) => {
    const source = { connector: "test", messageId: `${person}-${text}` };
    const sender = { connector: "test", userId: person };
    await kit.engine.send({ kind: "user", text, sender: { id: person } }, { source, sender });
    await kit.engine.advance(5_000);
  };
  return { kit, spent, says };
}

it.each([
  ["a message to another agent", "send_agent_message", { text: "look", agentId: "clerk" }],
  ["a question to another agent", "sessions_send", { message: "look", sessionKey: "clerk" }],
])("%s counts for the person who caused it", async (_, tool, given) => {
  const { kit, spent, says } = await open();
  await kit.make(permanent("clerk"));
  await says("bob", `use ${tool}: ${JSON.stringify(given)}`);
  // Two model calls of the asking agent, one of the asked agent.
  expect([await spent("bob"), await spent("ann")]).toEqual([3_000, 0]);
});

it("a forwarded message counts for the first person", async () => {
  const { kit, spent, says } = await open();
  for (const name of ["clerk", "guard"]) await kit.make(permanent(name));
  const passed = `use send_agent_message: ${JSON.stringify({ text: "look", agentId: "guard" })}`;
  await says("bob", `use send_agent_message: ${JSON.stringify({ text: passed, agentId: "clerk" })}`);
  expect(await spent("bob")).toBe(5_000);
});

it("a child and the run of its report count for the person who asked for it, even if another wrote since", async () => {
  const { spent, says } = await open();
  await says("bob", `use sessions_spawn: ${JSON.stringify({ task: "dig" })}`);
  // Two calls of the requester, one of the child, one about its report.
  expect([await spent("bob"), await spent("ann")]).toEqual([4_000, 0]);
});
