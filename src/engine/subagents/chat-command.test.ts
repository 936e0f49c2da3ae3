import { describe, expect, it } from "vitest";
import type { ConnectorHost } from "../../core/ports/connector.ts";
import { gate, lastText, type Nest } from "../agents/engine.test-kit.ts";
import { handIn } from "../inbox/submit-text.ts";
import { SUBAGENTS_USAGE } from "./chat-command.ts";
import { childrenOf, family, openFamily, records } from "./family.test-kit.ts";

let ids = 0;
/** What a person reads who types this. */
async function type(nest: Nest, text: string): Promise<string | undefined> {
  const before = nest.shown().length;
  const conversation = { connector: "test", channelId: "ann", userId: "ann", delivery: { channel: "test", to: "ann" } };
  await handIn(nest.hosts.get("test") as ConnectorHost, { ...conversation, messageId: `typed-${++ids}`, text });
  await nest.settle();
  return nest.shown()[before];
}

/** Somebody whose two children work until the door is opened. */
async function withChildren() {
  const door = gate();
  const nest = await openFamily({ spawn: { label: "look" }, child: async (_, task) => door.promise.then(() => task) });
  for (const task of ["one", "two"]) await nest.tell(`spawn ${task}`);
  return { nest, door };
}

describe("/subagents", () => {
  it("lists the children of the conversation, with and without the word", async () => {
    const { nest } = await withChildren();
    const list = await type(nest, "/subagents");
    expect(list).toMatch(/^2 at work, 0 ended\.\n1\. look: working \(.*\), run .*\n2\. look: working/u);
    expect(await type(nest, "/Subagents LIST")).toBe(list);
    expect(await nest.states()).toEqual(["answered", "answered", "recorded", "recorded"]);
  });

  it("tells nobody of the children of others", async () => {
    const { nest } = await withChildren();
    await nest.system.post({ ...nest.person("bob"), body: { kind: "subagents", command: "list" } });
    await nest.settle();
    expect(nest.shown().at(-1)).toBe("No children.");
  });

  it.each([
    ["/subagents nonsense", SUBAGENTS_USAGE],
    ["/subagents stop", "⚙️ Usage: /subagents stop <id|#|all>"],
    ["/subagents log", "⚙️ Usage: /subagents log <id|#> [limit]"],
    ["/subagents send 1", "⚙️ Usage: /subagents send <id|#> <message>"],
    ["/subagents info", "⚙️ Usage: /subagents info <id|#>"],
    ["/subagents info 7", '⚙️ There is no child "7". List the children to see their numbers and run ids.'],
    ["/subagents stop look", '⚙️ 2 children are called "look". List the children to see their numbers and run ids.'],
    ["/subagents log 1", "⚙️ look:\nuser: task one"],
    ["/subagents send 2 hurry up", "⚙️ Sent to look."],
    ["/subagents stop 1", "⚙️ Stop requested for look."],
    ["/subagents stop all", "⚙️ Stop requested for 2 sub-agents."],
  ])("answers %s", async (typed, answer) => {
    const { nest } = await withChildren();
    expect(await type(nest, typed)).toBe(answer);
  });

  it("shows everything about one", async () => {
    const { nest } = await withChildren();
    const [first] = (await records(nest)).toSorted((a, b) => a.createdAt - b.createdAt);
    const told = await type(nest, "/subagents info #1");
    expect(told?.split("\n")).toEqual([
      "⚙️ Subagent",
      "Status: working",
      "Label: look",
      expect.stringMatching(/^Task: task (one|two)$/u),
      expect.stringMatching(/^Run: /u),
      expect.stringMatching(/^Session: agent:main:subagent:/u),
      `Created: ${new Date(first?.createdAt as number).toISOString()}`,
      expect.stringMatching(/^Started: /u),
      "Ended: n/a",
      "Cleanup: keep",
      "Waiting: 0",
    ]);
  });

  it("stops all of them, each of which still reports, and says so where none is left", async () => {
    const { nest } = await withChildren();
    await type(nest, "/subagents stop all");
    await nest.advance(10_000);
    expect((await records(nest)).map(({ endedAt }) => endedAt !== undefined)).toEqual([true, true]);
    expect(await type(nest, "/subagents stop all")).toBe("⚙️ No children are at work.");
    expect(await type(nest, "/subagents stop 1")).toBe("⚙️ That child has ended already.");
  });

  it("tells a child what it was told to", async () => {
    const { nest, door } = await withChildren();
    await type(nest, "/subagents send 1 look in the cellar");
    door.open();
    await nest.advance(5_000);
    const heard = await Promise.all((await childrenOf(nest)).map(({ id }) => nest.transcript(id)));
    expect(heard.flat().filter((line) => line === "user: look in the cellar")).toHaveLength(1);
  });

  it("is answered at the next step of a run, not after it", async () => {
    const { nest } = await withChildren();
    const [first, second] = [gate(), gate()];
    nest.script = async (call) => {
      const words = lastText(call.request);
      if (words !== "long work") return family()(call);
      if (call.request.messages.at(-1)?.role === "tool") {
        await second.promise;
        return "done at last";
      }
      await first.promise;
      return { call: [{ name: "subagents", with: { action: "list" } }] };
    };
    await nest.tell("long work");
    expect(await type(nest, "/subagents list")).toBeUndefined();
    first.open();
    await nest.settle();
    expect(nest.shown().at(-1)).toMatch(/^2 at work/u);
    second.open();
    await nest.settle();
    expect(nest.shown().at(-1)).toBe("done at last");
    expect(nest.shown().filter((text) => text.startsWith("2 at work"))).toHaveLength(1);
  });

  it("is answered once where the program dies around the answer", async () => {
    const { nest } = await withChildren();
    nest.fate = (change) => (change.site === "subagents" ? "die-after" : "go");
    await type(nest, "/subagents");
    await nest.restart();
    await nest.advance(2_000);
    expect(nest.shown().filter((text) => text.startsWith("2 at work"))).toHaveLength(1);
  });
});
