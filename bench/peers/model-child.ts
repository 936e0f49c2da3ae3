/**
 * Runs in its own process: a model server without a model. Answers with ten words, and then with the tokens of the messages that have no
 * answer yet, so that a reader knows what an answer belongs to. The first argument is how long an answer takes, in milliseconds.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { openTokens } from "./tokens.ts";

const pauseMs = Number(process.argv[2]) / 10;

const chunk = (delta: object, finish_reason: string | null = null, more: object = {}): string =>
  `data: ${JSON.stringify({ id: "c1", object: "chat.completion.chunk", created: 1, model: "fake", choices: [{ index: 0, delta, finish_reason }], ...more })}\n\n`;

const END = `${chunk({}, "stop", { usage: { prompt_tokens: 100, completion_tokens: 11, total_tokens: 111 } })}data: [DONE]\n\n`;

const server = createServer(async (request, response) => {
  let body = "";
  for await (const piece of request.setEncoding("utf8")) body += piece;
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (let n = 0; n < 10; n++) {
    if (pauseMs > 0) await sleep(pauseMs);
    response.write(chunk({ content: `word${n} ` }));
  }
  response.end(chunk({ content: openTokens(JSON.parse(body)).join(" ") || "end" }) + END);
});
server.keepAliveTimeout = 60_000;
server.listen(0, "127.0.0.1", () => console.log((server.address() as AddressInfo).port));
