/** A compaction that a person asks for: what becomes of it, in the words and in the result of its run. */
import { expect, test } from "vitest";
import { TestEngine } from "../../../../test/kit/engine.ts";
import { failure, lastText, type Reply } from "../../../../test/kit/model.ts";
import type { RunEvent } from "../../runtime/run-events.ts";
import { SUMMARY_SYSTEM_PROMPT } from "./summary-prompt.ts";

/** An agent with a few long turns, and what its model answers when it is asked for a summary. */
async function compacting(summary: Reply, turns = 6) {
  const engine = await TestEngine.open({
    script: ({ request }) =>
      request.system?.includes(SUMMARY_SYSTEM_PROMPT) ? summary : `answer ${lastText(request).slice(0, 9)}`,
  });
  for (let n = 0; n < turns; n++) await engine.tell(`turn ${n} ${"word ".repeat(800)}`);
  const events: RunEvent[] = [];
  engine.system.events.listen((event) => events.push(event));
  const before = engine.shown().length;
  await engine.send({ kind: "compact" });
  await engine.advance(120_000);
  const run = (await engine.runs()).at(-1);
  const delivery = (await engine.deliveries()).at(-1);
  const entries = await engine.entries();
  return {
    result: run?.body.compaction,
    error: run?.body.error,
    said: engine.shown().slice(before),
    isError: delivery?.payload.isError,
    compactions: entries.filter(({ type }) => type === "compaction").length,
    ended: events.flatMap((event) => (event.type === "compaction_end" ? [event.compacted] : [])),
  };
}

test("that works says what it replaced", async () => {
  const { result, said, isError, compactions, ended } = await compacting("## Goal\nx\n## Progress\ny");
  expect(result).toMatchObject({ ok: true, compacted: true, result: { summary: expect.stringContaining("## Goal") } });
  expect(said).toEqual([expect.stringMatching(/^⚙️ Compacted: /u)]);
  expect([isError ?? false, compactions, ended]).toEqual([false, 1, [true]]);
});

test("whose model fails is an error of its run, and changes nothing", async () => {
  const { result, error, said, isError, compactions, ended } = await compacting(failure("auth"));
  expect(result).toMatchObject({ ok: false, compacted: false });
  expect(error).toMatchObject({ kind: "compaction_failure" });
  expect(said).toEqual([expect.stringMatching(/^⚙️ Compaction failed: .*[^.]\.$/u)]);
  expect([isError, compactions, ended]).toEqual([true, 0, [false]]);
});

test("of a conversation that has nothing to leave out is skipped, which is no error", async () => {
  const { result, error, said, isError, compactions, ended } = await compacting("## Goal", 0);
  expect(result).toMatchObject({ ok: true, compacted: false });
  expect(error).toBeUndefined();
  expect(said).toEqual([expect.stringMatching(/^⚙️ Compaction skipped: .*[^.]\.$/u)]);
  expect([isError ?? false, compactions, ended]).toEqual([false, 0, [false]]);
});

test("whose summary would not be smaller is skipped", async () => {
  const { result, said, compactions } = await compacting(`## Goal\n${"long ".repeat(40_000)}\n## Progress\ny`);
  expect(result).toMatchObject({ ok: true, compacted: false });
  expect(said).toEqual([expect.stringContaining("not be smaller")]);
  expect(compactions).toBe(0);
});
