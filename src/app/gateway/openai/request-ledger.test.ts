import { describe, expect, it } from "vitest";
import { virtualClock } from "../../../../test/kit/clock.ts";
import { seededIds } from "../../../../test/kit/ids.ts";
import { openMemoryStore } from "../../../adapters/store/sqlite/open-store.ts";
import { silentLog } from "../../../core/ports/log.ts";
import type { Op } from "../../../core/store/change.ts";
import { RequestLedger } from "./request-ledger.ts";

async function open() {
  const engine = { store: openMemoryStore(), clock: virtualClock(), ids: seededIds("desk") };
  const ports = { ...engine, log: silentLog };
  const ledger = () => new RequestLedger(ports);
  /** What accepting the message commits. */
  const accept = async (also: readonly Op[]): Promise<void> => {
    if (also.length > 0)
      await engine.store.commit({ id: engine.ids.change(), site: "t", at: engine.clock.now(), ops: also });
  };
  return { engine, ledger, accept };
}

const asked = (text: string, more: object = {}) => ({
  token: "t",
  user: "ann",
  body: Buffer.from(text),
  isRetry: false,
  ...more,
});

describe("requests without a key", () => {
  it("are new ones while the earlier is being answered and after it was, and joined where it was broken off", async () => {
    const { ledger: open1 } = await open();
    const ledger = open1();
    const first = await ledger.register(asked("yes"));
    const beside = await ledger.register(asked("yes"));
    expect(beside.key).not.toBe(first.key);
    beside.ended(true);
    first.ended(false);
    const joined = await ledger.register(asked("yes"));
    expect([joined.key, joined.also]).toEqual([first.key, []]);
    joined.ended(true);
    await ledger.flush();
    expect((await ledger.register(asked("yes"))).key).not.toBe(first.key);
  });

  it("are joined where they are marked as a retry, also when the earlier response was finished", async () => {
    const { ledger: make } = await open();
    const ledger = make();
    const first = await ledger.register(asked("yes"));
    first.ended(true);
    await ledger.flush();
    expect((await ledger.register(asked("yes", { isRetry: true }))).key).toBe(first.key);
  });

  it.each([
    ["another token", { token: "u" }],
    ["another person", { user: "bob" }],
    ["nobody", { user: undefined }],
    ["another body", { body: Buffer.from("no") }],
  ])("are never joined with those of %s", async (_, more) => {
    const { ledger: make } = await open();
    const ledger = make();
    const first = await ledger.register(asked("yes"));
    first.ended(false);
    expect((await ledger.register(asked("yes", { isRetry: true, ...more }))).key).not.toBe(first.key);
  });

  it("are known after a restart: joined if the response was not finished, new if it was", async () => {
    const { ledger, accept } = await open();
    const before = ledger();
    const cut = await before.register(asked("cut"));
    const done = await before.register(asked("done"));
    await accept(cut.also);
    await accept(done.also);
    done.ended(true);
    await before.flush();
    const after = ledger();
    expect((await after.register(asked("cut"))).key).toBe(cut.key);
    expect((await after.register(asked("done"))).key).not.toBe(done.key);
    expect((await after.register(asked("done", { isRetry: true }))).key).not.toBe(undefined);
  });

  it("are forgotten after a day, and never fill the store", async () => {
    const { ledger, accept, engine } = await open();
    const before = ledger();
    const old = await before.register(asked("old"));
    await accept(old.also);
    old.ended(false);
    engine.clock.jump(25 * 3600_000);
    expect((await ledger().register(asked("old"))).key).not.toBe(old.key);
    const many = ledger();
    for (let n = 0; n < 3_000; n++) {
      const one = await many.register(asked(`n${n}`));
      const [op] = one.also;
      expect(op?.op === "fact.put" && JSON.parse(op.value ?? "").length).toBeLessThanOrEqual(16);
      one.ended(true);
    }
  });
});

describe("requests without a key, on two nodes", () => {
  const two = async () => {
    const { engine, accept } = await open();
    const join = async (name: string): Promise<number> => {
      const ops: Op[] = [{ op: "node.join", name, leaseUntil: engine.clock.now() + 10_000 }];
      const done = await engine.store.commit({ id: engine.ids.change(), site: "t", at: engine.clock.now(), ops });
      const [said] = done.ok ? done.results : [];
      return said?.op === "node.join" ? said.node : 0;
    };
    const [one, other] = [await join("one"), await join("other")];
    const ports = { ...engine, log: silentLog };
    return { engine, accept, a: new RequestLedger(ports, () => one), b: new RequestLedger(ports, () => other) };
  };

  it("are new ones while another node that lives answers, and joined where it broke off or is gone", async () => {
    const { engine, accept, a, b } = await two();
    const first = await a.register(asked("yes"));
    await accept(first.also);
    const beside = await b.register(asked("yes"));
    expect(beside.key).not.toBe(first.key);
    beside.ended(false);
    await b.flush();
    first.ended(false);
    await a.flush();
    expect((await b.register(asked("yes"))).key).toBe(first.key);
    const second = await a.register(asked("no"));
    await accept(second.also);
    const retry = await b.register(asked("no", { isRetry: true }));
    expect(retry.key).toBe(second.key);
    expect((await b.register(asked("no"))).key).not.toBe(second.key);
    retry.ended(false);
    await engine.clock.advance(11_000);
    expect((await b.register(asked("no"))).key).toBe(second.key);
  });

  it("are never put over what the other node wrote", async () => {
    const { engine, accept, a, b } = await two();
    const ones = await Promise.all([a.register(asked("same")), b.register(asked("same"))]);
    const done = await Promise.all(
      ones.map(({ also }) => engine.store.commit({ id: engine.ids.change(), site: "t", at: 0, ops: also })),
    );
    expect(done.map(({ ok }) => ok)).toEqual([true, false]);
    const again = await b.register(asked("same"));
    await accept(again.also);
    ones[0]?.ended(true);
    again.ended(true);
    await Promise.all([a.flush(), b.flush()]);
    expect((await a.register(asked("same"))).key).not.toBe(ones[0]?.key);
    expect((await a.register(asked("same", { isRetry: true }))).key).toBe(again.key);
  });
});
