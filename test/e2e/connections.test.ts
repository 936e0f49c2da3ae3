/** Two thousand connections at the same moment: each is answered, none is reset. */
import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openTestGateway } from "../../src/app/gateway/gateway.test-kit.ts";
import { lastText, modelResult } from "../kit/model.ts";
import { type FakeModel, fakeModel, type Served, serve, userMessage } from "./serving.ts";

const CONNECTIONS = 2_000;
let model: FakeModel;
let served: Served;
beforeAll(async () => {
  model = await fakeModel();
  served = await serve(model);
});
afterAll(async () => {
  await served.stop();
  await model.close();
});

/** The status of the answer on a connection of its own; the error's code if there is none. */
function answerOn(port: number, request: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => socket.write(request));
    let text = "";
    socket.setEncoding("latin1");
    socket.on("data", (chunk: string) => {
      text += chunk;
    });
    const status = (): string => /^HTTP\/1\.1 (\d+)/.exec(text)?.[1] ?? "no answer";
    socket.on("error", (error: NodeJS.ErrnoException) => resolve(text === "" ? String(error.code) : status()));
    socket.on("close", () => resolve(status()));
  });
}

const counts = (answers: readonly string[]): Record<string, number> =>
  Object.fromEntries([...new Set(answers)].map((one) => [one, answers.filter((other) => other === one).length]));

describe(`${CONNECTIONS} connections at once`, () => {
  it("are all accepted", async () => {
    const request = `GET /healthz HTTP/1.1\r\nhost: 127.0.0.1:${served.port}\r\nconnection: close\r\n\r\n`;
    const answers = await Promise.all(Array.from({ length: CONNECTIONS }, () => answerOn(served.port, request)));
    expect(counts(answers)).toEqual({ 200: CONNECTIONS });
  });

  it("are answered with 503 while more requests than the limit are in progress, and those are answered", async () => {
    const requests = 20;
    const held: (() => void)[] = [];
    const kit = await openTestGateway({
      limits: { requests, requestsPerSecond: 100_000 },
      model: {
        async call(request) {
          await new Promise<void>((resolve) => held.push(resolve));
          return modelResult(`echo: ${lastText(request)}`);
        },
      },
    });
    const { port } = kit.gateway;
    const waiting = Array.from({ length: requests }, (_, n) => {
      const body = { model: "main", user: `u${n}`, messages: userMessage("hello") };
      return kit.ask({ method: "POST", path: "/v1/chat/completions", body });
    });
    await expect.poll(() => held.length, { timeout: 60_000 }).toBe(requests);
    const request = `GET /healthz HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nconnection: close\r\n\r\n`;
    const answers = await Promise.all(Array.from({ length: CONNECTIONS }, () => answerOn(port, request)));
    expect(counts(answers)).toEqual({ 503: CONNECTIONS });
    for (const release of held) release();
    for (const answer of waiting) expect((await answer).text).toContain("echo: hello");
    await kit.close();
  });
});
