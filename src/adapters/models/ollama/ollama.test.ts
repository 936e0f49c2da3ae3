/** A scripted Ollama server with a window of 8,192 tokens: it refuses to cut a prompt silently, and counts what it is sent. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openTestGateway, type TestGateway } from "../../../app/gateway/gateway.test-kit.ts";
import { SUMMARY_SYSTEM_PROMPT } from "../../../engine/context/compaction/summary-prompt.ts";
import { OllamaModels } from "./ollama-show.ts";

const WINDOW = 8_192;
const SUMMARY = "## Ziel\nZahlen\n## Vorgaben\nkeine\n## Stand\nfertig\n## Nächste Schritte\nkeine";

interface Asked {
  readonly options: { readonly num_ctx: number; readonly num_predict: number };
  readonly tokens: number;
  readonly isSummary: boolean;
  readonly tools: number;
}

let server: Server;
let kit: TestGateway;
const asked: Asked[] = [];

beforeAll(async () => {
  server = createServer(async (request, response) => {
    let text = "";
    for await (const chunk of request) text += chunk;
    const body = JSON.parse(text || "{}");
    if (request.url === "/api/show") {
      const capabilities = ["completion", "tools"];
      response.end(JSON.stringify({ model_info: { "llama.context_length": WINDOW }, capabilities }));
      return;
    }
    if (request.url !== "/api/chat") return void response.writeHead(404).end("{}");
    const tokens = countTokens(JSON.stringify(body.messages)) + countTokens(JSON.stringify(body.tools ?? []));
    const isSummary = body.messages[0]?.content === SUMMARY_SYSTEM_PROMPT;
    asked.push({ options: body.options, tokens, isSummary, tools: body.tools?.length ?? 0 });
    const last = body.messages.at(-1);
    const turn = /turn (\d+)/u.exec(String(last.content))?.[1];
    const line = (one: object): void => void response.write(`${JSON.stringify(one)}\n`);
    if (isSummary) line({ message: { role: "assistant", content: SUMMARY }, done: false });
    else if (last.role === "user" && turn === "3") {
      const call = { function: { name: "current_time", arguments: {} } };
      line({ message: { role: "assistant", content: "", tool_calls: [call] }, done: false });
    } else line({ message: { role: "assistant", content: `heard ${turn ?? "a result"}` }, done: false });
    line({ message: {}, done: true, done_reason: "stop", prompt_eval_count: tokens, eval_count: 10 });
    response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  kit = await openTestGateway({ config: { models: { default: "ollama/tiny", providers: { ollama: { baseUrl } } } } });
});
afterAll(async () => {
  await kit?.close();
  server?.close();
});

describe("a conversation with a window of 8,192 tokens", () => {
  it("has ten turns, each of which fits", async () => {
    const words = "the quick brown fox jumps over the lazy dog ".repeat(80);
    for (let turn = 1; turn <= 10; turn++) {
      const messages = [{ role: "user", content: `turn ${turn}: ${words}` }];
      const { status, json } = await kit.ask({
        method: "POST",
        path: "/v1/chat/completions",
        body: { model: "main", user: "ann", messages },
      });
      const choices = json.choices as { message: { content: string } }[];
      expect([status, choices?.[0]?.message.content], JSON.stringify(json)).toEqual([
        200,
        turn === 3 ? "heard a result" : `heard ${turn}`,
      ]);
    }
    for (const { options, tokens } of asked) {
      expect(options.num_ctx).toBe(WINDOW);
      expect(tokens + options.num_predict).toBeLessThanOrEqual(WINDOW);
    }
    expect(asked.some(({ isSummary }) => isSummary)).toBe(true);
    // A short prompt and the core tools leave most of the window to the conversation.
    expect(asked[0]?.tokens).toBeLessThan(2_500);
    expect(asked[0]?.tools).toBeGreaterThan(0);
  });
});

describe("what Ollama says about a model", () => {
  it.each([
    [{ model_info: { "llama.context_length": 131_072 } }, 32_768],
    [{ model_info: { "llama.context_length": 131_072 }, parameters: "num_ctx   65536\nstop x" }, 65_536],
    [{ model_info: { "qwen3.context_length": 8_192 }, parameters: "num_ctx 99999" }, 8_192],
    [{ model_info: { "a.context_length": "many" } }, undefined],
    [{}, undefined],
  ])("%j is a window of %s tokens", async (shown, window) => {
    const models = new OllamaModels({ fetch: async () => Response.json(shown), monotonic: () => 0 });
    expect((await models.show("http://127.0.0.1:11434/v1", "m"))?.contextWindow).toBe(window);
  });
});
