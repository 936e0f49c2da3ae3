/** The official client with images, files, addresses, formats and `previous_response_id`, against a gateway in this process. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import OpenAI from "openai";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { modelResult } from "../../../../test/kit/model.ts";
import { pdfOf, pngOf } from "../../../adapters/files/samples.test-kit.ts";
import type { Block } from "../../../core/history/entry.ts";
import type { Model, ModelRequest } from "../../../core/ports/model.ts";
import { openTestGateway, ROOT_TOKEN, type TestGateway } from "../gateway.test-kit.ts";

let requests: ModelRequest[] = [];
let answer = "I see.";
const model: Model = {
  async call(request, _signal, onEvent) {
    requests.push(request);
    onEvent({ type: "text", delta: answer });
    return modelResult(answer);
  },
};
let kit: TestGateway;
let web: Server;
let webUrl: string;
let png: Buffer;
let openai: OpenAI;
beforeAll(async () => {
  png = await pngOf(20, 10);
  web = createServer((request, response) => {
    if (request.url === "/loop") response.writeHead(302, { location: "/loop" }).end();
    else if (request.url === "/photo.png") response.writeHead(200).end(png);
    else response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => web.listen(0, "127.0.0.1", resolve));
  const { port } = web.address() as AddressInfo;
  webUrl = `http://127.0.0.1:${port}`;
  kit = await openTestGateway({
    model,
    config: {
      network: { allowPrivate: [`127.0.0.1:${port}`] },
      people: { records: { ann: {} } },
      profiles: { strict: { request: [] } },
    },
  });
  openai = clientWith(ROOT_TOKEN);
});
beforeEach(() => {
  requests = [];
  answer = "I see.";
});
afterAll(async () => {
  web.close();
  await kit.close();
});

const clientWith = (apiKey: string): OpenAI =>
  new OpenAI({ apiKey, baseURL: `http://127.0.0.1:${kit.gateway.port}/v1`, maxRetries: 0 });
const dataUrl = (data: Buffer, type: string): string => `data:${type};base64,${data.toString("base64")}`;
const shown = (): readonly Block[] => requests.at(-1)?.messages.findLast(({ role }) => role === "user")?.content ?? [];
const image = () => ({ type: "image", mimeType: "image/png", data: png.toString("base64") });
const chat = (content: OpenAI.ChatCompletionContentPart[], more: object = {}) =>
  openai.chat.completions.create({
    model: "main",
    messages: [{ role: "user", content }],
    ...more,
  } as never) as never as Promise<OpenAI.ChatCompletion>;

describe("chat completions", () => {
  it("take images as data, beside text and alone", async () => {
    const part = { type: "image_url", image_url: { url: dataUrl(png, "image/png") } } as const;
    const { choices } = await chat([{ type: "text", text: "what is it?" }, part]);
    expect(choices[0]?.message.content).toBe("I see.");
    expect(shown()).toContainEqual(image());
    await chat([part]);
    expect(shown()).toContainEqual(image());
  });

  it("take documents, and stream the answer", async () => {
    const file = { filename: "invoice.pdf", file_data: dataUrl(pdfOf("Invoice 42"), "application/pdf") };
    const stream = (await chat([{ type: "file", file }], {
      stream: true,
    })) as never as AsyncIterable<OpenAI.ChatCompletionChunk>;
    let text = "";
    for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? "";
    expect(text).toBe("I see.");
    expect(JSON.stringify(shown())).toContain("Invoice 42");
  });

  it("load an image from an address, and mark it as text from the network", async () => {
    await chat([{ type: "image_url", image_url: { url: `${webUrl}/photo.png` } }]);
    expect(shown()).toContainEqual(image());
    const agents = (await kit.ask({ path: "/api/agents?limit=500" })).json.items as { id: string }[];
    const last = await kit.node.ports.store.agent(agents.at(-1)?.id as never);
    expect(last?.state.untrusted).toBe(true);
  });

  it.each([
    ["a private address", "http://127.0.0.1:1/x.png"],
    ["the address of a cloud's secrets", "http://169.254.169.254/latest/meta-data"],
    ["another protocol", "file:///etc/passwd"],
    ["a page that is not there", "WEB/none"],
    ["redirects without end", "WEB/loop"],
    ["data that is empty", "data:image/png;base64,"],
    ["data that is not in base64", "data:text/plain,hello"],
  ])("refuse %s", async (_, url) => {
    const part = { type: "image_url", image_url: { url: url.replace("WEB", webUrl) } } as const;
    await expect(chat([part])).rejects.toMatchObject({ status: 400 });
    expect(requests).toEqual([]);
  });

  it("refuse what no agent follows, and say what to do", async () => {
    const text = [{ type: "text", text: "hi" }] as OpenAI.ChatCompletionContentPart[];
    for (const [more, message] of [
      [{ top_p: 0.5 }, "top_p is not supported"],
      [{ seed: 1 }, "seed is not supported"],
      [{ model: "strict", temperature: 0 }, 'The profile "strict" does not allow temperature. Leave it out, or add'],
      [{ model: "strict", response_format: { type: "json_object" } }, "does not allow response_format"],
      [{ temperature: 7 }, "from 0 to 2"],
    ] as const) {
      await expect(chat(text, more), message).rejects.toMatchObject({
        status: 400,
        message: expect.stringContaining(message),
      });
    }
    await chat(text, { tools: [], top_p: 1, frequency_penalty: 0, n: 1 });
  });

  it("follow temperature and response_format", async () => {
    const schema = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
    const response_format = { type: "json_schema", json_schema: { name: "x", schema } };
    answer = '{"city":"Rome"}';
    const text = [{ type: "text", text: "where?" }] as OpenAI.ChatCompletionContentPart[];
    expect((await chat(text, { response_format, temperature: 0.3 })).choices[0]?.message.content).toBe(answer);
    expect(requests.at(-1)).toMatchObject({ temperature: 0.3, system: expect.stringContaining('"city"') });
    answer = '{"town":"Rome"}';
    await expect(chat(text, { response_format })).rejects.toMatchObject({ status: 502, code: "invalid_output" });
  });
});

describe("responses", () => {
  it("take input_image and input_file, also by the id of an upload", async () => {
    const upload = await kit.ask({
      method: "POST",
      path: "/api/files?name=note.txt",
      body: "the note",
      headers: { "content-type": "text/plain" },
    });
    const content = [
      { type: "input_text", text: "look" },
      { type: "input_image", detail: "auto", image_url: dataUrl(png, "image/png") },
      { type: "input_file", file_id: upload.json.id },
      { type: "input_file", filename: "a.txt", file_data: dataUrl(Buffer.from("inline words"), "text/plain") },
    ];
    const response = await openai.responses.create({ model: "main", input: [{ role: "user", content }] } as never);
    expect((response as OpenAI.Responses.Response).output_text).toBe("I see.");
    expect(shown()).toContainEqual(image());
    expect(JSON.stringify(shown())).toMatch(/the note.*inline words/s);
  });

  it("continue with previous_response_id, whole and as a stream", async () => {
    const first = await openai.responses.create({ model: "main", input: "my name is Ann" });
    const second = await openai.responses.create({ model: "main", input: "who am I?", previous_response_id: first.id });
    expect(second.previous_response_id).toBe(first.id);
    expect(JSON.stringify(requests.at(-1)?.messages)).toContain("my name is Ann");
    const stream = openai.responses.stream({ model: "main", input: "sure?", previous_response_id: second.id });
    for await (const _ of stream);
    expect((await stream.finalResponse()).output_text).toBe("I see.");
    expect(JSON.stringify(requests.at(-1)?.messages)).toContain("who am I?");
  });

  it("do not continue another person's conversation, nor one that does not exist", async () => {
    const mine = await openai.responses.create({ model: "main", input: "secret" });
    const body = { name: "t", scopes: ["chat"], person: "ann" };
    const ann = clientWith((await kit.ask({ method: "POST", path: "/api/tokens", body })).json.token as string);
    for (const previous_response_id of [mine.id, "resp_x_1", "nonsense"]) {
      const asked = ann.responses.create({ model: "main", input: "go on", previous_response_id });
      await expect(asked).rejects.toMatchObject({ status: 404, code: "response_not_found" });
    }
  });
});
