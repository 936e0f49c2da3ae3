import { describe, expect, it } from "vitest";
import { virtualClock } from "../../../../test/kit/clock.ts";
import { seededIds } from "../../../../test/kit/ids.ts";
import { openMemoryStore } from "../../../adapters/store/sqlite/open-store.ts";
import { silentLog } from "../../../core/ports/log.ts";
import type { Op } from "../../../core/store/change.ts";
import { RequestLedger } from "./request-ledger.ts";

async function open() {
  const engine = { store: openMemoryStore(), clock: virtualClock(), ids: seededIds("ledger") };
  const ports = { ...engine, log: silentLog };
  const ledger = () => new RequestLedger(ports);
  /** Commits what is committed with the message. */
  const accept = async (ops: readonly Op[]): Promise<void> => {
    if (ops.length > 0) await engine.store.commit({ id: engine.ids.change(), site: "t", at: engine.clock.now(), ops });
  };
  return { engine, ledger, accept };
}

const request = (text: string, more: object = {}) => ({
  token: "t",
  user: "ann",
  body: Buffer.from(text),
  isRetry: false,
  ...more,
});

describe("a request without an idempotency key", () => {
  it("is new while the same request is answered and afterwards, and joins it if its response was cut off", async () => {
    const { ledger: make } = await open();
    const ledger = make();
    const first = await ledger.register(request("yes"));
    const beside = await ledger.register(request("yes"));
    expect(beside.key).not.toBe(first.key);
    beside.ended(true);
    first.ended(false);
    const joined = await ledger.register(request("yes"));
    expect([joined.key, joined.ops]).toEqual([first.key, []]);
    joined.ended(true);
    await ledger.flush();
    expect((await ledger.register(request("yes"))).key).not.toBe(first.key);
  });

  it("joins the earlier request if it is marked as a retry, even if that response was finished", async () => {
    const { ledger: make } = await open();
    const ledger = make();
    const first = await ledger.register(request("yes"));
    first.ended(true);
    await ledger.flush();
    expect((await ledger.register(request("yes", { isRetry: true }))).key).toBe(first.key);
  });

  it.each([
    ["another token", { token: "u" }],
    ["another person", { user: "bob" }],
    ["no person", { user: undefined }],
    ["another body", { body: Buffer.from("no") }],
  ])("never joins a request with %s", async (_, more) => {
    const { ledger: make } = await open();
    const ledger = make();
    const first = await ledger.register(request("yes"));
    first.ended(false);
    expect((await ledger.register(request("yes", { isRetry: true, ...more }))).key).not.toBe(first.key);
  });

  it("is recognised after a restart: it joins an unfinished response and not a finished one", async () => {
    const { ledger, accept } = await open();
    const before = ledger();
    const cut = await before.register(request("cut"));
    const done = await before.register(request("done"));
    await accept(cut.ops);
    await accept(done.ops);
    done.ended(true);
    await before.flush();
    const after = ledger();
    expect((await after.register(request("cut"))).key).toBe(cut.key);
    expect((await after.register(request("done"))).key).not.toBe(done.key);
    expect((await after.register(request("done", { isRetry: true }))).key).not.toBe(undefined);
  });

  it("is forgotten after a day, and facts stay small", async () => {
    const { ledger, accept, engine } = await open();
    const before = ledger();
    const old = await before.register(request("old"));
    await accept(old.ops);
    old.ended(false);
    engine.clock.jump(25 * 3600_000);
    expect((await ledger().register(request("old"))).key).not.toBe(old.key);
    const many = ledger();
    for (let n = 0; n < 3_000; n++) {
      const one = await many.register(request(`n${n}`));
      const [op] = one.ops;
      expect(op?.op === "fact.put" && JSON.parse(op.value ?? "").length).toBeLessThanOrEqual(16);
      one.ended(true);
    }
  });
});

describe("a request without an idempotency key, with two nodes", () => {
  const two = async () => {
    const { engine, accept } = await open();
    const join = async (name: string): Promise<number> => {
      const ops: Op[] = [{ op: "node.join", name, leaseUntil: engine.clock.now() + 10_000 }];
      const done = await engine.store.commit({ id: engine.ids.change(), site: "t", at: engine.clock.now(), ops });
      const [joined] = done.ok ? done.results : [];
      return joined?.op === "node.join" ? joined.node : 0;
    };
    const [one, other] = [await join("one"), await join("other")];
    const ports = { ...engine, log: silentLog };
    return { engine, accept, a: new RequestLedger(ports, () => one), b: new RequestLedger(ports, () => other) };
  };

  it("is new while the other node answers, and joins if that response was cut off or the node died", async () => {
    const { engine, accept, a, b } = await two();
    const first = await a.register(request("yes"));
    await accept(first.ops);
    const beside = await b.register(request("yes"));
    expect(beside.key).not.toBe(first.key);
    beside.ended(false);
    await b.flush();
    first.ended(false);
    await a.flush();
    expect((await b.register(request("yes"))).key).toBe(first.key);
    const second = await a.register(request("no"));
    await accept(second.ops);
    const retry = await b.register(request("no", { isRetry: true }));
    expect(retry.key).toBe(second.key);
    expect((await b.register(request("no"))).key).not.toBe(second.key);
    retry.ended(false);
    await engine.clock.advance(11_000);
    expect((await b.register(request("no"))).key).toBe(second.key);
  });

  it("never overwrites what the other node wrote", async () => {
    const { engine, accept, a, b } = await two();
    const ones = await Promise.all([a.register(request("same")), b.register(request("same"))]);
    const done = await Promise.all(
      ones.map(({ ops }) => engine.store.commit({ id: engine.ids.change(), site: "t", at: 0, ops })),
    );
    expect(done.map(({ ok }) => ok)).toEqual([true, false]);
    const again = await b.register(request("same"));
    await accept(again.ops);
    ones[0]?.ended(true);
    again.ended(true);
    await Promise.all([a.flush(), b.flush()]);
    expect((await a.register(request("same"))).key).not.toBe(ones[0]?.key);
    expect((await a.register(request("same", { isRetry: true }))).key).toBe(again.key);
  });
});
