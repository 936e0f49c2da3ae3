/** A burst of fifty messages at a real process that is killed in the middle (M18a): every message gets one answer. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { echo, type FakeModel, fakeModel, type Served, serve, TOKEN } from "./serving.ts";

const BURST = 50;
const KILLED_AFTER = 10;
const AGENT = "agent:main:api:dm:ann";

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

const read = async (path: string): Promise<{ items: readonly { state?: string }[]; text: string }> => {
  const response = await fetch(`${served.url}${path}`, { headers: { authorization: `Bearer ${TOKEN}` } });
  const text = await response.text();
  return { ...JSON.parse(text), text };
};

const send = async (text: string): Promise<number> => {
  const headers = { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" };
  const request = { method: "POST", headers, body: JSON.stringify({ text }) };
  return (await fetch(`${served.url}/api/agents/${encodeURIComponent(AGENT)}/messages`, request)).status;
};

it("answers each of fifty messages once although the process is killed while it answers them", async () => {
  const reached = Promise.withResolvers<void>();
  // The model holds the answer in which the process is killed.
  model.script = (call) => {
    if (model.calls.length <= KILLED_AFTER) echo(call);
    else reached.resolve();
  };
  const said = Array.from({ length: BURST }, (_, n) => `number ${n}.`);
  const statuses = await Promise.all(said.map(send));
  expect(new Set(statuses)).toEqual(new Set([202]));
  await reached.promise;
  const before = model.calls.length;
  model.script = echo;
  served = await served.crash();
  const messages = `/api/agents/${encodeURIComponent(AGENT)}/messages?limit=500`;
  await expect
    .poll(async () => (await read(messages)).items.filter(({ state }) => state === "answered").length)
    .toBe(BURST);
  const { text: history } = await read(`/api/agents/${encodeURIComponent(AGENT)}/history?limit=500`);
  for (const text of said) expect(history.split(`echo: ${text}`), text).toHaveLength(2);
  // Only the answer that the kill interrupted was asked for again.
  expect(model.calls.length).toBe(BURST + 1);
  process.stderr.write(
    `burst: ${BURST} messages acknowledged, killed at model call ${before}, ${BURST} answered once, ${model.calls.length} model calls\n`,
  );
});
