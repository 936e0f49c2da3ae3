/** A refused key with time: when a real node calls the provider again, and what it says in between. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { type VirtualClock, virtualClock } from "../../../test/kit/clock.ts";
import { startWire, type Turn, type WireServer } from "../../adapters/models/wire.test-kit.ts";
import { openTestGateway, type TestGateway } from "./gateway.test-kit.ts";

let wire: WireServer;
let kit: TestGateway;
let clock: VirtualClock;
let turn: Turn = { status: 401, body: { error: { message: "invalid key" } } };

beforeAll(async () => {
  clock = virtualClock();
  wire = await startWire("openai-completions", () => turn);
  const local = { api: "openai-completions", baseUrl: wire.baseUrl, apiKey: "k", models: [{ id: "m" }] };
  const config = { models: { default: "local/m", providers: { local } } };
  kit = await openTestGateway({ clock, config });
});
afterAll(async () => {
  await kit.close();
  await wire.close();
});

async function say(text: string): Promise<string> {
  const { json } = await kit.ask({ method: "POST", path: "/api/terminal/messages", body: { text } });
  const [sent] = json.messages as readonly { agentId: string; seq: number }[];
  const path = `/api/terminal/messages/${sent?.agentId}/${sent?.seq}?waitSeconds=60`;
  const replies = (await kit.ask({ path })).json.replies as { text: string }[];
  return replies.map((one) => one.text).join("\n");
}

it("calls the provider again with the first message after each pause, and answers when the key works", async () => {
  expect(await say("one")).toContain("It is tried again in 1 min.");
  clock.advanceSync(59_000);
  expect(await say("two")).toContain("It is tried again in 1 min.");
  expect(wire.received).toHaveLength(1);
  clock.advanceSync(1_000);
  expect(await say("three")).toContain("It is tried again in 2 min.");
  expect(wire.received).toHaveLength(2);
  clock.advanceSync(120_000);
  const { json } = await kit.ask({ path: "/api/status" });
  expect(json.refusedKeys).toMatchObject([{ provider: "local", status: 401, model: "local/m", tryAgainAt: null }]);
  turn = { text: "fine" };
  expect(await say("four")).toBe("fine");
  expect((await kit.ask({ path: "/api/status" })).json.refusedKeys).toEqual([]);
});
