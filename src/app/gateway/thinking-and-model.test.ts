/** Thinking levels and models that exclude each other, through a real node and a model server that records what it gets. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startWire, type WireServer } from "../../adapters/models/wire.test-kit.ts";
import { openTestGateway, type TestGateway } from "./gateway.test-kit.ts";

let wire: WireServer;
let kit: TestGateway;
const calls: { readonly model: string; readonly effort: string | undefined; readonly prompt: string }[] = [];
let onCall: (prompt: string) => void = () => {};

beforeAll(async () => {
  wire = await startWire("openai-completions", ({ body }) => {
    const prompt = JSON.stringify(body.messages.at(-1));
    calls.push({ model: body.model, effort: body.reasoning_effort, prompt });
    onCall(prompt);
    return { text: "fine" };
  });
  kit = await openTestGateway({
    config: {
      models: {
        default: "local/plain",
        providers: {
          local: {
            ...{ api: "openai-completions", baseUrl: wire.baseUrl, apiKey: "k" },
            models: [
              { id: "plain" },
              { id: "some", thinking: ["low", "off"] },
              { id: "deep", thinking: ["off", "low", "high"] },
            ],
          },
        },
      },
      profiles: { work: { model: "local/plain" } },
    },
  });
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

describe("a thinking level that the model does not support", () => {
  it("is lowered when /model default returns to a model without it", async () => {
    for (const command of ["/model local/deep", "/think high"]) expect(await say(command)).not.toContain("Nothing");
    expect(await say("one")).toBe("fine");
    expect(calls.at(-1)).toMatchObject({ model: "deep", effort: "high" });
    await say("/model default");
    expect(await say("two")).toBe("fine");
    expect(calls.at(-1)).toMatchObject({ model: "plain", effort: undefined });
    expect(await say("/status")).toContain("Model: local/plain, thinking off");
  });

  it("is lowered to the highest supported level when /model names a model with fewer levels", async () => {
    expect(await say("/model local/some")).toContain("Model: local/some.");
    expect(await say("three")).toBe("fine");
    expect(calls.at(-1)).toMatchObject({ model: "some", effort: "low" });
    expect(await say("/status")).toContain("thinking low");
    expect(await say("/model local/deep")).toContain("Model: local/deep.");
    expect(await say("four")).toBe("fine");
    expect(calls.at(-1)).toMatchObject({ model: "deep", effort: "high" });
  });

  it("is lowered in a job with its own model", async () => {
    const job = {
      ...{ name: "digest", schedule: { kind: "every", everyMs: 3_600_000 }, sessionTarget: "isolated" },
      payload: { kind: "agentTurn", message: "the digest", model: "local/plain", thinking: "high" },
    };
    const { json } = await kit.ask({ method: "POST", path: "/api/cron", body: job });
    const called = new Promise<void>((resolve) => {
      onCall = (prompt) => prompt.includes("the digest") && resolve();
    });
    const { status } = await kit.ask({ method: "POST", path: `/api/cron/${json.id}/run` });
    expect(status).toBeLessThan(300);
    await called;
    expect(calls.at(-1)).toMatchObject({ model: "plain", effort: undefined });
  });
});
