import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { type CuttingProxy, cuttingProxy } from "./cutting-proxy.ts";
import {
  agentOfUser,
  api,
  echo,
  type FakeModel,
  fakeModel,
  type ModelCall,
  openaiClient,
  type Served,
  serve,
  userMessage,
} from "./serving.ts";

let model: FakeModel;
let served: Served;
let proxy: CuttingProxy;
beforeAll(async () => {
  model = await fakeModel();
  served = await serve(model);
  proxy = await cuttingProxy(served.port);
});
afterEach(() => {
  model.script = echo;
  model.calls.length = 0;
});
afterAll(async () => {
  await proxy.close();
  await served.stop();
  await model.close();
});

describe("the official client", () => {
  it("gets an answer, and the agent remembers the conversation", async () => {
    const openai = openaiClient(served.port);
    const first = await openai.chat.completions.create({ model: "main", user: "ann", messages: userMessage("one") });
    expect(first.choices[0]?.message.content).toBe("echo: one");
    expect(first.choices[0]?.finish_reason).toBe("stop");
    expect(first.usage).toMatchObject({ prompt_tokens: 10, completion_tokens: 5 });
    await openai.chat.completions.create({ model: "main", user: "ann", messages: userMessage("two") });
    const texts = model.calls.at(-1)?.body.messages.map(({ role, content }) => [role, content]);
    expect(JSON.stringify(texts)).toContain("echo: one");
  });

  it("gets a stream, with usage if it asks for it", async () => {
    const stream = await openaiClient(served.port).chat.completions.create({
      model: "main",
      user: "bob",
      stream: true,
      stream_options: { include_usage: true },
      messages: userMessage("a b c"),
    });
    const pieces: string[] = [];
    let usage: unknown;
    let finish: unknown;
    for await (const chunk of stream) {
      const [choice] = chunk.choices;
      if (choice?.delta.content) pieces.push(choice.delta.content);
      finish = choice?.finish_reason ?? finish;
      usage = chunk.usage ?? usage;
    }
    expect(pieces.join("")).toBe("echo: a b c");
    expect(pieces.length).toBeGreaterThan(2);
    expect(finish).toBe("stop");
    expect(usage).toMatchObject({ completion_tokens: 5 });
  });

  it("gets responses, whole and as a stream", async () => {
    const openai = openaiClient(served.port);
    const whole = await openai.responses.create({ model: "main", user: "cid", input: "hello" });
    expect(whole.output_text).toBe("echo: hello");
    expect(whole.status).toBe("completed");
    const stream = openai.responses.stream({ model: "main", user: "cid", input: [{ role: "user", content: "x y" }] });
    const types = new Set<string>();
    for await (const event of stream) types.add(event.type);
    expect((await stream.finalResponse()).output_text).toBe("echo: x y");
    expect([...types]).toEqual(
      expect.arrayContaining(["response.created", "response.output_text.delta", "response.completed"]),
    );
  });

  it("lists models, and gets clear errors for an unknown model and a wrong token", async () => {
    const openai = openaiClient(served.port);
    const ids = [];
    for await (const one of openai.models.list()) ids.push(one.id);
    expect(ids).toContain("main");
    await expect(openai.chat.completions.create({ model: "gpt-9", messages: userMessage("x") })).rejects.toMatchObject({
      status: 404,
      code: "model_not_found",
    });
    await expect(openaiClient(served.port, { apiKey: "wrong", maxRetries: 0 }).models.list()).rejects.toMatchObject({
      status: 401,
    });
  });

  it("sets a system message for one run only, and gets a new agent without a user", async () => {
    const openai = openaiClient(served.port);
    const system = { role: "system" as const, content: "Speak like a pirate." };
    await openai.chat.completions.create({ model: "main", user: "dan", messages: [system, ...userMessage("one")] });
    expect(JSON.stringify(model.calls.at(-1)?.body)).toContain("pirate");
    await openai.chat.completions.create({ model: "main", user: "dan", messages: userMessage("two") });
    expect(JSON.stringify(model.calls.at(-1)?.body)).not.toContain("pirate");
    const before = await openai.chat.completions.create({ model: "main", messages: userMessage("alone") });
    const after = await openai.chat.completions.create({ model: "main", messages: userMessage("alone again") });
    expect(JSON.stringify(model.calls.at(-1)?.body)).not.toContain("echo: alone");
    expect(before.id.split("-")[1]).not.toBe(after.id.split("-")[1]);
  });

  it("can send the whole conversation to a new agent", async () => {
    const messages = [
      ...userMessage("my name is Eve"),
      { role: "assistant" as const, content: "Hello Eve" },
      ...userMessage("who am I?"),
    ];
    await openaiClient(served.port).chat.completions.create({ model: "main", messages });
    expect(JSON.stringify(model.calls.at(-1)?.body)).toContain("my name is Eve");
  });
});

describe("a connection that breaks after the message was accepted", () => {
  it("is repaired by the client's own retry: one run, one answer", async () => {
    const through = openaiClient(proxy.port, { maxRetries: 3 });
    proxy.cut = 2;
    const answer = await through.chat.completions.create({ model: "main", user: "fay", messages: userMessage("once") });
    expect(answer.choices[0]?.message.content).toBe("echo: once");
    expect(proxy.cut).toBe(0);
    expect(model.calls.map((call) => call.prompt)).toEqual(["once"]);
  });

  it("is repaired by the same request while the run is in progress: it streams all of the answer", async () => {
    const pendingCall = Promise.withResolvers<ModelCall>();
    model.script = (call) => {
      call.say("echo: ");
      pendingCall.resolve(call);
    };
    const through = openaiClient(proxy.port, { maxRetries: 0 });
    const asked = { model: "main", user: "gus", messages: userMessage("long") };
    const first = await through.chat.completions.create({ ...asked, stream: true });
    const call = await pendingCall.promise;
    const iterator = first[Symbol.asyncIterator]();
    await iterator.next();
    proxy.cutNow();
    await expect(
      (async () => {
        for await (const _ of { [Symbol.asyncIterator]: () => iterator });
      })(),
    ).rejects.toThrow();
    // No retry header: the earlier response never ended.
    const second = await openaiClient(served.port).chat.completions.create({ ...asked, stream: true });
    call.say("long");
    call.end();
    let text = "";
    for await (const chunk of second) text += chunk.choices[0]?.delta.content ?? "";
    expect(text).toBe("echo: long");
    expect(model.calls).toHaveLength(1);
  });

  it("returns the same run and answer for an Idempotency-Key, and refuses another body", async () => {
    const openai = openaiClient(served.port);
    const options = { headers: { "Idempotency-Key": "k1" } };
    const one = await openai.chat.completions.create(
      { model: "main", user: "hal", messages: userMessage("keyed") },
      options,
    );
    const two = await openai.chat.completions.create(
      { model: "main", user: "hal", messages: userMessage("keyed") },
      options,
    );
    expect([two.id, two.choices[0]?.message.content]).toEqual([one.id, "echo: keyed"]);
    expect(model.calls).toHaveLength(1);
    const other = openai.chat.completions.create(
      { model: "main", user: "hal", messages: userMessage("other") },
      options,
    );
    await expect(other).rejects.toMatchObject({ status: 422, code: "idempotency_key_reused" });
  });

  it("does not join a finished request: a person can say the same thing twice", async () => {
    const openai = openaiClient(served.port);
    for (let n = 0; n < 2; n++)
      await openai.chat.completions.create({ model: "main", user: "ida", messages: userMessage("yes") });
    expect(model.calls).toHaveLength(2);
  });
});

describe("a process that ends", () => {
  it("by a kill returns the same answer to a retry after the restart, also if the run had not ended", async () => {
    const options = { headers: { "Idempotency-Key": "k2" } };
    const asked = { model: "main", user: "jim", messages: userMessage("before") };
    const before = await openaiClient(served.port).chat.completions.create(asked, options);
    const started = Promise.withResolvers<void>();
    model.script = () => started.resolve();
    const lost = openaiClient(served.port, { maxRetries: 0 }).chat.completions.create({
      model: "main",
      user: "kim",
      messages: userMessage("cut off"),
    });
    const failed = expect(lost).rejects.toThrow();
    await started.promise;
    // Set before the restart: the recovered run calls the model as soon as the process is back.
    model.script = echo;
    served = await served.crash();
    await failed;
    const after = await openaiClient(served.port).chat.completions.create(asked, options);
    expect([after.id, after.choices[0]?.message.content]).toEqual([before.id, "echo: before"]);
    const again = await openaiClient(served.port).chat.completions.create({
      model: "main",
      user: "kim",
      messages: userMessage("cut off"),
    });
    expect(again.choices[0]?.message.content).toBe("echo: cut off");
    const { id } = await agentOfUser(served, "kim");
    const { items: messages } = (await api(served, `/api/agents/${id}/messages`)) as { items: unknown[] };
    expect(messages).toHaveLength(1);
  });

  it("by SIGTERM answers waiting requests with 503, and loses nothing", async () => {
    const started = Promise.withResolvers<void>();
    model.script = () => started.resolve();
    const openai = openaiClient(served.port, { maxRetries: 0 });
    const waiting = openai.chat.completions.create({ model: "main", user: "lea", messages: userMessage("wait") });
    const refused = expect(waiting).rejects.toMatchObject({ status: 503 });
    await started.promise;
    model.script = echo;
    const restarted = served.restart();
    await refused;
    served = await restarted;
    const again = await openaiClient(served.port).chat.completions.create({
      model: "main",
      user: "lea",
      messages: userMessage("wait"),
    });
    expect(again.choices[0]?.message.content).toBe("echo: wait");
  });
});

/** More than the lane runs at once. */
const MANY = 40;
describe(`${MANY} conversations at once`, () => {
  it("are each answered once, in order, and stay separate", async () => {
    const openai = openaiClient(served.port);
    const people = Array.from({ length: MANY }, (_, n) => `many${n}`);
    const answers = await Promise.all(
      people.map(async (user) => {
        const texts: (string | null | undefined)[] = [];
        for (const word of ["a", "b"]) {
          const one = await openai.chat.completions.create({
            model: "main",
            user,
            messages: userMessage(`${user} ${word}`),
          });
          texts.push(one.choices[0]?.message.content);
        }
        return texts;
      }),
    );
    expect(answers).toEqual(people.map((user) => [`echo: ${user} a`, `echo: ${user} b`]));
    expect(model.calls).toHaveLength(2 * MANY);
  });

  it("stream at the same time", async () => {
    const openai = openaiClient(served.port);
    const pendingCalls: ModelCall[] = [];
    const { promise, resolve } = Promise.withResolvers<void>();
    model.script = (call) => {
      call.say("echo: ");
      pendingCalls.push(call);
      if (pendingCalls.length === 32) resolve();
    };
    const streams = Array.from({ length: MANY }, async (_, n) => {
      const stream = await openai.chat.completions.create({
        model: "main",
        user: `flow${n}`,
        stream: true,
        messages: userMessage(`s${n}`),
      });
      let text = "";
      for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? "";
      return text;
    });
    await promise;
    model.script = echo;
    for (const call of pendingCalls) {
      call.say(call.prompt);
      call.end();
    }
    expect(await Promise.all(streams)).toEqual(Array.from({ length: MANY }, (_, n) => `echo: s${n}`));
  });
});
