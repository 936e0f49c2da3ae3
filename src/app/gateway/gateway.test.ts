import { once } from "node:events";
import { connect } from "node:net";
import { afterAll, beforeAll, expect, it } from "vitest";
import { openTestGateway, type TestGateway } from "./gateway.test-kit.ts";

let kit: TestGateway;
beforeAll(async () => {
  kit = await openTestGateway();
});
afterAll(() => kit.close());

async function answerTo(head: readonly string[]): Promise<string> {
  const socket = connect(kit.gateway.port, "127.0.0.1");
  let text = "";
  socket.on("data", (chunk) => {
    text += chunk.toString();
  });
  socket.write(`${head.join("\r\n")}\r\n\r\n`);
  await once(socket, "close");
  return text;
}

it.each([
  [["GET /api/events HTTP/1.1", "Host: 127.0.0.1", "Connection: Upgrade", "Upgrade: websocket"]],
  [["CONNECT example.org:443 HTTP/1.1", "Host: example.org:443"]],
])("refuses another protocol with a clear error: %j", async (head) => {
  const answer = await answerTo(head);
  expect(answer).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
  expect(answer).toContain('"code":"only_http"');
});
