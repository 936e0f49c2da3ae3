/** Going to an entry: which commit moves the tip, and what becomes of a message whose entry is gone. */
import { describe, expect, it, test } from "vitest";
import { entryLine } from "../../../core/history/entry.ts";
import type { Message, MessageBody } from "../../../core/message/message.ts";
import { messageTo, NOW, recordedLease } from "../actor/lease.test-kit.ts";
import { goBack, goTo } from "./go-back.ts";

/** The current session has the entries e0 and e1, which is its tip. */
function world(commit?: () => Promise<unknown>) {
  const entries = [
    { type: "start", id: "m0", parentId: null, sessionId: "s1", timestamp: 1 },
    { type: "message", id: "e0", parentId: "m0", role: "user", content: [], timestamp: 1 },
    { type: "message", id: "e1", parentId: "e0", role: "user", content: [], timestamp: 1 },
  ];
  const linesBack = async (agentId: string) =>
    (agentId === "a1" ? entries : [])
      .map((entry, position) => ({ position, line: entryLine(entry as never) }))
      .reverse();
  const recorded = recordedLease({ ports: { store: { linesBack } }, lease: commit && { commit } });
  const [ports, lease] = [recorded.ports, recorded.lease];
  const back = (more: object, message: Partial<Message> = {}) =>
    goBack(ports, lease, messageTo({ kind: "branch", entryId: "e0", ...more } as MessageBody, message));
  const to = (body: object) => goTo(ports, lease, messageTo({ kind: "user", text: "hi", ...body } as MessageBody));
  return { ...recorded, back, to };
}
/** The first commit fails. */
function losing() {
  let tries = 0;
  return async () => (tries++ === 0 ? Promise.reject(new TypeError("lost")) : { results: [] });
}

describe("a person who goes back", () => {
  it("moves the tip in the commit that settles the message, and is told", async () => {
    const { back, commits, settled, shown } = world();
    await back({});
    expect(commits).toMatchObject([{ site: "branch" }]);
    expect(commits[0]?.ops).toContainEqual({ op: "leaf.move", leaf: "e0" });
    expect(commits[0]?.state).toBeUndefined();
    expect([settled(), shown]).toMatchObject([[{ state: "recorded", reason: "went back to e0" }], ["Went back."]]);
  });

  test.each<[string, string | undefined, readonly string[] | undefined]>([
    ["with a summary", "It failed.", ["eve"]],
    ["without one", undefined, undefined],
  ])("has spoken in the session %s: %j", async (_title, summary, speakers) => {
    const { back, commits } = world();
    await back({ summary }, { behalf: { person: "eve" as never } });
    expect(commits[0]?.state?.speakers).toEqual(speakers);
    const added = commits[0]?.ops.find(({ op }) => op === "entries.append");
    expect(added).toEqual(
      summary && expect.objectContaining({ position: 5, lines: [expect.stringContaining(`"timestamp":${NOW}`)] }),
    );
  });

  it("to an entry of another session is told why, and the tip stays", async () => {
    const { back, commits, settled, shown } = world();
    await back({ entryId: "gone" });
    expect(commits.map(({ site, ops }) => [site, ops.map(({ op }) => op)])).toEqual([
      ["branch.gone", ["delivery.add", "message.settle"]],
    ]);
    const text = "The entry gone is not part of the current session.";
    expect([settled()[0]?.reason, shown]).toEqual([text, [text]]);
  });

  it("is not told anything if the commit fails", async () => {
    const { back, shown } = world(losing());
    await expect(back({})).rejects.toThrow("lost");
    expect(shown).toEqual([]);
  });

  it("does so with a message of that kind only", async () => {
    const { back, commits } = world();
    await back({ kind: "user", text: "hi" });
    expect(commits).toEqual([]);
  });
});

describe("a message that continues an entry", () => {
  test.each<[string, object, string, readonly string[]]>([
    ["the tip", { after: "e1" }, "there", []],
    ["none", {}, "there", []],
    ["none, because it is no message of a person", { kind: "stop", after: "e0" }, "there", []],
    ["an earlier one", { after: "e0" }, "moved", ["branch.follow"]],
    ["one that is gone", { after: "gone" }, "gone", ["branch.gone"]],
  ])("%s", async (_title, body, went, sites) => {
    const { to, commits, settled } = world();
    expect(await to(body)).toBe(went);
    expect(commits.map(({ site }) => site)).toEqual(sites);
    if (went === "moved") expect(commits[0]?.ops).toEqual([{ op: "leaf.move", leaf: "e0" }]);
    expect(settled().map(({ seq, state }) => [seq, state])).toEqual(went === "gone" ? [[4, "discarded"]] : []);
  });

  it("is not discarded because a commit fails", async () => {
    const { to } = world(losing());
    await expect(to({ after: "e0" })).rejects.toThrow("lost");
  });
});
