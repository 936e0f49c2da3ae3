/** The heartbeat's agent is found without its id: over HTTP and by a client. */
import { expect, it, onTestFinished } from "vitest";
import { connectRookery } from "../client/connect-url.ts";
import { ROOT_TOKEN } from "./gateway.test-kit.ts";
import { RestartingGateway } from "./restarting.test-kit.ts";

it("finds the heartbeat agent after its first tick, and the owner's last conversation", async () => {
  const kit = await RestartingGateway.open();
  onTestFinished(() => kit.close());
  const client = connectRookery({ url: `http://127.0.0.1:${kit.gateway.port}`, token: ROOT_TOKEN });
  onTestFinished(() => client.close());
  const path = "/api/agents/heartbeat";
  expect((await kit.ask({ path })).status).toBe(404);
  expect(await client.agentFor("heartbeat")).toBeUndefined();
  await kit.engine.tell("hello");
  await kit.world.leap(30 * 60_000);
  expect((await kit.ask({ path })).json).toMatchObject({ kind: "heartbeat", sessionKey: "agent:main:heartbeat" });
  const { items = [] } = (await (await client.agentFor("heartbeat"))?.history()) ?? {};
  expect(items.length).toBeGreaterThan(0);
  const last = await client.agentFor("most-recent-foreground");
  expect((await last?.history())?.items.length).toBeGreaterThan(0);
});
