import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { TestEngine } from "../../../test/kit/engine.ts";
import type { Reply } from "../../../test/kit/model.ts";
import { tries } from "../../../test/kit/share.ts";
import type { Block } from "../../core/history/entry.ts";
import type { RunId } from "../../core/ids.ts";
import type { ModelMessage } from "../../core/ports/model.ts";
import { buildHistoryContext } from "../context/context.ts";

/** Blocks as a provider might send them: fields in any order, unknown fields, arguments of any form. */
const anyText: fc.Arbitrary<Block> = fc.oneof(
  fc.string({ unit: "binary" }).map((text): Block => ({ type: "text", text })),
  fc.string().map((text) => ({ text, textSignature: "s", type: "text" }) as Block),
  fc.string().map((thinking) => ({ signature: "x", thinking, type: "thinking" }) as Block),
);
const anyArguments = fc.oneof(
  fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 3 }),
  fc.constant(JSON.parse('{"__proto__": {"a": 1}, "b": 2}') as Record<string, unknown>),
  fc.constant({ absent: undefined, minus: -0, list: [undefined], at: new Date(0) } as Record<string, unknown>),
);
const anyCall = fc.tuple(fc.constantFrom("work", "fail", "nobody"), anyArguments);

type Act =
  | { do: "say"; text: string; blocks: Block[]; calls: [string, Record<string, unknown>][] }
  | { do: "silent" | "reset" | "abort" | "restart" };
const act: fc.Arbitrary<Act> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant("say" as const),
      text: fc.string(),
      blocks: fc.array(anyText, { maxLength: 2 }),
      calls: fc.array(anyCall, { maxLength: 2 }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constantFrom("silent" as const, "reset" as const, "abort" as const, "restart" as const),
    }),
  },
);

describe("the context sent to the model", () => {
  it("equals, byte for byte, the context rebuilt from history, across tools, aborts, resets and restarts", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(act, { minLength: 1, maxLength: 8 }), async (acts) => {
        let next: Reply[] = [];
        const rebuilt: string[] = [];
        let abort = false;
        const engine = await TestEngine.open({
          tools: {
            work: { execute: (input) => `worked on ${JSON.stringify(input)}` },
            fail: {
              execute: () => {
                throw new TypeError("no");
              },
            },
          },
        });
        engine.script = async ({ signal }) => {
          const record = await engine.store.agent(await engine.agentId());
          if (!record) throw new TypeError("no agent");
          const { messages } = await buildHistoryContext(engine.store, record.id, record.leaf);
          rebuilt.push(JSON.stringify(messages));
          if (abort) {
            abort = false;
            void engine.system.runs.abort(record.runId as RunId);
            await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
          }
          return next.shift() ?? "done";
        };
        let n = 0;
        for (const one of acts) {
          switch (one.do) {
            case "say": {
              const calls = one.calls.map(
                ([name, args]) => ({ name, id: `c${++n}`, arguments: args, type: "toolCall" }) as Block,
              );
              next = calls.length > 0 ? [{ content: [...one.blocks, ...calls], stopReason: "tool_calls" }] : [];
              next.push({ content: one.blocks });
              await engine.tell(one.text);
              break;
            }
            case "silent":
              await engine.send({ kind: "system", text: `silent ${++n}`, silent: true });
              break;
            case "reset":
              await engine.send({ kind: "reset", by: "person", ...(n++ % 2 ? { text: "anew" } : {}) });
              break;
            case "abort":
              abort = true;
              await engine.tell("to be aborted");
              break;
            case "restart":
              await engine.restart();
              break;
          }
          await engine.settle();
        }
        expect(engine.sentBytes).toEqual(rebuilt);
      }),
      { numRuns: tries(40) },
    );
  });

  it("is the same before and after a restart", async () => {
    const engine = await TestEngine.open({
      script: ({ request, n }) =>
        request.messages.at(-1)?.role === "tool" ? `done ${n}` : { say: "let me see", call: [{ name: "work" }] },
      tools: { work: {} },
    });
    await engine.tell("one");
    await engine.send({ kind: "system", text: "psst", silent: true });
    await engine.tell("two");
    const context = async () => {
      const record = await engine.store.agent(await engine.agentId());
      return record && JSON.stringify((await buildHistoryContext(engine.store, record.id, record.leaf)).messages);
    };
    const before = JSON.parse((await context()) ?? "[]") as ModelMessage[];
    await engine.restart();
    await engine.tell("three");
    const sent = JSON.parse(engine.sentBytes.at(-2) ?? "[]") as ModelMessage[];
    expect(JSON.stringify(sent.slice(0, before.length))).toBe(JSON.stringify(before));
  });
});
