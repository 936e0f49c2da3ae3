import { describe, expect, it } from "vitest";
import type { AgentId } from "../../../core/ids.ts";
import type { Change } from "../../../core/store/change.ts";
import { dieAt, gate, lastText, type Script } from "../../../engine/agents/engine.test-kit.ts";
import { openFlock, permanent } from "./agents.test-kit.ts";

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
  it("waits for the answer, tells nobody outside of it, and leaves no wait behind", async () => {
    const flock = await openFlock({ config: CONFIG, nest: { script: asking(), system: { lanes: LANES } } });
    const { nest } = flock;
    const clerk = await flock.make(permanent("clerk"));
    await nest.tell("ask clerk: is it open?");
    expect(nest.shown()).toEqual(["I heard ok yes: is it open?"]);
    expect(await nest.states(clerk.id)).toEqual(["answered"]);
    expect(await nest.store.waits({ limit: 10 })).toEqual([]);
    const ann = await nest.agentId();
    const tag = `<system_message origin="${ann}">is it open?</system_message>`;
    expect((await nest.transcript(clerk.id))[0]).toBe(`user: ${tag}`);
  });

  it("no longer counts as waiting once its result is kept, while the run goes on", async () => {
    const seen: unknown[] = [];
    const flock = await openFlock({
      config: CONFIG,
      nest: {
        script: async (call) => {
          if (lastText(call.request, "tool").startsWith("{")) return { call: [{ name: "look" }] };
          return call.request.messages.at(-1)?.role === "tool" ? "done" : asking()(call);
        },
        tools: { look: { execute: async () => `${seen.push(await flock.nest.store.waits({ limit: 10 }))}` } },
      },
    });
    await flock.make(permanent("clerk"));
    await flock.nest.tell("ask clerk: is it open?");
    expect([flock.nest.shown(), seen]).toEqual([["done"], [[]]]);
  });

  it("does not wait where it is told not to, and the message is sent once with its result", async () => {
    const flock = await openFlock({ config: CONFIG, nest: { script: asking() } });
    const { nest } = flock;
    const clerk = await flock.make(permanent("clerk"));
    nest.fate = dieAt("result", "before");
    await nest.tell("ask clerk within 0: is it open?");
    expect(await nest.states(clerk.id)).toEqual([]);
    await nest.restart();
    expect(nest.shown()).toEqual(["I heard accepted"]);
    expect(await nest.states(clerk.id)).toEqual(["answered"]);
  });

  it("gives up when its time is up; the message is answered all the same", async () => {
    const door = gate();
    const flock = await openFlock({ config: CONFIG, nest: { script: asking(() => door.promise) } });
    const { nest } = flock;
    const clerk = await flock.make(permanent("clerk"));
    await nest.tell("ask clerk within 5: is it open?");
    await nest.advance(5_000);
    expect(nest.shown()).toEqual([
      "I heard timeout No answer within 5 seconds. The message stays accepted; its answer is not waited for any more.",
    ]);
    door.open();
    await nest.settle();
    expect(await nest.states(clerk.id)).toEqual(["answered"]);
    expect(await nest.store.waits({ limit: 10 })).toEqual([]);
  });

  it("is refused where it would close a circle, over whatever agents, with nothing posted", async () => {
    const flock = await openFlock({ config: CONFIG, nest: { script: asking(), system: { lanes: LANES } } });
    const { nest } = flock;
    const [a, b, c] = await Promise.all(["a", "b", "c"].map((name) => flock.make(permanent(name))));
    await nest.tell("ask a: ask b: ask c: ask a: hello");
    expect(nest.shown()[0]).toMatch(
      /^I heard ok I heard ok I heard ok I heard error Agent \S+ cannot wait for \S+: \S+ is waiting for it\. Send the message without waiting for its answer\.$/,
    );
    for (const agent of [a, b, c]) expect(await nest.states(agent?.id)).toEqual(["answered"]);
    await nest.tell("ask nobody: hi");
    expect(nest.shown()[1]).toMatch(/^I heard error Agent not found: nobody/);
  });

  it.each(["full", "unknown-lost", "unknown-applied"] as const)(
    "asks once, also where the store is %s for a moment",
    async (fate) => {
      const flock = await openFlock({ config: CONFIG, nest: { script: asking() } });
      const { nest } = flock;
      const clerk = await flock.make(permanent("clerk"));
      nest.fate = (change, nth) => (change.site === "accept" && (nth === 2 || nth === 3) ? fate : "go");
      await nest.tell("ask clerk: is it open?");
      await nest.advance(2_000);
      expect(nest.shown()).toEqual(["I heard ok yes: is it open?"]);
      expect(await nest.states(clerk.id)).toEqual(["answered"]);
    },
  );

  it("is not told as refused while an earlier try may be on its way, and arrives no more once the run has gone on", async () => {
    const flock = await openFlock({ config: CONFIG, nest: { script: asking() } });
    const { nest } = flock;
    const [a] = await Promise.all(["a", "b"].map((name) => flock.make(permanent(name))));
    const late: Change[] = [];
    // The fourth is the one that closes the circle: it is on its way somewhere, and is asked again.
    nest.fate = (change, nth) =>
      change.site === "accept" && nth === 4 && late.push(change) > 0 ? "unknown-lost" : "go";
    nest.script = async (call) => {
      const heard = lastText(call.request, "tool");
      return heard.startsWith("nobody knows") ? `I heard ${heard}` : asking()(call);
    };
    await nest.tell("ask a: ask b: ask a: hello");
    await nest.advance(2_000);
    expect(nest.shown()).toEqual(["I heard ok I heard ok I heard nobody knows"]);
    expect(late).toHaveLength(1);
    expect(await nest.store.commit(late[0] as Change)).toMatchObject({ ok: false });
    expect(await nest.states(a?.id)).toEqual(["answered"]);
  });

  it("says how the other one ended where it did not answer", async () => {
    const flock = await openFlock({
      config: CONFIG,
      nest: {
        script: async (call) => {
          if (/>break</.test(lastText(call.request)))
            return { error: { class: "request", message: "no" }, stopReason: "error" };
          return asking()(call);
        },
      },
    });
    await flock.make(permanent("clerk"));
    await flock.nest.tell("ask clerk: break");
    expect(flock.nest.shown()[0]).toBe("I heard error Inference failed. no");
  });

  it.each([
    ["the question is accepted", "accept"],
    ["the waiting run is killed while the other one thinks", "think"],
    ["the answer is committed", "rest"],
  ])("goes on with the same message after a kill when %s", async (_, site) => {
    const flock = await openFlock({ config: CONFIG, nest: { script: asking() } });
    const { nest } = flock;
    const clerk = await flock.make(permanent("clerk"));
    // The first commit of the site is the person's own message, the asker's thought, or the clerk's answer.
    nest.fate = dieAt(site, "after", site === "accept" ? 2 : 1);
    await nest.tell("ask clerk: is it open?");
    expect(nest.alive).toBe(false);
    await nest.restart();
    await nest.advance(2_000);
    expect(nest.shown()).toEqual(["I heard ok yes: is it open?"]);
    expect(await nest.states(clerk.id)).toEqual(["answered"]);
    expect((await nest.runs()).map(({ outcome }) => outcome)).toEqual(["ok"]);
    expect(await nest.store.waits({ limit: 10 })).toEqual([]);
  });

  it("asks at most as long as it was told, over restarts", async () => {
    const door = gate();
    const flock = await openFlock({ config: CONFIG, nest: { script: asking(() => door.promise) } });
    const { nest } = flock;
    await flock.make(permanent("clerk"));
    await nest.tell("ask clerk within 10: is it open?");
    await nest.advance(6_000);
    await nest.restart();
    await nest.advance(3_900);
    expect(nest.shown()).toEqual([]);
    await nest.advance(100);
    expect(nest.shown()[0]).toMatch(/^I heard timeout/);
  });

  it("gets the answer that came in time, however late it comes back for it", async () => {
    const flock = await openFlock({ config: CONFIG, nest: { script: asking() } });
    const { nest } = flock;
    await flock.make(permanent("clerk"));
    nest.fate = dieAt("rest");
    await nest.tell("ask clerk within 5: is it open?");
    expect(nest.alive).toBe(false);
    await nest.clock.advance(60_000, async () => {});
    await nest.restart();
    await nest.advance(2_000);
    expect(nest.shown()).toEqual(["I heard ok yes: is it open?"]);
  });

  it("is set aside by a drain at once, keeps its wait, and goes on after the restart uncounted", async () => {
    const door = gate();
    const flock = await openFlock({ config: CONFIG, nest: { script: asking(() => door.promise) } });
    const { nest } = flock;
    const clerk = await flock.make(permanent("clerk"));
    await nest.tell("ask clerk within 600: is it open?");
    const drained = nest.system.drain();
    await nest.advance(6_000);
    await drained;
    const ann = await nest.agentId();
    expect(await nest.store.waits({ limit: 10 })).toMatchObject([{ from: ann, to: clerk.id }]);
    nest.script = asking();
    await nest.restart();
    await nest.advance(2_000);
    expect(nest.shown()).toEqual(["I heard ok yes: is it open?"]);
    expect((await nest.runs())[0]).toMatchObject({ outcome: "ok", attempt: 1 });
  });

  it("keeps its edge over a restart: the circle stays closed to the other one", async () => {
    const door = gate();
    const flock = await openFlock({ config: CONFIG, nest: { script: asking(() => door.promise) } });
    const { nest } = flock;
    await flock.make(permanent("clerk"));
    await nest.tell("ask clerk within 600: wait here");
    const ann = await nest.agentId();
    const [edge] = await nest.store.waits({ limit: 10 });
    await nest.restart();
    expect(await nest.store.waits({ limit: 10 })).toMatchObject([{ ...edge, since: expect.any(Number) }]);
    const [run] = await nest.store.runs(edge?.to as AgentId, { limit: 1 });
    const back = {
      op: "wait.begin",
      id: "back",
      from: edge?.to as AgentId,
      to: { agentId: ann },
      runId: run?.id as never,
    } as const;
    await expect(flock.commit([back])).rejects.toThrow("cycle");
  });

  it("waits for the one who was asked, whoever bears the name after a restart", async () => {
    const door = gate();
    let whom: AgentId | undefined;
    const flock = await openFlock({
      config: CONFIG,
      nest: {
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
                to: { agentId: whom as AgentId },
                body: { kind: "system", text: "who?" } as const,
                key: "k",
              };
              const { result } = await flock.nest.system.postAndAwait(posting, { from, edge: "e", timeoutMs: 60_000 });
              return result?.agentId ?? "nobody";
            },
          },
        },
      },
    });
    const { nest } = flock;
    const [first, second] = [await flock.make(permanent("first")), await flock.make(permanent("second"))];
    whom = first.id;
    await nest.tell("ask");
    whom = second.id;
    await nest.restart();
    expect(await nest.store.waits({ limit: 5 })).toMatchObject([{ id: "e", to: first.id }]);
    expect(await nest.states(second.id)).toEqual([]);
    door.open();
    await nest.settle();
    await nest.advance(2_000);
    expect(nest.shown()).toEqual([first.id]);
  });

  it("ends with its run when that is aborted", async () => {
    const door = gate();
    const flock = await openFlock({ config: CONFIG, nest: { script: asking(() => door.promise) } });
    const { nest } = flock;
    await flock.make(permanent("clerk"));
    await nest.tell("ask clerk within 600: is it open?");
    const ann = await nest.agentId();
    const run = nest.system.liveRun(ann);
    await nest.system.abort(run?.id as never);
    await nest.settle();
    expect((await nest.runs(ann)).map(({ outcome }) => outcome)).toEqual(["aborted"]);
    expect(await nest.store.waits({ limit: 10 })).toEqual([]);
  });

  it("fails neither the waiting run nor blocks the others when the node is killed again and again", async () => {
    const door = gate();
    const flock = await openFlock({ config: CONFIG, nest: { script: asking(() => door.promise) } });
    const { nest } = flock;
    for (const name of ["clerk", "guard"]) await flock.make(permanent(name));
    await nest.tell("ask clerk within 600: ask guard within 600: is it open?");
    for (let n = 0; n < 6; n++) {
      await nest.restart();
      await nest.advance(1_000);
    }
    nest.script = asking();
    await nest.restart();
    await nest.advance(5_000);
    // The one that was cut off in its thoughts each time is given up after three; those that waited for it are told.
    expect(nest.shown()).toEqual([
      "I heard ok I heard error This could not be finished: the program stopped 3 times while working on it.",
    ]);
  });
});

describe("agents that only answer each other", () => {
  it("come to an end by the number of their hops", async () => {
    const flock = await openFlock({
      config: `{ agentToAgent: { write: ["any"], maxHops: 6 } }`,
      nest: {
        script: ({ request }) => {
          if (request.messages.at(-1)?.role === "tool") return "NO_REPLY";
          const to = lastText(request).includes("ping") ? "pong" : "ping";
          return { call: [{ name: "send_agent_message", with: { text: to, agentId: to } }] };
        },
      },
    });
    const { nest } = flock;
    const [ping, pong] = [await flock.make(permanent("ping")), await flock.make(permanent("pong"))];
    await nest.tell("start");
    await nest.advance(1_000);
    const counts = await Promise.all([ping, pong].map(async ({ id }) => (await nest.states(id)).length));
    expect((counts[0] as number) + (counts[1] as number)).toBe(6);
    const told = (await nest.transcript(pong.id)).concat(await nest.transcript(ping.id));
    expect(told.filter((line) => line.includes("answered each other 6 times in a row"))).toHaveLength(1);
  });
});
