/** A model server for tests: real HTTP on loopback, speaking one of three streaming protocols from a script of turns. */
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { zstdDecompressSync } from "node:zlib";

export const PROTOCOLS = ["anthropic-messages", "openai-completions", "openai-responses"] as const;
export type Protocol = (typeof PROTOCOLS)[number];

/** One answer. Without a status it streams; `ending` says how the stream ends. */
export interface Turn {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly thinking?: string;
  readonly text?: string;
  readonly tools?: readonly { readonly id: string; readonly name: string; readonly arguments: object | string }[];
  readonly stop?: "stop" | "length";
  readonly usage?: { readonly input: number; readonly output: number; readonly cacheRead?: number };
  /** `drop`: the connection is cut. `hold`: nothing more comes. `malformed`: an event that is not JSON. */
  readonly ending?: "finish" | "drop" | "hold" | "malformed" | "end-early" | { readonly error: object };
  /** Extra bytes before the end, such as a keep-alive comment. */
  readonly raw?: string;
}

export interface Received {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  // biome-ignore lint/suspicious/noExplicitAny: a payload is inspected field by field in tests
  readonly body: any;
}

export interface WireServer {
  readonly baseUrl: string;
  readonly received: readonly Received[];
  /** Resolves when the n-th connection (from 1) was closed by the other side. */
  hungUp(n: number): Promise<void>;
  /** Sends more on a held answer. */
  more(n: number, text: string): void;
  close(): Promise<void>;
}

/** A text is sent as it is: a model may write what is not JSON. */
const written = (given: object | string): string => (typeof given === "string" ? given : JSON.stringify(given));

export type Script = (received: Received, n: number) => Turn | Promise<Turn>;

export async function startWire(protocol: Protocol, script: Script): Promise<WireServer> {
  const received: Received[] = [];
  const responses: ServerResponse[] = [];
  const hungUp: PromiseWithResolvers<void>[] = [];
  const gone = (n: number): PromiseWithResolvers<void> => {
    hungUp[n] ??= Promise.withResolvers<void>();
    return hungUp[n];
  };
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", async () => {
      const sent = Buffer.concat(chunks);
      const text = (request.headers["content-encoding"] === "zstd" ? zstdDecompressSync(sent) : sent).toString("utf8");
      const got = {
        path: request.url ?? "",
        headers: request.headers,
        body: text === "" ? undefined : JSON.parse(text),
      };
      received.push(got);
      const n = received.length;
      responses[n] = response;
      response.on("close", () => gone(n).resolve());
      answer(protocol, await script(got, n), response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    baseUrl: `http://127.0.0.1:${port}${protocol === "anthropic-messages" ? "" : "/v1"}`,
    received,
    hungUp: (n) => gone(n).promise,
    more: (n, text) => responses[n]?.write(text),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function answer(protocol: Protocol, turn: Turn, response: ServerResponse): void {
  if (turn.status !== undefined) {
    response.writeHead(turn.status, { "content-type": "application/json", ...turn.headers });
    response.end(typeof turn.body === "string" ? turn.body : JSON.stringify(turn.body ?? {}));
    return;
  }
  response.writeHead(200, { "content-type": "text/event-stream", ...turn.headers });
  const events = EVENTS[protocol](turn);
  for (const event of events.said) response.write(event);
  if (turn.raw) response.write(turn.raw);
  switch (turn.ending ?? "finish") {
    case "finish":
      response.end(events.end.join(""));
      return;
    case "end-early":
      response.end();
      return;
    case "drop":
      setImmediate(() => response.socket?.destroy());
      return;
    case "hold":
      return;
    case "malformed":
      response.end('event: content_block_delta\ndata: {"type": "content_block_delta", prompt is too long\n\n');
      return;
    default:
      response.end(errorEvent(protocol, (turn.ending as { error: object }).error));
  }
}

function errorEvent(protocol: Protocol, error: object): string {
  if (protocol === "anthropic-messages") return sse({ type: "error", error }, "error");
  if (protocol === "openai-completions") return sse({ error });
  return sse({ type: "response.failed", response: { status: "failed", error } }, "response.failed");
}

const sse = (data: object, event?: string): string =>
  `${event ? `event: ${event}\n` : ""}data: ${JSON.stringify(data)}\n\n`;

const pieces = (text: string | undefined): readonly string[] => text?.match(/.{1,8}/gsu) ?? [];

interface Events {
  readonly said: readonly string[];
  readonly end: readonly string[];
}

const EVENTS: Readonly<Record<Protocol, (turn: Turn) => Events>> = {
  "anthropic-messages": anthropicEvents,
  "openai-completions": completionEvents,
  "openai-responses": responseEvents,
};

function anthropicEvents({ thinking, text, tools = [], stop, usage = { input: 11, output: 7 } }: Turn): Events {
  const said: string[] = [];
  const say = (data: { type: string } & Record<string, unknown>): void => void said.push(sse(data, data.type));
  say({
    type: "message_start",
    message: {
      id: "msg_1",
      model: "m",
      usage: { input_tokens: usage.input, output_tokens: 0, cache_read_input_tokens: usage.cacheRead ?? 0 },
    },
  });
  let index = 0;
  if (thinking !== undefined) {
    say({ type: "content_block_start", index, content_block: { type: "thinking", thinking: "", signature: "" } });
    for (const part of pieces(thinking)) {
      say({ type: "content_block_delta", index, delta: { type: "thinking_delta", thinking: part } });
    }
    say({ type: "content_block_delta", index, delta: { type: "signature_delta", signature: "c2lnbmVk" } });
    say({ type: "content_block_stop", index: index++ });
  }
  if (text !== undefined) {
    say({ type: "content_block_start", index, content_block: { type: "text", text: "" } });
    for (const part of pieces(text))
      say({ type: "content_block_delta", index, delta: { type: "text_delta", text: part } });
    said.push(sse({ type: "ping" }, "ping"));
  }
  const end: string[] =
    text === undefined ? [] : [sse({ type: "content_block_stop", index: index++ }, "content_block_stop")];
  for (const tool of tools) {
    const content_block = { type: "tool_use", id: tool.id, name: tool.name, input: {} };
    end.push(sse({ type: "content_block_start", index, content_block }, "content_block_start"));
    for (const partial_json of pieces(written(tool.arguments))) {
      const delta = { type: "input_json_delta", partial_json };
      end.push(sse({ type: "content_block_delta", index, delta }, "content_block_delta"));
    }
    end.push(sse({ type: "content_block_stop", index: index++ }, "content_block_stop"));
  }
  const stop_reason = tools.length > 0 ? "tool_use" : stop === "length" ? "max_tokens" : "end_turn";
  end.push(
    sse({ type: "message_delta", delta: { stop_reason }, usage: { output_tokens: usage.output } }, "message_delta"),
    sse({ type: "message_stop" }, "message_stop"),
  );
  return { said, end };
}

function completionEvents({ thinking, text, tools = [], stop, usage = { input: 11, output: 7 } }: Turn): Events {
  const chunk = (delta: object, finish_reason: string | null = null): string =>
    sse({ id: "c1", object: "chat.completion.chunk", model: "m", choices: [{ index: 0, delta, finish_reason }] });
  const said = [
    chunk({ role: "assistant", content: "" }),
    ...pieces(thinking).map((reasoning_content) => chunk({ reasoning_content })),
    ...pieces(text).map((content) => chunk({ content })),
  ];
  const calls = tools.flatMap((tool, index) => [
    chunk({ tool_calls: [{ index, id: tool.id, type: "function", function: { name: tool.name, arguments: "" } }] }),
    ...pieces(written(tool.arguments)).map((part) => chunk({ tool_calls: [{ index, function: { arguments: part } }] })),
  ]);
  const prompt_tokens = usage.input + (usage.cacheRead ?? 0);
  const counted = {
    prompt_tokens,
    completion_tokens: usage.output,
    total_tokens: prompt_tokens + usage.output,
    prompt_tokens_details: { cached_tokens: usage.cacheRead ?? 0 },
  };
  return {
    said,
    end: [
      ...calls,
      chunk({}, tools.length > 0 ? "tool_calls" : (stop ?? "stop")),
      sse({ id: "c1", object: "chat.completion.chunk", model: "m", choices: [], usage: counted }),
      "data: [DONE]\n\n",
    ],
  };
}

function responseEvents({ thinking, text, tools = [], stop, usage = { input: 11, output: 7 } }: Turn): Events {
  const said: string[] = [];
  const end: string[] = [];
  let to = said;
  const say = (data: { type: string } & Record<string, unknown>): void => void to.push(sse(data, data.type));
  say({ type: "response.created", response: { id: "resp_1" } });
  let output_index = 0;
  if (thinking !== undefined) {
    const item = { type: "reasoning", id: "rs_1", summary: [] };
    say({ type: "response.output_item.added", output_index, item });
    say({ type: "response.reasoning_summary_part.added", output_index, part: { type: "summary_text", text: "" } });
    for (const delta of pieces(thinking)) say({ type: "response.reasoning_summary_text.delta", output_index, delta });
    const done = { ...item, summary: [{ type: "summary_text", text: thinking }], encrypted_content: "c2lnbmVk" };
    say({ type: "response.output_item.done", output_index: output_index++, item: done });
  }
  if (text !== undefined) {
    say({ type: "response.output_item.added", output_index, item: { type: "message", id: "msg_1", content: [] } });
    say({ type: "response.content_part.added", output_index, part: { type: "output_text", text: "" } });
    for (const delta of pieces(text)) say({ type: "response.output_text.delta", output_index, delta });
    to = end;
    const content = [{ type: "output_text", text }];
    say({
      type: "response.output_item.done",
      output_index: output_index++,
      item: { type: "message", id: "msg_1", content },
    });
  }
  to = end;
  for (const tool of tools) {
    const item = { type: "function_call", id: `fc_${tool.id}`, call_id: tool.id, name: tool.name, arguments: "" };
    const args = written(tool.arguments);
    say({ type: "response.output_item.added", output_index, item });
    for (const delta of pieces(args)) say({ type: "response.function_call_arguments.delta", output_index, delta });
    say({ type: "response.output_item.done", output_index: output_index++, item: { ...item, arguments: args } });
  }
  const input_tokens = usage.input + (usage.cacheRead ?? 0);
  const counted = {
    input_tokens,
    output_tokens: usage.output,
    total_tokens: input_tokens + usage.output,
    input_tokens_details: { cached_tokens: usage.cacheRead ?? 0 },
  };
  const cut = stop === "length" ? { status: "incomplete", incomplete_details: { reason: "max_output_tokens" } } : {};
  const type = stop === "length" ? "response.incomplete" : "response.completed";
  say({ type, response: { id: "resp_1", status: "completed", output: [], usage: counted, ...cut } });
  return { said, end };
}
