/** Runs in its own process: a model server without a model and without delay. Answers with a sentence in ten pieces, at once. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

const chunk = (delta: object, finish_reason: string | null = null, more: object = {}): string =>
  `data: ${JSON.stringify({ id: "c1", object: "chat.completion.chunk", created: 1, model: "fake", choices: [{ index: 0, delta, finish_reason }], ...more })}\n\n`;

const ANSWER = [
  ...Array.from({ length: 10 }, (_, n) => chunk({ content: `word${n} ` })),
  chunk({}, "stop", { usage: { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 } }),
  "data: [DONE]\n\n",
].join("");

const server = createServer((request, response) => {
  request.resume();
  request.on("end", () => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end(ANSWER);
  });
});
server.keepAliveTimeout = 60_000;
server.listen(0, "127.0.0.1", () => console.log((server.address() as AddressInfo).port));
