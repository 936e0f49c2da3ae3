import { describe, expect, it } from "vitest";
import { gate } from "../../../../test/kit/gate.ts";
import { lastText, type Script } from "../../../../test/kit/model.ts";
import { dieAt } from "../../../../test/kit/store.ts";
import type { AgentId } from "../../../core/ids.ts";
import type { Change } from "../../../core/store/change.ts";
import { openTestTools, permanent } from "./agents.test-kit.ts";

const CONFIG = `{ agentToAgent: { write: ["any"] } }`;

/** "ask NAME: words" asks; a tool's answer is repeated; anything else is answered. `hold` keeps one answer back. */
const asking =
  (hold: (words: string) => Promise<unknown> | undefined = () => undefined): Script =>
  async ({ request }) => {
    if (request.messages.at(-1)?.role === "tool") return `I heard ${compact(lastText(request, "tool"))}`;
    const words = lastText(request).replace(/<\/?system_message[^>]*>/g, "");
    const match = /^ask (\S+)(?: within (\d+))?: (.*)$/s.exec(words);
    if (match) {
      const [, sessionKey, timeoutSeconds, message] = match;
      const given = { sessionKey, message, ...(timeoutSeconds ? { timeoutSeconds: Number(timeoutSeconds) } : {}) };
      return { call: [{ id: `to-${sessionKey}`, name: "sessions_send", with: given }] };
    }
    await hold(words);
    return `yes: ${words}`;
  };
const compact = (json: string): string => {
  const { status, reply, error } = JSON.parse(json);
  return [status, reply, error].filter((part) => part !== undefined).join(" ");
};
const LANES = { main: 1, subagent: 1, cron: 1, nested: 1 };

describe("sessions_send", () => {
  it("waits for the answer, sends nothing outside, and leaves no wait behind", async () => {
    const kit = await openTestTools({ config: CONFIG, engine: { script: asking(), settings: { lanes: LANES } } });
    const { engine } = kit;
    const clerk = await kit.make(permanent("clerk"));
    await engine.tell("ask clerk: is it open?");
    expect(engine.shown()).toEqual(["I heard ok yes: is it open?"]);
    expect(await engine.states(clerk.id)).toEqual(["answered"]);
    expect(await engine.store.waits({ limit: 10 })).toEqual([]);
    const ann = await engine.agentId();
    const tag = `<system_message origin="${ann}">is it open?</system_message>`;
    expect((await engine.transcript(clerk.id))[0]).toBe(`user: ${tag}`);
  });

  it("ends its wait with the commit of its result, while the run continues", async () => {
    const seen: unknown[] = [];
    const kit = await openTestTools({
      config: CONFIG,
      engine: {
        script: async (call) => {
          if (lastText(call.request, "tool").startsWith("{")) return { call: [{ name: "look" }] };
          return call.request.messages.at(-1)?.role === "tool" ? "done" : asking()(call);
        },
        tools: { look: { execute: async () => `${seen.push(await kit.engine.store.waits({ limit: 10 }))}` } },
      },
    });
    await kit.make(permanent("clerk"));
    await kit.engine.tell("ask clerk: is it open?");
    expect([kit.engine.shown(), seen]).toEqual([["done"], [[]]]);
  });

  it("does not wait with a timeout of 0, and the message is committed once with its result", async () => {
    const kit = await openTestTools({ config: CONFIG, engine: { script: asking() } });
    const { engine } = kit;
    const clerk = await kit.make(permanent("clerk"));
    engine.onCommit = dieAt("result", "before");
    await engine.tell("ask clerk within 0: is it open?");
    expect(await engine.states(clerk.id)).toEqual([]);
    await engine.restart();
    expect(engine.shown()).toEqual(["I heard accepted"]);
    expect(await engine.states(clerk.id)).toEqual(["answered"]);
  });

  it("gives up after its timeout; the message is still answered", async () => {
    const door = gate();
    const kit = await openTestTools({ config: CONFIG, engine: { script: asking(() => door.promise) } });
    const { engine } = kit;
    const clerk = await kit.make(permanent("clerk"));
    await engine.tell("ask clerk within 5: is it open?");
    await engine.advance(5_000);
    expect(engine.shown()).toEqual([
      "I heard timeout No answer within 5 seconds. The message stays accepted; nothing waits for its answer any more.",
    ]);
    door.open();
    await engine.settle();
    expect(await engine.states(clerk.id)).toEqual(["answered"]);
    expect(await engine.store.waits({ limit: 10 })).toEqual([]);
  });

  it("is refused if it would close a cycle over any number of agents, and posts nothing", async () => {
    const kit = await openTestTools({ config: CONFIG, engine: { script: asking(), settings: { lanes: LANES } } });
    const { engine } = kit;
    const [a, b, c] = await Promise.all(["a", "b", "c"].map((name) => kit.make(permanent(name))));
    await engine.tell("ask a: ask b: ask c: ask a: hello");
    expect(engine.shown()[0]).toMatch(
      /^I heard ok I heard ok I heard ok I heard error Agent \S+ cannot wait for \S+: \S+ is waiting for it\. Send the message without waiting for its answer\.$/,
    );
    for (const agent of [a, b, c]) expect(await engine.states(agent?.id)).toEqual(["answered"]);
    await engine.tell("ask nobody: hi");
    expect(engine.shown()[1]).toMatch(/^I heard error Agent not found: nobody/);
  });

  it.each(["full", "unknown-lost", "unknown-applied"] as const)(
    "asks once, even if the store is %s for a moment",
    async (onCommit) => {
      const kit = await openTestTools({ config: CONFIG, engine: { script: asking() } });
      const { engine } = kit;
      const clerk = await kit.make(permanent("clerk"));
      engine.onCommit = (change, nth) => (change.site === "accept" && (nth === 2 || nth === 3) ? onCommit : "go");
      await engine.tell("ask clerk: is it open?");
      await engine.advance(2_000);
      expect(engine.shown()).toEqual(["I heard ok yes: is it open?"]);
      expect(await engine.states(clerk.id)).toEqual(["answered"]);
    },
  );

  it("reports an unknown outcome while an earlier try may still arrive, and refuses that try after the run has continued", async () => {
    const kit = await openTestTools({ config: CONFIG, engine: { script: asking() } });
    const { engine } = kit;
    const [a] = await Promise.all(["a", "b"].map((name) => kit.make(permanent(name))));
    const late: Change[] = [];
    // The fourth commit closes the cycle: its outcome is unknown, so it is tried again.
    engine.onCommit = (change, nth) =>
      change.site === "accept" && nth === 4 && late.push(change) > 0 ? "unknown-lost" : "go";
    engine.script = async (call) => {
      const heard = lastText(call.request, "tool");
      return heard.startsWith("the outcome is unknown") ? `I heard ${heard}` : asking()(call);
    };
    await engine.tell("ask a: ask b: ask a: hello");
    await engine.advance(2_000);
    expect(engine.shown()).toEqual(["I heard ok I heard ok I heard the outcome is unknown"]);
    expect(late).toHaveLength(1);
    expect(await engine.store.commit(late[0] as Change)).toMatchObject({ ok: false });
    expect(await engine.states(a?.id)).toEqual(["answered"]);
  });

  it("returns how the other run ended if it did not answer", async () => {
    const kit = await openTestTools({
      config: CONFIG,
      engine: {
        script: async (call) => {
          if (/>break</.test(lastText(call.request)))
            return { error: { class: "request", message: "no" }, stopReason: "error" };
          return asking()(call);
        },
      },
    });
    await kit.make(permanent("clerk"));
    await kit.engine.tell("ask clerk: break");
    expect(kit.engine.shown()[0]).toBe("I heard error Inference failed. no");
  });

  it.each([
    ["the question is accepted", "accept"],
    ["the tool call is committed", "think"],
    ["the answer is committed", "rest"],
  ] as const)("continues with the same message after a kill when %s", async (_, site) => {
    const kit = await openTestTools({ config: CONFIG, engine: { script: asking() } });
    const { engine } = kit;
    const clerk = await kit.make(permanent("clerk"));
    // The first commit of the site is the person's own message, the asker's thought, or the clerk's answer.
    engine.onCommit = dieAt(site, "after", site === "accept" ? 2 : 1);
    await engine.tell("ask clerk: is it open?");
    expect(engine.alive).toBe(false);
    await engine.restart();
    await engine.advance(2_000);
    expect(engine.shown()).toEqual(["I heard ok yes: is it open?"]);
    expect(await engine.states(clerk.id)).toEqual(["answered"]);
    expect((await engine.runs()).map(({ outcome }) => outcome)).toEqual(["ok"]);
    expect(await engine.store.waits({ limit: 10 })).toEqual([]);
  });

  it("keeps its timeout over restarts", async () => {
    const door = gate();
    const kit = await openTestTools({ config: CONFIG, engine: { script: asking(() => door.promise) } });
    const { engine } = kit;
    await kit.make(permanent("clerk"));
    await engine.tell("ask clerk within 10: is it open?");
    await engine.advance(6_000);
    await engine.restart();
    await engine.advance(3_900);
    expect(engine.shown()).toEqual([]);
    await engine.advance(100);
    expect(engine.shown()[0]).toMatch(/^I heard timeout/);
  });

  it("gets an answer that came in time, even if it returns late", async () => {
    const kit = await openTestTools({ config: CONFIG, engine: { script: asking() } });
    const { engine } = kit;
    await kit.make(permanent("clerk"));
    engine.onCommit = dieAt("rest");
    await engine.tell("ask clerk within 5: is it open?");
    expect(engine.alive).toBe(false);
    await engine.clock.advance(60_000);
    await engine.restart();
    await engine.advance(2_000);
    expect(engine.shown()).toEqual(["I heard ok yes: is it open?"]);
  });

  it("is suspended by a drain at once, keeps its wait, and continues after the restart without counting an attempt", async () => {
    const door = gate();
    const kit = await openTestTools({ config: CONFIG, engine: { script: asking(() => door.promise) } });
    const { engine } = kit;
    const clerk = await kit.make(permanent("clerk"));
    await engine.tell("ask clerk within 600: is it open?");
    const drained = engine.system.drain();
    await engine.advance(6_000);
    await drained;
    const ann = await engine.agentId();
    expect(await engine.store.waits({ limit: 10 })).toMatchObject([{ from: ann, to: clerk.id }]);
    engine.script = asking();
    await engine.restart();
    await engine.advance(2_000);
    expect(engine.shown()).toEqual(["I heard ok yes: is it open?"]);
    expect((await engine.runs())[0]).toMatchObject({ outcome: "ok", attempt: 1 });
  });

  it("keeps its wait over a restart: the cycle is still refused", async () => {
    const door = gate();
    const kit = await openTestTools({ config: CONFIG, engine: { script: asking(() => door.promise) } });
    const { engine } = kit;
    await kit.make(permanent("clerk"));
    await engine.tell("ask clerk within 600: wait here");
    const ann = await engine.agentId();
    const [edge] = await engine.store.waits({ limit: 10 });
    await engine.restart();
    expect(await engine.store.waits({ limit: 10 })).toMatchObject([{ ...edge, since: expect.any(Number) }]);
    const [run] = await engine.store.runs(edge?.to as AgentId, { limit: 1 });
    const back = {
      op: "wait.begin",
      id: "back",
      from: edge?.to as AgentId,
      to: { agentId: ann },
      runId: run?.id as never,
    } as const;
    await expect(kit.commit([back])).rejects.toThrow("cycle");
  });

  it("waits for the same agent, even if another has the name after a restart", async () => {
    const door = gate();
    let asked: AgentId | undefined;
    const kit = await openTestTools({
      config: CONFIG,
      engine: {
        script: async (call) => {
          if (call.request.messages.at(-1)?.role === "tool") return lastText(call.request, "tool");
          if (lastText(call.request) === "ask") return { call: [{ name: "ask" }] };
          await door.promise;
          return "it is me";
        },
        tools: {
          ask: {
            execute: async (_input, { agentId: from }) => {
              const posting = {
                to: { agentId: asked as AgentId },
                body: { kind: "system", text: "who?" } as const,
                key: "k",
              };
              const { result } = await kit.engine.system.postAndAwait(posting, {
                from,
                edge: "e",
                timeoutMs: 60_000,
              });
              return result?.agentId ?? "nobody";
            },
          },
        },
      },
    });
    const { engine } = kit;
    const [first, second] = [await kit.make(permanent("first")), await kit.make(permanent("second"))];
    asked = first.id;
    await engine.tell("ask");
    asked = second.id;
    await engine.restart();
    expect(await engine.store.waits({ limit: 5 })).toMatchObject([{ id: "e", to: first.id }]);
    expect(await engine.states(second.id)).toEqual([]);
    door.open();
    await engine.settle();
    await engine.advance(2_000);
    expect(engine.shown()).toEqual([first.id]);
  });

  it("ends when its run is aborted", async () => {
    const door = gate();
    const kit = await openTestTools({ config: CONFIG, engine: { script: asking(() => door.promise) } });
    const { engine } = kit;
    await kit.make(permanent("clerk"));
    await engine.tell("ask clerk within 600: is it open?");
    const ann = await engine.agentId();
    const run = engine.system.runs.live(ann);
    await engine.system.runs.abort(run?.id as never);
    await engine.settle();
    expect((await engine.runs(ann)).map(({ outcome }) => outcome)).toEqual(["aborted"]);
    expect(await engine.store.waits({ limit: 10 })).toEqual([]);
  });

  it("neither fails the waiting run nor blocks others when the node is killed again and again", async () => {
    const door = gate();
    const kit = await openTestTools({ config: CONFIG, engine: { script: asking(() => door.promise) } });
    const { engine } = kit;
    for (const name of ["clerk", "guard"]) await kit.make(permanent(name));
    await engine.tell("ask clerk within 600: ask guard within 600: is it open?");
    for (let n = 0; n < 6; n++) {
      await engine.restart();
      await engine.advance(1_000);
    }
    engine.script = asking();
    await engine.restart();
    await engine.advance(60_000);
    // The run that was interrupted each time is a suspect. It is tried, answers, and so do those that wait for it (M13).
    expect(engine.shown()).toEqual(["I heard ok I heard ok yes: is it open?"]);
  });
});

describe("agents that only answer each other", () => {
  it("end at the limit of hops", async () => {
    const kit = await openTestTools({
      config: `{ agentToAgent: { write: ["any"] } }`,
      engine: {
        script: ({ request }) => {
          if (request.messages.at(-1)?.role === "tool") return "NO_REPLY";
          const to = lastText(request).includes("ping") ? "pong" : "ping";
          return { call: [{ name: "send_agent_message", with: { text: to, agentId: to } }] };
        },
      },
    });
    const { engine } = kit;
    const [ping, pong] = [await kit.make(permanent("ping")), await kit.make(permanent("pong"))];
    await engine.tell("start");
    await engine.advance(1_000);
    const counts = await Promise.all([ping, pong].map(async ({ id }) => (await engine.states(id)).length));
    expect((counts[0] as number) + (counts[1] as number)).toBe(32);
    const transcripts = (await engine.transcript(pong.id)).concat(await engine.transcript(ping.id));
    expect(transcripts.filter((line) => line.includes("answered each other 32 times in a row"))).toHaveLength(1);
  });
});
