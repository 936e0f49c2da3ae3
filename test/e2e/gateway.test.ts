import { once } from "node:events";
import { request } from "node:http";
import { connect } from "node:net";
import OpenAI from "openai";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { type CuttingProxy, cuttingProxy } from "./cutting-proxy.ts";
import { echo, type FakeModel, fakeModel, type ModelCall, type Served, serve, TOKEN } from "./serving.ts";
import { readEvents } from "./sse-client.ts";

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

const client = (port = served.port, more: object = {}) =>
  new OpenAI({ apiKey: TOKEN, baseURL: `http://127.0.0.1:${port}/v1`, ...more });
const said = (text: string) => [{ role: "user" as const, content: text }];
const api = async (path: string, init: { method?: string; body?: object; token?: string } = {}) => {
  const headers = { authorization: `Bearer ${init.token ?? TOKEN}`, "content-type": "application/json" };
  const response = await fetch(`${served.url}${path}`, {
    method: init.method ?? "GET",
    headers,
    body: init.body && JSON.stringify(init.body),
  });
  return (await response.json()) as unknown;
};
const agentOf = async (user: string) =>
  (await api(`/api/agents/${encodeURIComponent(`agent:main:api:dm:${user}`)}`)) as { id: string; runId: string | null };

describe("the official client", () => {
  it("gets an answer, and the agent remembers the conversation", async () => {
    const openai = client();
    const first = await openai.chat.completions.create({ model: "main", user: "ann", messages: said("one") });
    expect(first.choices[0]?.message.content).toBe("echo: one");
    expect(first.choices[0]?.finish_reason).toBe("stop");
    expect(first.usage).toMatchObject({ prompt_tokens: 10, completion_tokens: 5 });
    await openai.chat.completions.create({ model: "main", user: "ann", messages: said("two") });
    const texts = model.calls.at(-1)?.body.messages.map(({ role, content }) => [role, content]);
    expect(JSON.stringify(texts)).toContain("echo: one");
  });

  it("gets it in pieces, with usage where it asks for it", async () => {
    const stream = await client().chat.completions.create({
      model: "main",
      user: "bob",
      stream: true,
      stream_options: { include_usage: true },
      messages: said("a b c"),
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

  it("speaks the Responses API, whole and in pieces", async () => {
    const openai = client();
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

  it("lists models and is told what there is not", async () => {
    const openai = client();
    const ids = [];
    for await (const one of openai.models.list()) ids.push(one.id);
    expect(ids).toContain("main");
    await expect(openai.chat.completions.create({ model: "gpt-9", messages: said("x") })).rejects.toMatchObject({
      status: 404,
      code: "model_not_found",
    });
    await expect(client(served.port, { apiKey: "wrong", maxRetries: 0 }).models.list()).rejects.toMatchObject({
      status: 401,
    });
  });

  it("has a system message for this run only, and a fresh agent where it names no user", async () => {
    const openai = client();
    const system = { role: "system" as const, content: "Speak like a pirate." };
    await openai.chat.completions.create({ model: "main", user: "dan", messages: [system, ...said("one")] });
    expect(JSON.stringify(model.calls.at(-1)?.body)).toContain("pirate");
    await openai.chat.completions.create({ model: "main", user: "dan", messages: said("two") });
    expect(JSON.stringify(model.calls.at(-1)?.body)).not.toContain("pirate");
    const before = await openai.chat.completions.create({ model: "main", messages: said("alone") });
    const after = await openai.chat.completions.create({ model: "main", messages: said("alone again") });
    expect(JSON.stringify(model.calls.at(-1)?.body)).not.toContain("echo: alone");
    expect(before.id.split("-")[1]).not.toBe(after.id.split("-")[1]);
  });

  it("is understood when it sends the whole conversation to a fresh agent", async () => {
    const messages = [
      ...said("my name is Eve"),
      { role: "assistant" as const, content: "Hello Eve" },
      ...said("who am I?"),
    ];
    await client().chat.completions.create({ model: "main", messages });
    expect(JSON.stringify(model.calls.at(-1)?.body)).toContain("my name is Eve");
  });
});

describe("a connection that is cut after the message was accepted", () => {
  it("is joined by the client's own retry: one run, one answer", async () => {
    const through = client(proxy.port, { maxRetries: 3 });
    proxy.cut = 2;
    const answer = await through.chat.completions.create({ model: "main", user: "fay", messages: said("once") });
    expect(answer.choices[0]?.message.content).toBe("echo: once");
    expect(proxy.cut).toBe(0);
    expect(model.calls.map((call) => call.said)).toEqual(["once"]);
  });

  it("is joined while the run is still under way, and streams from where the run is", async () => {
    const held = Promise.withResolvers<ModelCall>();
    model.script = (call) => {
      call.say("echo: ");
      held.resolve(call);
    };
    const through = client(proxy.port, { maxRetries: 0 });
    const asked = { model: "main", user: "gus", messages: said("long") };
    const first = await through.chat.completions.create({ ...asked, stream: true });
    const call = await held.promise;
    const iterator = first[Symbol.asyncIterator]();
    await iterator.next();
    proxy.cutNow();
    await expect(
      (async () => {
        for await (const _ of { [Symbol.asyncIterator]: () => iterator });
      })(),
    ).rejects.toThrow();
    // Not marked as a retry: the earlier response was never finished.
    const second = await client().chat.completions.create({ ...asked, stream: true });
    call.say("long");
    call.end();
    let text = "";
    for await (const chunk of second) text += chunk.choices[0]?.delta.content ?? "";
    expect(text).toBe("echo: long");
    expect(model.calls).toHaveLength(1);
  });

  it("has the same run and result under an Idempotency-Key, and refuses another body", async () => {
    const openai = client();
    const options = { headers: { "Idempotency-Key": "k1" } };
    const one = await openai.chat.completions.create({ model: "main", user: "hal", messages: said("keyed") }, options);
    const two = await openai.chat.completions.create({ model: "main", user: "hal", messages: said("keyed") }, options);
    expect([two.id, two.choices[0]?.message.content]).toEqual([one.id, "echo: keyed"]);
    expect(model.calls).toHaveLength(1);
    const other = openai.chat.completions.create({ model: "main", user: "hal", messages: said("other") }, options);
    await expect(other).rejects.toMatchObject({ status: 422, code: "idempotency_key_reused" });
  });

  it("lets a person say the same thing twice", async () => {
    const openai = client();
    for (let n = 0; n < 2; n++)
      await openai.chat.completions.create({ model: "main", user: "ida", messages: said("yes") });
    expect(model.calls).toHaveLength(2);
  });
});

describe("a process that is killed", () => {
  it("gives the same answer to a retry after the restart: of a run that had ended, and of one that had not", async () => {
    const options = { headers: { "Idempotency-Key": "k2" } };
    const asked = { model: "main", user: "jim", messages: said("before") };
    const before = await client().chat.completions.create(asked, options);
    const begun = Promise.withResolvers<void>();
    model.script = () => begun.resolve();
    const lost = client(served.port, { maxRetries: 0 }).chat.completions.create({
      model: "main",
      user: "kim",
      messages: said("cut off"),
    });
    const failed = expect(lost).rejects.toThrow();
    await begun.promise;
    // Before the restart: the run that was cut off asks again as soon as the process is back.
    model.script = echo;
    served = await served.crash();
    await failed;
    const after = await client().chat.completions.create(asked, options);
    expect([after.id, after.choices[0]?.message.content]).toEqual([before.id, "echo: before"]);
    const again = await client().chat.completions.create({ model: "main", user: "kim", messages: said("cut off") });
    expect(again.choices[0]?.message.content).toBe("echo: cut off");
    const { id } = await agentOf("kim");
    const { messages } = (await api(`/api/agents/${id}/messages`)) as { messages: unknown[] };
    expect(messages).toHaveLength(1);
    // The proxy leads to the port, which stayed the same.
    expect(served.port).toBe(served.port);
  });

  it("sends whoever waits away when it is told to stop, and loses nothing", async () => {
    const own = await serve(model);
    const begun = Promise.withResolvers<void>();
    model.script = () => begun.resolve();
    const openai = new OpenAI({ apiKey: TOKEN, baseURL: `${own.url}/v1`, maxRetries: 0 });
    const waiting = openai.chat.completions.create({ model: "main", user: "lea", messages: said("wait") });
    const sent = expect(waiting).rejects.toMatchObject({ status: 503 });
    await begun.promise;
    own.process.kill("SIGTERM");
    await sent;
    await once(own.process, "exit");
    model.script = echo;
    const next = await serve(model, { home: own.home, port: own.port });
    const again = await new OpenAI({ apiKey: TOKEN, baseURL: `${next.url}/v1` }).chat.completions.create({
      model: "main",
      user: "lea",
      messages: said("wait"),
    });
    expect(again.choices[0]?.message.content).toBe("echo: wait");
    await next.stop();
  });
});

describe("streams of events", () => {
  it("go on where a dropped reader left, and tell what was committed meanwhile", async () => {
    const held = Promise.withResolvers<ModelCall>();
    model.script = (call) => {
      call.say("one ");
      held.resolve(call);
    };
    const answer = client().chat.completions.create({ model: "main", user: "mia", messages: said("count") });
    const call = await held.promise;
    const { id, runId } = await agentOf("mia");
    const path = `/api/runs/${runId}/events`;
    const first = await readEvents(served.port, path, { until: (event) => event.event === "delta" });
    const text = (events: typeof first) =>
      events.flatMap(({ event, data }) => (event === "delta" ? [(data as { text: string }).text] : [])).join("");
    expect(text(first)).toBe("one ");
    call.say("two ");
    const second = await readEvents(served.port, path, {
      lastEventId: first.at(-1)?.id,
      until: (event) => event.event === "delta",
    });
    expect(text(second)).toBe("two ");
    expect(second.map(({ event }) => event)).not.toContain("restart");
    call.say("three");
    call.end();
    await answer;
    const third = await readEvents(served.port, path, { lastEventId: second.at(-1)?.id });
    expect(third.at(-1)?.event).toBe("end");
    const entries = third.filter(({ event }) => event === "entry").map(({ data }) => JSON.stringify(data));
    expect(entries.join()).toContain("one two three");
    // Of the agent: everything since the first id, also from another process.
    served = await served.crash();
    const whole = await readEvents(served.port, `/api/agents/${id}/events`, {
      lastEventId: first.at(-1)?.id,
      until: ({ event, data }) => event === "entry" && JSON.stringify(data).includes("one two three"),
    });
    expect(whole.length).toBeGreaterThan(0);
  });

  it("of the tree say which agents begin and end, and what was missed", async () => {
    const tree = readEvents(served.port, "/api/events", { until: ({ event }) => event === "end" });
    await client().chat.completions.create({ model: "main", user: "ned", messages: said("x") });
    const events = await tree;
    expect(events.map(({ event }) => event)).toEqual(expect.arrayContaining(["tree", "start", "end"]));
    await client().chat.completions.create({ model: "main", user: "ned", messages: said("y") });
    const missed = await readEvents(served.port, "/api/events", {
      lastEventId: events.at(-1)?.id,
      until: ({ event }) => event === "end",
    });
    expect(missed.map(({ event }) => event).filter((event) => event !== "changed")).toEqual(["start", "end"]);
    const anew = await readEvents(served.port, "/api/events", {
      lastEventId: "00000000-1",
      until: ({ event }) => event === "tree",
    });
    expect(anew[0]?.event).toBe("tree");
  });

  it("end when their token is revoked, in the middle of an answer, and the run goes on", async () => {
    const minted = (await api("/api/tokens", {
      method: "POST",
      body: { name: "app", scopes: ["chat"] },
    })) as { token: string; record: { id: string } };
    const held = Promise.withResolvers<ModelCall>();
    model.script = (call) => {
      call.say("so far ");
      held.resolve(call);
    };
    const stream = await client(served.port, { apiKey: minted.token, maxRetries: 0 }).chat.completions.create({
      model: "main",
      user: "oda",
      stream: true,
      messages: said("tell"),
    });
    const call = await held.promise;
    const reading = (async () => {
      let text = "";
      for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? "";
      return text;
    })();
    const broken = expect(reading).rejects.toThrow();
    const { spawnSync } = await import("node:child_process");
    const { status } = spawnSync(process.execPath, [
      "src/main.ts",
      "tokens",
      "revoke",
      minted.record.id,
      "--home",
      served.home,
    ]);
    expect(status).toBe(0);
    await broken;
    call.say("and on");
    call.end();
    await expect(client(served.port, { apiKey: minted.token, maxRetries: 0 }).models.list()).rejects.toMatchObject({
      status: 401,
    });
    const { id } = await agentOf("oda");
    await expect.poll(async () => JSON.stringify(await api(`/api/agents/${id}/history`))).toContain("so far and on");
  });

  it("do not let a slow reader fill the memory, nor slow the others down", async () => {
    const piece = "x".repeat(64 * 1024);
    model.script = (call) => {
      if (!call.said.startsWith("flood")) return echo(call);
      for (let n = 0; n < 200; n++) call.say(piece);
      call.end();
    };
    const people = Array.from({ length: 5 }, (_, n) => `pia${n}`);
    const head = (body: string): string =>
      `POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${TOKEN}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`;
    const slow = people.map((user) => {
      const socket = connect(served.port, "127.0.0.1");
      socket.pause();
      const body = JSON.stringify({ model: "main", user, stream: true, messages: said("flood") });
      socket.write(head(body) + body);
      socket.on("error", () => undefined);
      return socket;
    });
    for (const user of people) {
      const { id } = await expect
        .poll(() => agentOf(user).catch(() => undefined), { timeout: 20_000 })
        .toHaveProperty("id")
        .then(() => agentOf(user));
      await expect
        .poll(async () => JSON.stringify(await api(`/api/agents/${id}/runs`)), { timeout: 20_000 })
        .toContain('"ended"');
    }
    const quick = await client().chat.completions.create({
      model: "main",
      user: "quinn",
      messages: said("still here?"),
    });
    expect(quick.choices[0]?.message.content).toBe("echo: still here?");
    const metrics = await (
      await fetch(`${served.url}/metrics`, { headers: { authorization: `Bearer ${TOKEN}` } })
    ).text();
    expect(metrics).toContain("rookery_streams_closed_slow_total");
    for (const socket of slow) socket.destroy();
  });
});

describe("two hundred conversations at once", () => {
  it("are each answered once, in order, and kept apart", async () => {
    const openai = client();
    const people = Array.from({ length: 200 }, (_, n) => `crowd${n}`);
    const answers = await Promise.all(
      people.map(async (user) => {
        const texts: (string | null | undefined)[] = [];
        for (const word of ["a", "b"]) {
          const one = await openai.chat.completions.create({ model: "main", user, messages: said(`${user} ${word}`) });
          texts.push(one.choices[0]?.message.content);
        }
        return texts;
      }),
    );
    expect(answers).toEqual(people.map((user) => [`echo: ${user} a`, `echo: ${user} b`]));
    expect(model.calls).toHaveLength(400);
  });

  it("stream at the same time", async () => {
    const openai = client();
    const held: ModelCall[] = [];
    const { promise, resolve } = Promise.withResolvers<void>();
    model.script = (call) => {
      call.say("echo: ");
      held.push(call);
      if (held.length === 32) resolve();
    };
    const streams = Array.from({ length: 200 }, async (_, n) => {
      const stream = await openai.chat.completions.create({
        model: "main",
        user: `flow${n}`,
        stream: true,
        messages: said(`s${n}`),
      });
      let text = "";
      for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? "";
      return text;
    });
    await promise;
    model.script = echo;
    for (const call of held) {
      call.say(call.said);
      call.end();
    }
    expect(await Promise.all(streams)).toEqual(Array.from({ length: 200 }, (_, n) => `echo: s${n}`));
  });
});

describe("a request that is broken", () => {
  it("is answered with a clear 4xx, whatever it is", async () => {
    const raw = (text: string) =>
      new Promise<string>((resolve) => {
        const socket = connect(served.port, "127.0.0.1", () => socket.end(text));
        let read = "";
        socket.on("data", (chunk) => {
          read += chunk.toString();
        });
        socket.on("close", () => resolve(read.split("\r\n")[0] ?? ""));
        socket.on("error", () => undefined);
      });
    expect(await raw("NONSENSE\r\n\r\n")).toMatch(/400/);
    expect(await raw("GET / HTTP/1.1\r\n\r\n")).toMatch(/400/);
    expect(await raw(`GET /healthz HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n`)).toMatch(/4\d\d/);
    const { status } = await new Promise<{ status: number }>((resolve, reject) => {
      const asked = request(
        {
          port: served.port,
          host: "127.0.0.1",
          path: "/v1/chat/completions",
          method: "POST",
          headers: {
            authorization: `Bearer ${TOKEN}`,
            "content-type": "application/json",
            "transfer-encoding": "chunked",
          },
        },
        (response) => {
          response.resume();
          resolve({ status: response.statusCode ?? 0 });
        },
      );
      asked.on("error", reject);
      for (let n = 0; n < 40; n++) asked.write("x".repeat(64 * 1024));
      asked.end();
    });
    expect(status).toBe(413);
  });
});
