/** A real `rookery serve` in a process of its own, with a model server in this one that says what the test wants, when it wants. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

export const TOKEN = "e2e-token-0123456789abcdef";
const MAIN = fileURLToPath(new URL("../../src/main.ts", import.meta.url));

export interface ModelCall {
  readonly body: { messages: { role: string; content: unknown }[] };
  /** The last thing a person said. */
  readonly said: string;
  /** Says a piece. */
  say(text: string): void;
  /** Ends the answer. */
  end(): void;
  readonly response: ServerResponse;
}

export interface FakeModel {
  readonly port: number;
  readonly calls: ModelCall[];
  /** What is done with each call. Default: the words are repeated, in pieces. */
  script: (call: ModelCall) => void;
  close(): Promise<void>;
}

export const echo = (call: ModelCall): void => {
  for (const piece of `echo: ${call.said}`.split(/(?<= )/)) call.say(piece);
  call.end();
};

export async function fakeModel(): Promise<FakeModel> {
  const calls: ModelCall[] = [];
  const server = createServer(async (request, response) => {
    let text = "";
    for await (const chunk of request) text += chunk;
    const body = JSON.parse(text) as ModelCall["body"];
    const said = textOf(body.messages.findLast(({ role }) => role === "user")?.content);
    response.writeHead(200, { "content-type": "text/event-stream" });
    const chunk = (delta: object, finish_reason: string | null = null, more: object = {}): void => {
      const choices = [{ index: 0, delta, finish_reason }];
      response.write(
        `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "fake", choices, ...more })}\n\n`,
      );
    };
    const call: ModelCall = {
      body,
      said,
      response,
      say: (piece) => chunk({ content: piece }),
      end() {
        chunk({}, "stop", { usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 } });
        response.end("data: [DONE]\n\n");
      },
    };
    calls.push(call);
    model.script(call);
  });
  server.keepAliveTimeout = 60_000;
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const model: FakeModel = {
    port: (server.address() as AddressInfo).port,
    calls,
    script: echo,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
  return model;
}

function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  return Array.isArray(content) ? content.map((part: { text?: string }) => part.text ?? "").join("") : "";
}

export interface Served {
  readonly home: string;
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  readonly process: ChildProcess;
  /** What it said on standard error. */
  errors(): string;
  /** Kills it as a crash does, and starts it again in the same home on the same port. */
  crash(): Promise<Served>;
  stop(): Promise<void>;
}

export async function serve(
  model: FakeModel,
  options: { home?: string; port?: number; gateway?: object; more?: object; store?: string } = {},
): Promise<Served> {
  const home = options.home ?? mkdtempSync(join(tmpdir(), "rookery-e2e-"));
  if (options.home === undefined) {
    const provider = {
      api: "openai-completions",
      baseUrl: `http://127.0.0.1:${model.port}/v1`,
      apiKey: { env: "K" },
      models: [{ id: "fake", contextWindow: 200_000, maxTokens: 8_192 }],
    };
    const config = {
      gateway: { ...options.gateway },
      models: { default: "local/fake", providers: { local: provider } },
      ...options.more,
    };
    writeFileSync(join(home, "rookery.json5"), JSON.stringify(config));
  }
  const child = spawn(
    process.execPath,
    [MAIN, "serve", "--home", home, "--port", String(options.port ?? 0), "--json"],
    {
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, ROOKERY_TOKEN: TOKEN, K: "k", ...(options.store ? { ROOKERY_STORE: options.store } : {}) },
    },
  );
  let errors = "";
  child.stderr.on("data", (chunk: Buffer) => {
    errors += chunk.toString();
  });
  const exit = once(child, "exit");
  const lines = createInterface({ input: child.stdout });
  const first = await Promise.race([once(lines, "line"), exit.then(() => undefined)]);
  if (!first) throw new Error(`It did not start: ${errors}`);
  const { url, port, pid } = JSON.parse(first[0] as string) as { url: string; port: number; pid: number };
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    child.kill(signal);
    await exit;
  };
  return {
    home,
    url,
    port,
    pid,
    process: child,
    errors: () => errors,
    async crash() {
      await end("SIGKILL");
      return serve(model, { home, port, store: options.store });
    },
    async stop() {
      await end("SIGTERM");
      rmSync(home, { recursive: true, force: true });
    },
  };
}
