import { afterAll, beforeAll, expect, it } from "vitest";
import { type FakeModel, fakeModel, type Served, serve, TOKEN } from "./serving.ts";

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

const headers = { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" };

it("answers others while one person posts 300,000 letters without a break, three times (L14)", async () => {
  model.script = (call) => {
    call.say("ok");
    call.end();
  };
  const asked: Promise<unknown>[] = [];
  for (let n = 0; n < 3; n++) {
    const body = { model: "main", user: "ann", messages: [{ role: "user", content: "a".repeat(300_000) }] };
    const post = fetch(`${served.url}/v1/chat/completions`, { method: "POST", headers, body: JSON.stringify(body) });
    asked.push(post.then((response) => response.json()));
  }
  let done = false;
  const all = Promise.all(asked).finally(() => {
    done = true;
  });
  while (!done) {
    const health = await fetch(`${served.url}/healthz`, { signal: AbortSignal.timeout(1_000) });
    expect(health.status).toBe(200);
  }
  await all;
});
