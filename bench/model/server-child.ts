/** Runs in its own process: a model server without a model. Streams the same pieces each time, each in a separate write. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

const PIECES = Number(process.argv[2] ?? 200);

const sse = (data: object, event?: string): string =>
  `${event ? `event: ${event}\n` : ""}data: ${JSON.stringify(data)}\n\n`;

const chunk = (delta: object, finish_reason: string | null = null): string =>
  sse({
    id: "c1",
    object: "chat.completion.chunk",
    created: 1,
    model: "m",
    choices: [{ index: 0, delta, finish_reason }],
  });

const usage = { prompt_tokens: 100, completion_tokens: PIECES, total_tokens: 100 + PIECES };
const COMPLETIONS: readonly string[] = [
  ...Array.from({ length: PIECES }, (_, n) => chunk({ content: `word${n} ` })),
  chunk({}, "stop"),
  sse({ id: "c1", object: "chat.completion.chunk", created: 1, model: "m", choices: [], usage }),
  "data: [DONE]\n\n",
];

const MESSAGES: readonly string[] = [
  sse(
    { type: "message_start", message: { id: "m1", model: "m", usage: { input_tokens: 100, output_tokens: 0 } } },
    "message_start",
  ),
  sse({ type: "content_block_start", index: 0, content_block: { type: "text", text: "" } }, "content_block_start"),
  ...Array.from({ length: PIECES }, (_, n) =>
    sse(
      { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: `word${n} ` } },
      "content_block_delta",
    ),
  ),
  sse({ type: "content_block_stop", index: 0 }, "content_block_stop"),
  sse({ type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: PIECES } }, "message_delta"),
  sse({ type: "message_stop" }, "message_stop"),
];

const server = createServer((request, response) => {
  request.resume();
  request.on("end", () => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    const events = request.url?.includes("completions") ? COMPLETIONS : MESSAGES;
    let next = 0;
    const write = (): void => {
      const event = events[next++];
      if (event === undefined) return void response.end();
      response.write(event);
      setImmediate(write);
    };
    write();
  });
});
// On a busy machine a caller may pause for longer than the default; a connection closed during that pause is not what is measured.
server.keepAliveTimeout = 120_000;
server.listen(0, "127.0.0.1", () => console.log((server.address() as AddressInfo).port));
