/** Starts a real `rookery serve` as a child process, and a model server in this process whose answers the test controls. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import OpenAI from "openai";

export const TOKEN = "e2e-token-0123456789abcdef";
const MAIN = fileURLToPath(new URL("../../src/main.ts", import.meta.url));

export interface ModelCall {
  readonly body: { model: string; messages: { role: string; content: unknown }[] };
  /** The text of the last user message. */
  readonly prompt: string;
  /** Streams a piece of the answer. */
  say(text: string): void;
  /** Ends the answer, with what it used. */
  end(inputTokens?: number, outputTokens?: number): void;
  readonly response: ServerResponse;
}

export interface FakeModel {
  readonly port: number;
  readonly calls: ModelCall[];
  /** The authorization of each request. */
  readonly keys: (string | undefined)[];
  /** Called for each request to the model. Default: `echo`. */
  script: (call: ModelCall) => void;
  close(): Promise<void>;
}

/** Repeats the prompt, word by word. */
export const echo = (call: ModelCall): void => {
  for (const piece of `echo: ${call.prompt}`.split(/(?<= )/)) call.say(piece);
  call.end();
};

export async function fakeModel(): Promise<FakeModel> {
  const calls: ModelCall[] = [];
  const keys: (string | undefined)[] = [];
  const server = createServer(async (request, response) => {
    let text = "";
    for await (const chunk of request) text += chunk;
    const body = JSON.parse(text) as ModelCall["body"];
    const prompt = textOf(body.messages.findLast(({ role }) => role === "user")?.content);
    response.writeHead(200, { "content-type": "text/event-stream" });
    const chunk = (delta: object, finish_reason: string | null = null, more: object = {}): void => {
      const choices = [{ index: 0, delta, finish_reason }];
      response.write(
        `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: body.model, choices, ...more })}\n\n`,
      );
    };
    const call: ModelCall = {
      body,
      prompt,
      response,
      say: (piece) => chunk({ content: piece }),
      end(input = 10, output = 5) {
        const usage = { prompt_tokens: input, completion_tokens: output, total_tokens: input + output };
        chunk({}, "stop", { usage });
        response.end("data: [DONE]\n\n");
      },
    };
    calls.push(call);
    keys.push(request.headers.authorization);
    model.script(call);
  });
  server.keepAliveTimeout = 60_000;
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const model: FakeModel = {
    port: (server.address() as AddressInfo).port,
    calls,
    keys,
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
  /** What `serve --json` printed. */
  readonly document: string;
  /** Its standard error so far. */
  errors(): string;
  /** Kills the process, and starts it again in the same home on the same port. */
  crash(): Promise<Served>;
  /** Stops the process with SIGTERM, and starts it again in the same home on the same port. */
  restart(): Promise<Served>;
  stop(): Promise<void>;
}

/** A configuration with the model of the test. */
export function writeServedConfig(
  home: string,
  model: Pick<FakeModel, "port">,
  options: { readonly gateway?: object; readonly more?: object; readonly modelId?: string } = {},
): void {
  mkdirSync(home, { recursive: true });
  const { modelId = "fake" } = options;
  const provider = {
    api: "openai-completions",
    baseUrl: `http://127.0.0.1:${model.port}/v1`,
    apiKey: { env: "K" },
    models: [{ id: modelId, contextWindow: 200_000, maxTokens: 8_192 }],
  };
  const config = {
    gateway: { ...options.gateway },
    models: { default: `local/${modelId}`, providers: { local: provider } },
    ...options.more,
  };
  writeFileSync(join(home, "rookery.json5"), JSON.stringify(config));
}

/** `home`: a home with its configuration. `at`: where to make one; default: a new directory. */
export async function serve(
  model: Pick<FakeModel, "port">,
  options: {
    home?: string;
    at?: string;
    port?: number;
    gateway?: object;
    more?: object;
    /** The name of the model. Default: fake. */
    modelId?: string;
    store?: string;
    /** Node flags. */
    flags?: readonly string[];
    env?: Readonly<Record<string, string>>;
  } = {},
): Promise<Served> {
  const home = options.home ?? options.at ?? mkdtempSync(join(tmpdir(), "rookery-e2e-"));
  if (options.home === undefined) writeServedConfig(home, model, options);
  const child = spawn(
    process.execPath,
    [...(options.flags ?? []), MAIN, "serve", "--home", home, "--port", String(options.port ?? 0), "--json"],
    {
      stdio: ["ignore", "pipe", "pipe"],
      env: {
        ...process.env,
        ...{ ROOKERY_TOKEN: TOKEN, K: "k", ROOKERY_STORE: options.store ?? process.env.ROOKERY_STORE },
        ...options.env,
      },
    },
  );
  let errors = "";
  child.stderr.on("data", (chunk: Buffer) => {
    errors += chunk.toString();
  });
  const exit = once(child, "exit");
  const lines = createInterface({ input: child.stdout });
  const first = await Promise.race([once(lines, "line"), exit.then(() => undefined)]);
  if (!first) throw new Error(`The process did not start: ${errors}`);
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
    document: first[0] as string,
    errors: () => errors,
    async crash() {
      await end("SIGKILL");
      return serve(model, { home, port, store: options.store });
    },
    async restart() {
      await end("SIGTERM");
      return serve(model, { home, port, store: options.store });
    },
    async stop() {
      await end("SIGTERM");
      rmSync(home, { recursive: true, force: true });
    },
  };
}

/** An OpenAI client of a port, with the root token unless `options` say otherwise. */
export const openaiClient = (port: number, options: object = {}): OpenAI =>
  new OpenAI({ apiKey: TOKEN, baseURL: `http://127.0.0.1:${port}/v1`, ...options });

export const userMessage = (text: string) => [{ role: "user" as const, content: text }];

/** One request to the engine's API, with the root token. Returns the JSON of the answer. */
export async function api(
  { url }: Pick<Served, "url">,
  path: string,
  init: { method?: string; body?: object } = {},
): Promise<unknown> {
  const headers = { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" };
  const body = init.body && JSON.stringify(init.body);
  const response = await fetch(`${url}${path}`, { method: init.method ?? "GET", headers, body });
  return response.json();
}

/** The agent of an API user. */
export const agentOfUser = async (served: Pick<Served, "url">, user: string) =>
  (await api(served, `/api/agents/${encodeURIComponent(`agent:main:api:dm:${user}`)}`)) as {
    id: string;
    runId: string | null;
  };
