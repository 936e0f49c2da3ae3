/** Commands in a running engine: exactly one answer at any kill, in time during a run, and by the rights of who types. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { TestEngine } from "../../../test/kit/engine.ts";
import type { ChangeId } from "../../core/ids.ts";
import type { Op } from "../../core/store/change.ts";

let engine: TestEngine;
let ids = 0;
beforeEach(async () => {
  engine = await TestEngine.open({
    system: { rights: {} },
    settings: { owner: { accounts: ["test:ann"] } },
  });
});
afterEach(() => engine.drain());

async function type(text: string, user = "ann", id = `typed-${++ids}`): Promise<void> {
  const host = engine.hosts.get("test");
  if (!host) throw new TypeError("no host");
  const target = { connector: "test", userId: user, channelId: user, delivery: { channel: "test", to: user } };
  // A process that dies never answers.
  void host.accept({ ...target, messageId: id, text });
  await engine.settle();
}
const stateOf = async (name = "ann") => (await engine.store.agent(await engine.agentId(name)))?.state;

describe("a command", () => {
  it.each(["die-before", "die-after"] as const)(
    "has one answer after a restart if it is %s its commit",
    async (fate) => {
      engine.onCommit = ({ site }) => (site === "command" ? fate : "go");
      await type("/think high");
      await engine.restart();
      expect(engine.shown()).toEqual(["⚙️ Thinking: high."]);
      expect((await stateOf())?.thinkingLevel).toBe("high");
    },
  );

  it("is answered once if the channel repeats it", async () => {
    await type("/think low", "ann", "same");
    await type("/think low", "ann", "same");
    expect(engine.shown()).toEqual(["⚙️ Thinking: low."]);
  });

  it("with a message after it sends the message once, even if the process dies in between", async () => {
    let posts = 0;
    engine.onCommit = ({ site }) => (site === "accept" && ++posts === 2 ? "die-before" : "go");
    await type("/queue reset hello", "ann", "same");
    await engine.restart();
    await type("/queue reset hello", "ann", "same");
    expect(engine.shown().filter((text) => text.includes("hello"))).toHaveLength(1);
    expect(engine.shown().filter((text) => text.includes("Queue"))).toHaveLength(1);
  });

  it("is answered during a run if it only asks, and waits its turn if it changes settings", async () => {
    const held = Promise.withResolvers<void>();
    engine.script = async () => {
      await held.promise;
      return "done";
    };
    await type("work");
    await type("/think high");
    expect(engine.shown()).toEqual([]);
    held.resolve();
    await engine.settle();
    expect(engine.shown()).toEqual(["done", "⚙️ Thinking: high."]);
  });

  it("says what waits and why", async () => {
    await type("/status");
    expect(engine.shown()[0]).toMatch(/Run: none\nWaiting: nothing$/);
  });
});

describe("rights", () => {
  it("a guest's /elevated is refused, the owner's is not, and nothing changes before", async () => {
    await type("/elevated full", "bob");
    await type("/elevated full");
    expect(engine.shown()).toEqual([
      "⚙️ You may not use /elevated here: only the owner changes it.",
      "⚙️ Elevated: full.",
    ]);
    expect((await stateOf("bob"))?.elevatedLevel).toBeUndefined();
    expect((await stateOf())?.elevatedLevel).toBe("full");
  });

  it("no one changes the settings of someone else's conversation", async () => {
    await engine.tell("hello");
    const { to, delivery } = engine.person("ann");
    const body = { kind: "command", name: "think", text: "high", inTurn: true } as const;
    await engine.system.post({ to, delivery, body, sender: { connector: "test", userId: "bob" } });
    await engine.settle();
    expect(engine.shown().at(-1)).toMatch(/You may not use \/think here: .* belongs to another person/);
    expect((await stateOf())?.thinkingLevel).toBeUndefined();
  });

  it("a right that was taken away before the command is carried out is gone", async () => {
    const person = {
      id: "bob",
      name: "bob",
      role: "guest",
      accounts: ["test:bob"],
      grants: [{ allow: "chat_elevated(agent:*)" }],
    };
    const put = (role: string, grants: readonly object[]): Op =>
      ({ op: "person.put", person: { ...person, role, grants } }) as unknown as Op;
    const commit = (op: Op) =>
      engine.store.commit({ id: `p${++ids}` as ChangeId, site: "people", at: engine.clock.now(), ops: [op] });
    await commit(put("guest", [{ allow: "chat_elevated" }]));
    await type("/elevated on", "bob");
    await commit(put("guest", []));
    await type("/elevated full", "bob");
    expect((await stateOf("bob"))?.elevatedLevel).toBe("on");
  });
});
