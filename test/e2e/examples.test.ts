import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
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

it("examples/openai-client.ts prints the streamed answer of its agent", async () => {
  const file = fileURLToPath(new URL("../../examples/openai-client.ts", import.meta.url));
  const env = { ...process.env, ROOKERY_URL: served.url, ROOKERY_TOKEN: TOKEN };
  const { stdout } = await promisify(execFile)(process.execPath, [file, "two words"], { env });
  expect(stdout).toBe("echo: two words\n");
});
