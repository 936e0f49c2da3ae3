import { describe, expect, it } from "vitest";
import type { AgentId } from "../../core/ids.ts";
import { gate, stall } from "../agents/engine.test-kit.ts";
import { childrenOf, type Family, openFamily as open, records, reportsIn } from "./family.test-kit.ts";

/** Hours pass here: nobody looks around more often than needed. */
const openFamily = (about: Family = {}, { system = {} }: { system?: object } = {}) =>
  open(about, { system: { pollMs: 20 * 60_000, ...system } });

const MINUTE = 60_000;

describe("a child that is kept", () => {
  it("leaves the registry after an hour of rest, and wakes for a late message all the same", async () => {
    const nest = await openFamily();
    await nest.tell("spawn dig");
    const [child] = await childrenOf(nest);
    await nest.advance(59 * MINUTE);
    expect(await records(nest)).toHaveLength(1);
    await nest.advance(2 * MINUTE);
    expect(await records(nest)).toEqual([]);
    await nest.system.post({ to: { agentId: child?.id as AgentId }, body: { kind: "system", text: "still there?" } });
    await nest.settle();
    expect((await nest.runs(child?.id)).map(({ outcome }) => outcome)).toEqual(["ok", "ok"]);
  });

  it("stays while it works: the hour counts from its last rest", async () => {
    const nest = await openFamily();
    await nest.tell("spawn dig");
    const [child] = await childrenOf(nest);
    await nest.advance(50 * MINUTE);
    await nest.system.post({ to: { agentId: child?.id as AgentId }, body: { kind: "system", text: "more" } });
    await nest.advance(30 * MINUTE);
    expect(await records(nest)).toHaveLength(1);
    await nest.advance(31 * MINUTE);
    expect(await records(nest)).toEqual([]);
  });

  it("is never put away while it is at work, however long that takes", async () => {
    const nest = await openFamily(
      { child: (call) => stall(call, new Promise(() => {})) },
      { system: { runs: { timeoutMs: 24 * 60 * MINUTE } } },
    );
    await nest.tell("spawn dig");
    await nest.advance(180 * MINUTE);
    expect(await records(nest)).toMatchObject([{ task: "task dig" }]);
  });

  it("stays for ever where that is off, and costs no timer", async () => {
    const nest = await openFamily({}, { system: { subagents: { archiveAfterMinutes: 0 } } });
    await nest.tell("spawn dig");
    await nest.advance(600 * MINUTE);
    expect(await records(nest)).toHaveLength(1);
  });

  it("is put away also after a restart", async () => {
    const nest = await openFamily();
    await nest.tell("spawn dig");
    await nest.advance(30 * MINUTE);
    await nest.restart();
    await nest.advance(31 * MINUTE);
    expect(await records(nest)).toEqual([]);
  });
});

describe("a child that is to be deleted", () => {
  it("is gone after its report, with its history, and its requester was told", async () => {
    const nest = await openFamily({ spawn: { cleanup: "delete" } });
    await nest.tell("spawn dig");
    const [child] = await childrenOf(nest);
    expect(await reportsIn(nest)).toHaveLength(1);
    await nest.advance(5_000);
    expect(await childrenOf(nest)).toEqual([]);
    expect(await records(nest)).toEqual([]);
    const id = child?.id as AgentId;
    expect(await nest.store.linesBack(id, { limit: 9 })).toEqual([]);
    expect(await nest.store.agentByKey(child?.sessionKey as never)).toBeUndefined();
    await expect(nest.system.post({ to: { agentId: id }, body: { kind: "system", text: "x" } })).rejects.toThrow(
      "was removed",
    );
    expect(nest.shown()).toEqual(["started", "told"]);
  });

  it("stays while a child of its own is at work", async () => {
    const ready = gate<string>();
    const nest = await openFamily(
      {
        spawn: { cleanup: "delete" },
        child: ({ request }, task) => {
          if (task !== "a") return ready.promise;
          return request.messages.at(-1)?.role === "tool"
            ? "done"
            : { call: [{ name: "sessions_spawn", with: { task: "task b" } }] };
        },
      },
      { system: { subagents: { maxDepth: 2 } } },
    );
    await nest.tell("spawn a");
    await nest.advance(5 * MINUTE);
    expect(await childrenOf(nest)).toHaveLength(1);
    ready.open("found");
    await nest.advance(5 * MINUTE);
    expect(await childrenOf(nest)).toEqual([]);
    expect(await reportsIn(nest)).toHaveLength(1);
  });
});
