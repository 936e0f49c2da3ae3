/** Anything can be a channel: a program that sends messages to the engine and receives the answers. One secret signs both directions. */
import { createHmac } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { createRookery } from "rookery";
import { scripted } from "rookery/testing";

const SECRET = "a-secret-that-both-sides-know";
const sign = (at: unknown, body: string) => `v1=${createHmac("sha256", SECRET).update(`${at}.${body}`).digest("hex")}`;

// Out: an answer is a request. A repeated one has the same id.
const answers = new Map<string, { to: string; text: string }>();
const server = createServer(async (request, response) => {
  const body = await text(request);
  const isRight = request.headers["x-rookery-signature"] === sign(request.headers["x-rookery-timestamp"], body);
  if (isRight) answers.set(JSON.parse(body).id, JSON.parse(body));
  response.writeHead(isRight ? 204 : 401).end(() => server.emit("answered"));
}).listen(0, "127.0.0.1");
await once(server, "listening");

// In: a message is a request. Repeat it until the answer is 200; the same id is the same message.
const say = (id: string, from: string, words: string) => {
  const [at, body] = [Math.floor(Date.now() / 1_000), JSON.stringify({ id, from, text: words })];
  const headers = { "x-rookery-timestamp": String(at), "x-rookery-signature": sign(at, body) };
  return rookery.fetch(new Request("http://localhost/channels/door", { method: "POST", headers, body }));
};

const sendUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
const rookery = await createRookery({
  home: "memory",
  model: scripted("Sunny in Rome."),
  config: {
    connectors: { door: { kind: "webhook", sendUrl, webhook: { secret: SECRET } } },
    people: { unknown: "guest" },
  },
});
const answered = once(server, "answered");
await say("m1", "bob", "What is the weather in Rome?");
await answered;
for (const { to, text: words } of answers.values()) console.log(`to ${to}: ${words}`);
await rookery.close();
server.close();
