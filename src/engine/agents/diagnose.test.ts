import { expect, it } from "vitest";
import { channel } from "../../../test/kit/channel.ts";
import { TestEngine } from "../../../test/kit/engine.ts";
import { gate } from "../../../test/kit/gate.ts";

it("a diagnosis lists running, waiting and failed work, and contains no text of messages", async () => {
  const door = gate();
  const test = channel("test");
  test.sending = () => ({ status: "refused", reason: "blocked" });
  const engine = await TestEngine.open({
    channels: [test],
    tools: { dig: { execute: () => door.promise.then(() => "done") } },
    script: ({ request }) =>
      JSON.stringify(request.messages.at(-1)).includes("secret") ? { call: [{ name: "dig" }] } : "hello",
  });
  await engine.tell("hello", { name: "bob" });
  await engine.tell("my secret");
  await engine.tell("my other secret");
  await engine.advance(5_000);
  const found = await engine.system.diagnose();
  const ann = await engine.agentId();
  expect(found.busy).toMatchObject([
    {
      agentId: ann,
      kind: "user",
      held: true,
      run: { forMs: 5_000, attempt: 1, iterations: 1, calls: ["dig (intended)"] },
      waiting: 1,
      next: [{ kind: "user", forMs: 5_000, will: "waits for the run, then runs in its turn" }],
    },
  ]);
  expect(found.deadLetters).toMatchObject([{ state: "failed", reason: "blocked", channel: "test" }]);
  expect(found.lanes.main).toMatchObject({ active: 1 });
  expect([found.more, found.degraded, found.failedJobs, found.waits]).toEqual([false, [], [], []]);
  expect(JSON.stringify(found)).not.toContain("secret");
  door.open();
  await engine.settle();
  expect((await engine.system.diagnose()).busy).toEqual([]);
});
