/**
 * HTTP requests through Node's own client: connections are reused, and chunks are passed on as they arrive. `fetch` would
 * stack several streams on the same socket and cost several times as much.
 */
import type { Agent, IncomingMessage, RequestOptions } from "node:http";
import { AbortedError } from "../../core/errors.ts";
import type { HttpAnswer, HttpPost } from "../../core/ports/http-post.ts";

export const httpPost: HttpPost = (url, headers, body, signal) => {
  const to = new URL(url);
  // Encoded once: a string would be encoded again to count, to frame and to send it.
  const bytes = Buffer.from(body);
  const sized = { ...headers, "accept-encoding": "identity", "content-length": String(bytes.length) };
  return send(to, { method: "POST", headers: sized, signal }, bytes, true);
};

function send(to: URL, options: RequestOptions, body: Buffer, mayRepeat: boolean): Promise<HttpAnswer> {
  const { request, agent } = clientFor(to.protocol);
  return new Promise((resolve, reject) => {
    const asked = request(to, { ...options, agent });
    asked.on("response", (response) => resolve(answerOf(response)));
    // Stays registered: an abort after the response began is an error of the request too.
    asked.on("error", (error: NodeJS.ErrnoException) => {
      // The server closed the reused connection while this request was sent.
      const stale = mayRepeat && asked.reusedSocket && error.code === "ECONNRESET";
      if (stale) resolve(send(to, options, body, false));
      else reject(error);
    });
    asked.end(body);
  });
}

function answerOf(response: IncomingMessage): HttpAnswer {
  // The response may fail before it is read.
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

/** One client per protocol, loaded with the first request. */
function clientFor(protocol: string): Client {
  let client = clients.get(protocol);
  if (!client) {
    const { request, Agent: Connections } = process.getBuiltinModule(
      protocol === "https:" ? "node:https" : "node:http",
    ) as typeof import("node:http");
    // Uses the proxy of the environment if Node does.
    const proxyEnv = process.env.NODE_USE_ENV_PROXY === "1" ? process.env : undefined;
    client = { request, agent: new Connections({ keepAlive: true, proxyEnv }) };
    clients.set(protocol, client);
  }
  return client;
}
