import { connect } from "node:net";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { runCommand } from "../../src/app/cli/cli.test-kit.ts";
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
  TOKEN,
  userMessage,
} from "./serving.ts";
import { readEvents } from "./sse-client.ts";

let model: FakeModel;
let served: Served;
beforeAll(async () => {
  model = await fakeModel();
  served = await serve(model);
});
afterEach(() => {
  model.script = echo;
  model.calls.length = 0;
});
afterAll(async () => {
  await served.stop();
  await model.close();
});

describe("a stream of events", () => {
  it("continues after Last-Event-ID, with the entries committed in between", async () => {
    const pendingCall = Promise.withResolvers<ModelCall>();
    model.script = (call) => {
      call.say("one ");
      pendingCall.resolve(call);
    };
    const answer = openaiClient(served.port).chat.completions.create({
      model: "main",
      user: "mia",
      messages: userMessage("count"),
    });
    const call = await pendingCall.promise;
    const { id, runId } = await agentOfUser(served, "mia");
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
    // The agent's stream continues after the first id, also in a new process.
    served = await served.crash();
    const whole = await readEvents(served.port, `/api/agents/${id}/events`, {
      lastEventId: first.at(-1)?.id,
      until: ({ event, data }) => event === "entry" && JSON.stringify(data).includes("one two three"),
    });
    expect(whole.length).toBeGreaterThan(0);
  });

  it("of the tree reports starts and ends of runs, and replays missed ones", async () => {
    const tree = readEvents(served.port, "/api/events", { until: ({ event }) => event === "end" });
    await openaiClient(served.port).chat.completions.create({ model: "main", user: "ned", messages: userMessage("x") });
    const events = await tree;
    expect(events.map(({ event }) => event)).toEqual(expect.arrayContaining(["tree", "start", "end"]));
    await openaiClient(served.port).chat.completions.create({ model: "main", user: "ned", messages: userMessage("y") });
    const missed = await readEvents(served.port, "/api/events", {
      lastEventId: events.at(-1)?.id,
      until: ({ event }) => event === "end",
    });
    expect(missed.map(({ event }) => event).filter((event) => event !== "changed")).toEqual(["start", "end"]);
    const unknown = await readEvents(served.port, "/api/events", {
      lastEventId: "00000000-1",
      until: ({ event }) => event === "tree",
    });
    expect(unknown[0]?.event).toBe("tree");
  });

  it("ends when its token is revoked, in the middle of an answer, and the run continues", async () => {
    const minted = (await api(served, "/api/tokens", {
      method: "POST",
      body: { name: "app", scopes: ["chat"] },
    })) as { token: string; record: { id: string } };
    const pendingCall = Promise.withResolvers<ModelCall>();
    model.script = (call) => {
      call.say("so far ");
      pendingCall.resolve(call);
    };
    const stream = await openaiClient(served.port, { apiKey: minted.token, maxRetries: 0 }).chat.completions.create({
      model: "main",
      user: "oda",
      stream: true,
      messages: userMessage("tell"),
    });
    const call = await pendingCall.promise;
    const reading = (async () => {
      let text = "";
      for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? "";
      return text;
    })();
    const broken = expect(reading).rejects.toThrow();
    const revoked = await runCommand(["people", "tokens", "remove", minted.record.id, "--home", served.home]);
    expect(revoked.code).toBe(0);
    await broken;
    call.say("and on");
    call.end();
    await expect(
      openaiClient(served.port, { apiKey: minted.token, maxRetries: 0 }).models.list(),
    ).rejects.toMatchObject({
      status: 401,
    });
    const { id } = await agentOfUser(served, "app%3aapp/oda");
    await expect
      .poll(async () => JSON.stringify(await api(served, `/api/agents/${id}/history`)))
      .toContain("so far and on");
  });

  it("to a slow reader is cut, and does not slow other requests down", async () => {
    const piece = "x".repeat(64 * 1024);
    model.script = (call) => {
      if (!call.prompt.startsWith("flood")) return echo(call);
      for (let n = 0; n < 15; n++) call.say(piece);
      call.end();
    };
    const ask = (content: string) =>
      openaiClient(served.port).chat.completions.create({
        model: "main",
        user: "pia",
        messages: userMessage(content),
      });
    await ask("hello");
    const { id } = await agentOfUser(served, "pia");
    const slow = connect(served.port, "127.0.0.1");
    slow.on("error", () => undefined);
    slow.pause();
    const head = `GET /api/agents/${id}/events HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${TOKEN}\r\n\r\n`;
    slow.write(head);
    // Together more than the buffers of both ends of the connection hold.
    for (let n = 0; n < 20; n++) {
      await ask(`flood ${n}`);
      await api(served, `/api/agents/${id}/reset`, { method: "POST", body: {} });
    }
    const quick = await openaiClient(served.port).chat.completions.create({
      model: "main",
      user: "quinn",
      messages: userMessage("still here?"),
    });
    expect(quick.choices[0]?.message.content).toBe("echo: still here?");
    const metrics = await (
      await fetch(`${served.url}/metrics`, { headers: { authorization: `Bearer ${TOKEN}` } })
    ).text();
    expect(metrics).toContain("rookery_streams_closed_slow_total");
    slow.destroy();
  });
});
