/**
 * HTTP requests over Node's own client: connections are kept, pieces come as they are read. A fetch would lay streams of
 * streams over the same socket, for several times the work.
 */
import type { Agent, IncomingMessage, RequestOptions } from "node:http";
import { AbortedError } from "../../core/errors.ts";
import type { HttpAnswer, HttpPost } from "../../core/ports/http-post.ts";

export const httpPost: HttpPost = (url, headers, body, signal) => {
  const to = new URL(url);
  // Made bytes once: a text would be gone through to be counted, to be framed and to be sent.
  const bytes = Buffer.from(body);
  const sized = { ...headers, "accept-encoding": "identity", "content-length": String(bytes.length) };
  return send(to, { method: "POST", headers: sized, signal }, bytes, true);
};

function send(to: URL, options: RequestOptions, body: Buffer, mayRepeat: boolean): Promise<HttpAnswer> {
  const { request, agent } = clientFor(to.protocol);
  return new Promise((resolve, reject) => {
    const asked = request(to, { ...options, agent });
    asked.on("response", (response) => resolve(answerOf(response)));
    // Stays: an abort after the answer has begun is an error of the request too.
    asked.on("error", (error: NodeJS.ErrnoException) => {
      // The server closed a kept connection while this request was on its way to it.
      const stale = mayRepeat && asked.reusedSocket && error.code === "ECONNRESET";
      if (stale) resolve(send(to, options, body, false));
      else reject(error);
    });
    asked.end(body);
  });
}

function answerOf(response: IncomingMessage): HttpAnswer {
  // One that nobody reads yet may break off as well.
  response.on("error", () => {});
  return {
    status: response.statusCode ?? 0,
    header(name) {
      const value = response.headers[name];
      return Array.isArray(value) ? value[0] : value;
    },
    read: (onChunk) =>
      new Promise((resolve, reject) => {
        response.on("data", (chunk: Buffer) => {
          try {
            onChunk(chunk);
          } catch (error) {
            reject(error);
            response.destroy();
          }
        });
        response.on("end", resolve);
        response.on("error", reject);
        const closed = (): void => {
          if (!response.readableEnded)
            reject(new AbortedError("The connection was closed before the end of the answer."));
        };
        response.on("close", closed);
        if (response.destroyed) closed();
      }),
  };
}

type Client = { readonly request: typeof import("node:http").request; readonly agent: Agent };
const clients = new Map<string, Client>();

/** Loaded and opened with the first request; one for each protocol. */
function clientFor(protocol: string): Client {
  let client = clients.get(protocol);
  if (!client) {
    const { request, Agent: Connections } = process.getBuiltinModule(
      protocol === "https:" ? "node:https" : "node:http",
    ) as typeof import("node:http");
    // As for every other request of the process: a proxy is used where Node was told to.
    const proxyEnv = process.env.NODE_USE_ENV_PROXY === "1" ? process.env : undefined;
    client = { request, agent: new Connections({ keepAlive: true, ...(proxyEnv ? { proxyEnv } : {}) }) };
    clients.set(protocol, client);
  }
  return client;
}
