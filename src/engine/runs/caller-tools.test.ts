/** A run whose model calls a tool of its caller, with a kill before and after every commit: the call is handed over once and whole. */
import { expect, it } from "vitest";
import { TestEngine } from "../../../test/kit/engine.ts";
import type { PersonId } from "../../core/people/person.ts";

const ann = { person: "test:ann" as PersonId };
const tools = [{ name: "weather", description: "Weather", parameters: { type: "object" } }];
const never = new Promise<never>(() => {});

const script: TestEngine["script"] = ({ request }) => {
  const last = request.messages.at(-1);
  if (last?.role === "tool")
    return `it is ${last.content.map((block) => ("text" in block ? block.text : "")).join("")}`;
  return { say: "Let me ask.", call: [{ name: "weather", with: { city: "Rome" } }] };
};

async function ask(engine: TestEngine): Promise<void> {
  await engine.send({ kind: "user", text: "weather", wishes: { tools } }, { behalf: ann, key: "question" });
  await engine.settle();
}

async function answer(engine: TestEngine): Promise<void> {
  const [agent] = await engine.store.agents({ limit: 1 });
  const runs = agent ? await engine.store.runs(agent.id, { limit: 9 }) : [];
  const [call] = runs.at(-1)?.body.pendingToolCalls ?? [];
  expect(call).toMatchObject({ name: "weather", arguments: { city: "Rome" } });
  expect(runs.at(-1)?.body).toMatchObject({ answer: { text: "Let me ask." }, stopReason: "tool_calls" });
  const toolResults = [{ callId: call?.id ?? "", name: "weather", text: "sunny" }];
  await engine.send({ kind: "user", text: "", toolResults, wishes: { tools } }, { behalf: ann, key: "result" });
  await engine.settle();
}

it.each(["die-before", "die-after"] as const)("%s each commit: one call, one result, one answer", async (how) => {
  for (let nth = 1; ; nth++) {
    const engine = await TestEngine.open();
    engine.script = script;
    let commits = 0;
    const killed = Promise.withResolvers<"killed">();
    engine.onCommit = () => {
      if (++commits !== nth) return "go";
      engine.crash();
      killed.resolve("killed");
      return how;
    };
    const work = async (): Promise<"done"> => {
      await ask(engine);
      await answer(engine);
      return "done";
    };
    const end = await Promise.race([work(), killed.promise, never]);
    if (end === "killed") {
      await engine.restart();
      engine.script = script;
      await engine.settle();
      // The caller repeats what was not acknowledged.
      await work();
    }
    const [agent] = await engine.store.agents({ limit: 1 });
    const lines = agent ? await engine.store.linesBack(agent.id, { limit: 99 }) : [];
    const said = lines.toReversed().flatMap(({ line }) => {
      const { role, content } = JSON.parse(line) as { role?: string; content?: { type: string; text?: string }[] };
      return role ? [`${role}: ${content?.map(({ type, text }) => text ?? type).join(" ")}`] : [];
    });
    expect(said, `commit ${nth}`).toEqual([
      "user: weather",
      "assistant: Let me ask. toolCall",
      "tool: sunny",
      "assistant: it is sunny",
    ]);
    if (end === "done") break;
  }
});
