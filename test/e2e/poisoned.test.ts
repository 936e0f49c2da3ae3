/** Settings beyond their limits at a real process (M48): they are refused, and one that an older program stored blocks nothing for good. */

import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, expect, it } from "vitest";
import { api, echo, type FakeModel, fakeModel, type Served, serve } from "./serving.ts";

const KEY = encodeURIComponent("agent:main:main");

let model: FakeModel;
let served: Served;
beforeAll(async () => {
  model = await fakeModel();
  served = await serve(model);
});
afterAll(async () => {
  await served.stop();
  await model.close();
});

interface Sent {
  readonly messages: readonly { readonly agentId: string; readonly seq: number }[];
}
const write = async (text: string): Promise<Sent["messages"]> =>
  ((await api(served, "/api/terminal/messages", { method: "POST", body: { text } })) as Sent).messages;
async function say(text: string): Promise<string> {
  const replies: string[] = [];
  for (const { agentId, seq } of await write(text)) {
    const read = await api(served, `/api/terminal/messages/${agentId}/${seq}?waitSeconds=60`);
    replies.push(...(read as { replies: readonly { text: string }[] }).replies.map((reply) => reply.text));
  }
  return replies.join("\n");
}

it("refuses settings beyond their limits, and answers what comes after them", async () => {
  expect(await say("/queue debounce:2h")).toContain("from 0 to 60 minutes");
  expect(await say("/queue cap:100000")).toContain("a cap from 1 to 10000");
  const state = { queueDebounceMs: 7_200_000 };
  expect(await api(served, `/api/agents/${KEY}/state`, { method: "PATCH", body: state })).toMatchObject({
    error: { message: expect.stringContaining("from 0 to 3600000") },
  });
  expect(await say("hello.")).toContain("echo: hello.");
});

it("answers behind a stored setting beyond its limits, and drops what waits, over kills", async () => {
  served.process.kill("SIGSTOP");
  const db = new DatabaseSync(join(served.home, "rookery.db"));
  const set = "update agents set state = json_set(state, '$.queueDebounceMs', 7200000, '$.queueCap', 100000)";
  expect(Number(db.prepare(`${set} where session_key = 'agent:main:main'`).run().changes)).toBe(1);
  db.close();
  served = await served.crash();
  expect(await say("after the kill.")).toContain("echo: after the kill.");
  const asked = Promise.withResolvers<void>();
  model.script = () => asked.resolve();
  await write("held.");
  await asked.promise;
  const [{ agentId, seq } = expect.unreachable()] = await write("waiting.");
  served = await served.crash();
  const newest = async () =>
    (await api(served, `/api/agents/${KEY}/messages?limit=1`)) as { items: { seq: number; state: string }[] };
  expect((await newest()).items).toMatchObject([{ seq, state: "waiting" }]);
  await api(served, `/api/agents/${agentId}/messages/${seq}/drop`, { method: "POST", body: {} });
  expect((await newest()).items).toMatchObject([{ seq, state: "dropped" }]);
  model.script = echo;
  await api(served, `/api/agents/${KEY}/stop`, { method: "POST", body: {} });
  expect(await say("/queue reset")).toContain("back to the default");
  expect(await say("again.")).toContain("echo: again.");
});
