import { type } from "arktype";
import * as v from "valibot";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { lastText, modelResult, type Reply } from "../../../test/kit/model.ts";
import type { Connector, ConnectorHost } from "../../core/ports/connector.ts";
import type { Model } from "../../core/ports/model.ts";
import type { Tool, ToolContext } from "../../core/ports/tool.ts";
import type { StandardSchema } from "../client/standard-schema.ts";
import { toolOf } from "./ai-sdk-tool.ts";
import { createRookery, type Rookery } from "./create-rookery.ts";
import { defineConnector } from "./define-connector.ts";
import { defineTool } from "./define-tool.ts";

/** A schema of no library: what Standard Schema asks for, and nothing else. */
const city: StandardSchema<{ city: string }> = {
  "~standard": {
    version: 1,
    vendor: "test",
    validate: async (value) =>
      typeof (value as { city?: unknown }).city === "string"
        ? { value: value as { city: string } }
        : { issues: [{ message: "is not a text", path: [{ key: "city" }] }] },
    jsonSchema: { input: () => ({ type: "object", properties: { city: { type: "string" } } }) },
  },
};

const progress: string[] = [];
const context = {
  callId: "c1",
  progress: (text: string) => progress.push(text),
  signal: new AbortController().signal,
} as unknown as ToolContext;
const run = async (tool: Tool, input: unknown) => tool.execute(await tool.input.parseAsync(input), context);
const textOf = async (tool: Tool, input: unknown): Promise<string> => {
  const [block] = (await run(tool, input)).content;
  return block?.type === "text" ? block.text : "";
};
const about = { name: "weather", description: "Weather in a city" };

describe("defineTool", () => {
  it("takes a zod schema, including one that transforms, and shows the model its input", async () => {
    const input = z.object({ days: z.string().transform(Number) });
    const tool = defineTool({ ...about, input, execute: ({ days }) => `${days + 1}` });
    expect(await textOf(tool, { days: "2" })).toBe("3");
    expect(tool.parameters).toMatchObject({ type: "object", properties: { days: { type: "string" } } });
  });

  it.each([
    ["zod", z.object({ city: z.string(), days: z.number().optional() })],
    ["arktype", type({ city: "string", "days?": "number" })],
    ["valibot", v.object({ city: v.string(), days: v.optional(v.number()) })],
  ])("takes a schema of %s as it is, and shows the model the same", async (_, input) => {
    const tool = defineTool({
      ...about,
      input: input as StandardSchema<{ city: string }>,
      execute: ({ city }) => city,
    });
    expect(tool.parameters).toMatchObject({
      type: "object",
      properties: { city: { type: "string" }, days: { type: "number" } },
      required: ["city"],
    });
    expect(await textOf(tool, { city: "Rome" })).toBe("Rome");
    expect((await tool.input.safeParseAsync({ city: 1 })).error?.issues[0]?.path).toEqual(["city"]);
  });

  it("shows the model what a schema of valibot says about its parts", () => {
    const input = v.strictObject({
      name: v.pipe(v.string(), v.minLength(2), v.maxLength(9), v.description("Who")),
      kind: v.picklist(["a", "b"]),
      size: v.nullable(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(5))),
      tags: v.array(v.union([v.literal("x"), v.boolean()])),
      more: v.optional(v.record(v.string(), v.unknown())),
    });
    expect(defineTool({ ...about, input, execute: () => "" }).parameters).toEqual({
      type: "object",
      properties: {
        name: { type: "string", minLength: 2, maxLength: 9, description: "Who" },
        kind: { enum: ["a", "b"] },
        size: { anyOf: [{ type: "integer", minimum: 1, maximum: 5 }, { type: "null" }] },
        tags: { type: "array", items: { anyOf: [{ const: "x" }, { type: "boolean" }] } },
        more: { type: "object", additionalProperties: {} },
      },
      required: ["name", "kind", "size", "tags"],
      additionalProperties: false,
    });
    const date = v.object({ at: v.date() });
    expect(() => defineTool({ ...about, input: date, execute: () => "" })).toThrow(/has no JSON Schema/);
  });

  it("takes any Standard Schema, and reports its issues with their paths", async () => {
    const tool = defineTool({ ...about, input: city, execute: (input) => `Sunny in ${input.city}` });
    expect(await textOf(tool, { city: "Rome" })).toBe("Sunny in Rome");
    const refused = await tool.input.safeParseAsync({ city: 1 });
    expect(refused.error?.issues).toMatchObject([{ message: "is not a text", path: ["city"] }]);
  });

  it("returns texts, blocks, values, and the last of what a generator gives", async () => {
    const returns = (execute: () => unknown) =>
      textOf(defineTool({ ...about, input: city, execute: execute as () => string }), { city: "" });
    expect(await returns(() => [{ type: "text", text: "a block" }])).toBe("a block");
    expect(await returns(() => ({ content: [{ type: "text", text: "whole" }] }))).toBe("whole");
    expect(await returns(() => ({ degrees: 20 }))).toBe('{"degrees":20}');
    expect(await returns(() => undefined)).toBe("Done.");
    async function* steps() {
      yield "asking";
      yield "reading";
      return "sunny";
    }
    expect(await returns(steps)).toBe("sunny");
    expect(progress.splice(0)).toEqual(["asking", "reading"]);
    expect(
      await returns(async function* () {
        yield { n: 1 };
        yield { n: 2 };
      }),
    ).toBe('{"n":2}');
  });

  it("is not repeated after a crash unless it says so", () => {
    expect(defineTool({ ...about, input: city, execute: () => "" }).replay).toBe("never");
    expect(defineTool({ ...about, input: city, execute: () => "", replay: "safe" }).replay).toBe("safe");
  });

  it.each([
    ["a name with a blank", { name: "the weather" }],
    ["a right that does not exist", { rights: ["root" as "exec"] }],
    ["an input that is no schema", { input: {} as typeof city }],
    ["an input that is a text", { input: z.string() as unknown as typeof city }],
    [
      "a schema that cannot describe itself",
      { input: { "~standard": { ...city["~standard"], jsonSchema: undefined } } },
    ],
  ])("refuses %s", (_, change) => {
    expect(() => defineTool({ ...about, input: city, execute: () => "", ...change })).toThrow(
      expect.objectContaining({ code: "invalid_input", hint: expect.any(String) }),
    );
  });
});

describe("a tool of the AI SDK", () => {
  it("runs with the call's id and signal", async () => {
    const tool = toolOf("weather", {
      description: "Weather",
      inputSchema: z.object({ city: z.string() }),
      execute: ({ city }: { city: string }, { toolCallId }: { toolCallId: string }) => ({ city, toolCallId }),
    });
    expect(await textOf(tool, { city: "Rome" })).toBe('{"city":"Rome","toolCallId":"c1"}');
  });

  it("may have a plain JSON Schema", async () => {
    const inputSchema = {
      jsonSchema: { type: "object" },
      validate: (value: unknown) =>
        value ? { success: true, value } : { success: false, error: new TypeError("empty") },
    };
    const tool = toolOf("plain", { inputSchema, execute: () => "ok" });
    expect(await textOf(tool, { a: 1 })).toBe("ok");
    expect((await tool.input.safeParseAsync(null)).error?.issues[0]?.message).toBe("empty");
  });

  it("is refused if it has nothing to execute", () => {
    expect(() => toolOf("x", { inputSchema: z.object({}) })).toThrow(/execute/);
  });
});

describe("tools and connectors of createRookery", () => {
  const sent: string[] = [];
  let host: ConnectorHost | undefined;
  const channel: Connector = defineConnector({
    name: "pager",
    async start(given) {
      host = given;
    },
    async send({ payload }) {
      if (payload.text?.includes("lost")) throw new TypeError("the line is dead");
      sent.push(payload.text ?? "");
    },
  });
  const weather = defineTool({
    ...about,
    input: z.object({ city: z.string() }),
    execute({ city }) {
      if (city === "Atlantis") throw new TypeError("there is no such city");
      return `Sunny in ${city}`;
    },
  });
  const model: Model = {
    async call(request) {
      const asked = /weather in (\w+)/.exec(lastText(request))?.[1];
      const reply: Reply =
        request.messages.at(-1)?.role === "tool"
          ? `It says: ${lastText(request, "tool")}`
          : asked
            ? { call: [{ name: "weather", with: { city: asked } }] }
            : `answer to ${lastText(request)}`;
      return modelResult(reply);
    },
  };
  const config = { owner: { accounts: ["pager:bob"] } };
  let rookery: Rookery;
  beforeAll(async () => {
    rookery = await createRookery({ home: "memory", model, tools: [weather], connectors: [channel], config });
  });
  afterAll(() => rookery.close());

  it("are called, and their errors are results", async () => {
    expect(await rookery.agent("ann").ask("weather in Rome")).toBe("It says: Sunny in Rome");
    expect(await rookery.agent("ann").ask("weather in Atlantis")).toContain("there is no such city");
  });

  it("take messages in and send answers out, and a send that throws is listed as unconfirmed", async () => {
    const message = {
      connector: "pager",
      userId: "bob",
      channelId: "bob",
      messageId: "1",
      text: "hello",
      delivery: { channel: "pager", to: "bob" },
    };
    expect((await host?.accept(message))?.status).toBe("accepted");
    expect((await host?.accept(message))?.status).toBe("duplicate");
    await rookery.settled();
    await host?.accept({ ...message, messageId: "2", text: "lost" });
    await rookery.settled();
    expect(sent).toEqual(["answer to hello"]);
    const { items } = await rookery.outbox.list({ state: "unconfirmed" });
    expect(items.map(({ reason }) => reason)).toEqual([expect.stringContaining("the line is dead")]);
  });

  it("tell a stranger how to be let in, and start no agent for them", async () => {
    const from = { connector: "pager", userId: "eve", channelId: "eve", delivery: { channel: "pager", to: "eve" } };
    const before = (await rookery.agents.list()).items.length;
    expect(await host?.accept({ ...from, messageId: "1", text: "hello" })).toEqual({ status: "refused" });
    expect(await host?.command({ ...from, messageId: "2", command: { name: "stop" } })).toEqual({ status: "refused" });
    await rookery.settled();
    expect(sent.splice(1)).toEqual([expect.stringContaining("I do not know you yet")]);
    expect((await rookery.agents.list()).items).toHaveLength(before);
    expect(host?.reading?.().commands).toBe(true);
  });

  it.each(["terminal", "api", "person"])(
    "refuses a plain connector that is called %s, whose people would not be asked who they are",
    async (name) => {
      const plain: Connector = {
        ...defineConnector({ name: "pager", start: async () => undefined, send: async () => undefined }),
        name,
      };
      await expect(createRookery({ home: "memory", connectors: [plain] })).rejects.toThrow(/without being let in/);
    },
  );

  it("refuses a message that a connector accepts for another one", async () => {
    let host: ConnectorHost | undefined;
    const pager = defineConnector({
      name: "pager",
      start: async (given) => {
        host = given;
      },
      send: async () => undefined,
    });
    await using other = await createRookery({ home: "memory", connectors: [pager] });
    const from = {
      connector: "terminal",
      userId: "owner",
      channelId: "owner",
      delivery: { channel: "pager", to: "x" },
    };
    const refused = /"pager" cannot accept a message of the connector "terminal"/;
    await expect(host?.accept({ ...from, messageId: "1", text: "hello" })).rejects.toThrow(refused);
    await expect(host?.command({ ...from, messageId: "2", command: { name: "stop" } })).rejects.toThrow(refused);
    expect((await other.agents.list()).items).toEqual([]);
  });

  it("refuses a connector that cannot keep its word", () => {
    const definition = { name: "pager", start: async () => undefined, send: async () => undefined };
    expect(() => defineConnector({ ...definition, name: "My Pager" })).toThrow(/cannot be called/);
    for (const name of ["terminal", "api", "person"])
      expect(() => defineConnector({ ...definition, name })).toThrow(/without being let in/);
    expect(() => defineConnector({ ...definition, sendingClass: "reconcilable" })).toThrow(/lookup/);
  });
});
