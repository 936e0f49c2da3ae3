/** Tools of the client, and responses that are continued more than once, with the official client. */
import OpenAI from "openai";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { lastText, modelResult } from "../../../../test/kit/model.ts";
import type { Model, ModelRequest } from "../../../core/ports/model.ts";
import { openTestGateway, ROOT_TOKEN, type TestGateway } from "../gateway.test-kit.ts";

const parameters = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
const WEATHER = {
  type: "function",
  function: { name: "weather", description: "Weather in a city", parameters },
} as const;
const WEATHER_ITEM = { type: "function", strict: false, ...WEATHER.function } as const;

let requests: ModelRequest[] = [];
/** Calls `weather` for each city in a question about the weather, and `session_status` too if the text says "both". */
const model: Model = {
  async call(request, _signal, onEvent) {
    requests.push(request);
    const last = request.messages.at(-1);
    const results = request.messages.flatMap(({ role, content }) => (role === "tool" ? content : []));
    if (last?.role === "tool") {
      return modelResult(`I know: ${results.map((block) => ("text" in block ? block.text : "")).join(" and ")}`);
    }
    const text = lastText(request);
    if (!text.startsWith("weather") || !request.tools.some(({ name }) => name === "weather"))
      return modelResult(`heard ${text}`);
    onEvent({ type: "text", delta: "Let me ask." });
    const cities = text
      .replace(/weather|both/g, "")
      .trim()
      .split(" ");
    const call = [
      ...cities.map((city) => ({ name: "weather", with: { city } })),
      ...(text.includes("both") ? [{ name: "session_status", with: {} }] : []),
    ];
    return modelResult({ say: "Let me ask.", call });
  },
};

let kit: TestGateway;
let openai: OpenAI;
beforeAll(async () => {
  const config = { people: { records: { ann: {} } }, profiles: { strict: { request: [] } } };
  kit = await openTestGateway({ model, config });
  openai = clientWith(ROOT_TOKEN);
});
beforeEach(() => {
  requests = [];
});
afterAll(() => kit.close());

const clientWith = (apiKey: string): OpenAI => new OpenAI({ baseURL: `${kit.gateway.url}/v1`, apiKey, maxRetries: 0 });
type Messages = OpenAI.ChatCompletionMessageParam[];
const chat = (messages: Messages, more: object = {}, client = openai) =>
  client.chat.completions.create({ model: "main", messages, tools: [WEATHER], ...more, stream: false });
const user = (content: string): Messages[number] => ({ role: "user", content });
const resultOf = (call: { id: string } | undefined, content: string): Messages[number] => ({
  ...{ role: "tool", tool_call_id: call?.id ?? "", content },
});

describe("a tool of the client", () => {
  it("is called by the agent and executed by the client, whose results continue the same agent", async () => {
    const asked = await chat([user("weather Rome Oslo")]);
    const [choice] = asked.choices;
    expect(choice?.finish_reason).toBe("tool_calls");
    expect(choice?.message.content).toBe("Let me ask.");
    const calls = choice?.message.tool_calls ?? [];
    expect(calls.map((call) => call.type === "function" && [call.function.name, call.function.arguments])).toEqual([
      ["weather", '{"city":"Rome"}'],
      ["weather", '{"city":"Oslo"}'],
    ]);
    expect(requests[0]?.tools.at(-1)).toEqual({ name: "weather", description: "Weather in a city", parameters });
    // As every loop over this API does: the whole conversation, with the results behind the calls, and no `user`.
    const said = [user("weather Rome Oslo"), choice?.message as Messages[number]];
    const answered = await chat([...said, resultOf(calls[0], "sunny"), resultOf(calls[1], "snow")]);
    expect(answered.choices[0]?.message.content).toBe("I know: sunny and snow");
    expect(answered.id.split("-").slice(0, 2)).toEqual(asked.id.split("-").slice(0, 2));
    expect(requests.at(-1)?.messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "tool"]);
    // A new agent is told of calls and results in the conversation before.
    await chat([...said, resultOf(calls[0], "sunny"), { role: "assistant", content: "Sunny." }, user("thanks")]);
    expect(requests.at(-1)?.system).toMatch(/You called weather\(.*Rome.*Result of a tool: sunny.*You: Sunny\./s);
  });

  it("is streamed as the pieces of a call", async () => {
    const stream = openai.chat.completions.stream({
      model: "main",
      messages: [user("weather Rome")],
      tools: [WEATHER],
    });
    const final = await stream.finalChatCompletion();
    expect(final.choices[0]?.finish_reason).toBe("tool_calls");
    const [call] = final.choices[0]?.message.tool_calls ?? [];
    expect(call?.type === "function" && call.function).toMatchObject({ name: "weather", arguments: '{"city":"Rome"}' });
  });

  it("works with the runner of the client: it calls the function and sends the result by itself", async () => {
    const cities: string[] = [];
    const runner = openai.chat.completions.runTools({
      model: "main",
      messages: [user("weather Rome")],
      tools: [
        {
          type: "function",
          function: {
            ...WEATHER.function,
            parse: JSON.parse,
            function: ({ city }: { city: string }) => {
              cities.push(city);
              return "mild";
            },
          },
        },
      ],
    });
    expect(await runner.finalContent()).toBe("I know: mild");
    expect(cities).toEqual(["Rome"]);
  });

  it("works with responses: function_call items, and function_call_output with or without previous_response_id", async () => {
    for (const byId of [true, false]) {
      const asked = await openai.responses.create({ model: "main", input: "weather Rome", tools: [WEATHER_ITEM] });
      const call = asked.output.find((item) => item.type === "function_call");
      expect(call).toMatchObject({ name: "weather", arguments: '{"city":"Rome"}', status: "completed" });
      const output = { type: "function_call_output", call_id: call?.call_id ?? "", output: "fog" } as const;
      const input = byId ? [output] : [{ role: "user", content: "weather Rome" } as const, ...asked.output, output];
      const previous = byId ? asked.id : undefined;
      const next = { model: "main", input, previous_response_id: previous, tools: [WEATHER_ITEM] };
      const answered = (await openai.responses.create(next as never)) as OpenAI.Responses.Response;
      expect(answered.output_text).toBe("I know: fog");
    }
    const stream = openai.responses.stream({ model: "main", input: "weather Oslo", tools: [WEATHER_ITEM] });
    const types: string[] = [];
    for await (const event of stream) types.push(event.type);
    expect(types).toContain("response.function_call_arguments.done");
    expect((await stream.finalResponse()).output.map(({ type }) => type)).toEqual(["message", "function_call"]);
  });

  it("is called beside a tool of the agent, which the agent executes first", async () => {
    const asked = await chat([user("weather both Rome")]);
    const calls = asked.choices[0]?.message.tool_calls ?? [];
    expect(calls).toHaveLength(1);
    expect(asked.choices[0]?.message.content).toBe("Let me ask.");
    const answered = await chat([user("weather both Rome"), resultOf(calls[0], "rain")]);
    expect(answered.choices[0]?.message.content).toContain("rain");
    const { messages = [] } = requests.at(-1) ?? {};
    expect(messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "tool"]);
  });

  it("without a result is known to have none, and a later result goes back to its call", async () => {
    const asked = await chat([user("weather Rome")], { user: "ida" });
    const [call] = asked.choices[0]?.message.tool_calls ?? [];
    await chat([user("never mind")], { user: "ida", tools: undefined });
    expect(JSON.stringify(requests.at(-1)?.messages)).toContain("No result was recorded for this call.");
    const answered = await chat([resultOf(call, "late sun")], { user: "ida" });
    expect(answered.choices[0]?.message.content).toBe("I know: late sun");
    expect(JSON.stringify(requests.at(-1)?.messages)).not.toContain("never mind");
  });

  it("is refused where the profile does not allow it, and what no agent follows is refused clearly", async () => {
    const [call] = (await chat([user("weather Rome")])).choices[0]?.message.tool_calls ?? [];
    const twoCalls = (await chat([user("weather Rome Oslo")])).choices[0]?.message.tool_calls ?? [];
    const text = [user("weather Rome")];
    for (const [messages, more, code] of [
      [text, { model: "strict" }, "not_allowed"],
      [text, { tool_choice: "required" }, "unsupported"],
      [text, { parallel_tool_calls: false }, "unsupported"],
      [text, { tools: [{ type: "web_search" }] }, "unsupported"],
      [text, { tools: [WEATHER, WEATHER] }, "invalid_input"],
      [text, { tools: [{ type: "function", function: { name: "a b" } }] }, "invalid_input"],
      [text, { functions: [WEATHER.function] }, "unsupported"],
      [[resultOf({ id: "call_unknown" }, "x")], {}, "unknown_call"],
      [[resultOf({ id: `call_${"0".repeat(32)}_0` }, "x")], {}, "unknown_call"],
      [[resultOf(call, "x"), resultOf(call, "y")], {}, "unknown_call"],
      [[resultOf(twoCalls[0], "x")], {}, "missing_result"],
    ] as const) {
      await expect(chat([...messages], more), JSON.stringify([messages, more])).rejects.toMatchObject({
        status: 400,
        code,
      });
    }
    const body = { name: "t", scopes: ["chat"], person: "ann" };
    const ann = clientWith((await kit.ask({ method: "POST", path: "/api/tokens", body })).json.token as string);
    await expect(chat([resultOf(call, "stolen")], {}, ann)).rejects.toMatchObject({
      status: 400,
      code: "unknown_call",
    });
  });
});

describe("a response", () => {
  const ask = (input: string, previous_response_id?: string) =>
    openai.responses.create({ model: "main", input, previous_response_id });
  const heard = (): string => JSON.stringify(requests.at(-1)?.messages.map(({ content }) => content));

  it("is continued more than once: each time from itself, as a branch", async () => {
    const first = await ask("one");
    const left = await ask("left", first.id);
    const right = await ask("right", first.id);
    expect(heard()).toContain("one");
    expect(heard()).not.toContain("left");
    await ask("further left", left.id);
    expect(heard()).toMatch(/one.*heard one.*left.*heard left.*further left/s);
    expect(heard()).not.toContain("right");
    await ask("further right", right.id);
    expect(heard()).toMatch(/one.*right.*further right/s);
    expect(heard()).not.toContain("left");
    // Two at the same time.
    await Promise.all([ask("twin a", first.id), ask("twin b", first.id)]);
    const twins = requests.slice(-2).map(({ messages }) => JSON.stringify(messages));
    expect(twins.filter((text) => text.includes("twin a") && text.includes("twin b"))).toEqual([]);
  });

  it("of an earlier session is answered 409", async () => {
    const first = await ask("one");
    const [, agent = ""] = first.id.split("_");
    await kit.ask({ method: "POST", path: `/api/agents/${agent}/reset`, body: {} });
    await kit.node.agents.settled();
    await expect(ask("x", first.id)).rejects.toMatchObject({ status: 409, code: "conversation_moved_on" });
  });
});
