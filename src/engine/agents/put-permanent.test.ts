/** A permanent agent that is made or changed by its name, and when that is refused. No engine. */
import { expect, it, test } from "vitest";
import { seededIds } from "../../../test/kit/ids.ts";
import type { Change, Op } from "../../core/store/change.ts";
import { type PutPermanent, putPermanent } from "./put-permanent.ts";

const WANTED = { name: "Guide", description: "shows the way", systemPrompt: "You guide." };
const BEHALF = { person: "ann" as never };

function world(known?: object, refused = false) {
  const commits: Change[] = [];
  const posted: object[] = [];
  const keys: string[] = [];
  const store = {
    agentByKey: async (key: string) => {
      keys.push(key);
      return known && { id: "old", sessionKey: key, descriptor: { type: "permanent", name: "Guide" }, ...known };
    },
    commit: async (change: Change) => {
      commits.push(change);
      return refused ? { ok: false, refused: "conflict", detail: "there is one" } : { ok: true, results: [] };
    },
    outcome: async () => undefined,
  };
  const put = (more: object = {}) =>
    putPermanent(
      {
        ports: { store, ids: seededIds("put"), clock: { now: () => 7 } } as never,
        ingress: {
          post: async (request: object) => {
            await new Promise((resolve) => setImmediate(resolve));
            posted.push(request);
          },
        } as never,
        people: { personOfNew: async (_made: unknown, behalf: { person: string }) => behalf.person } as never,
      },
      { ...WANTED, ...more },
      BEHALF,
      (done: PutPermanent): readonly Op[] => [{ op: "fact.put", key: done.agentId, value: String(done.created) }],
    );
  return { put, commits, posted, keys };
}

test.each<[string, object, string, object]>([
  ["of the default profile", {}, "main", WANTED],
  [
    "of another profile and with a name of its own",
    { profile: "work", username: "gus" },
    "work",
    { ...WANTED, username: "gus" },
  ],
])(
  "a new one is created for its person in one commit with what belongs to it: one %s",
  async (_title, more, profile, made) => {
    const { put, commits, posted, keys } = world();
    const done = await put(more);
    expect(done).toMatchObject({ created: true, sessionKey: keys[0] });
    expect(posted).toEqual([]);
    const seed = { id: done.agentId, person: "ann", profile, createdAt: 7 };
    expect(commits[0]?.ops).toMatchObject([
      {
        op: "agent.create",
        fresh: true,
        seed: { ...seed, descriptor: { type: "permanent", id: done.agentId, ...made } },
      },
      { key: done.agentId, value: "true" },
    ]);
    if (!("username" in more)) expect(commits[0]?.ops[0]).not.toHaveProperty("seed.descriptor.username");
  },
);

it("one of that name is changed by a message, whatever the case of its letters", async () => {
  const { put, commits, posted } = world({});
  const done = await put({ name: "GUIDE", username: "gus" });
  expect([done.agentId, done.created, commits]).toEqual(["old", false, []]);
  const { description, systemPrompt } = WANTED;
  expect(posted).toEqual([
    {
      ...{ to: { agentId: "old" }, behalf: BEHALF, also: [{ op: "fact.put", key: "old", value: "false" }] },
      body: { kind: "describe", by: "ann", description, systemPrompt, username: "gus" },
    },
  ]);
});

test.each<[string, object | undefined, boolean, string]>([
  ["is being removed", { stopped: { removing: true } }, false, "The agent Guide is being removed."],
  ["was removed", { stopped: { removed: true } }, false, "The agent Guide is being removed."],
  [
    "has the same address under another name",
    { descriptor: { type: "permanent", name: "Gu-ide" } },
    false,
    "The permanent agent Gu-ide has the same address.",
  ],
  ["was made by another at the same time", undefined, true, "there is one"],
])("is refused if the agent %s", async (_title, known, refused, text) => {
  const { put, posted } = world(known, refused);
  await expect(put()).rejects.toThrow(text);
  expect(posted).toEqual([]);
});

it("changes one that is only stopped, or that an earlier version made as another kind", async () => {
  for (const known of [{ stopped: { reason: "enough" } }, { descriptor: { type: "system", tag: "x" } }]) {
    const { put, posted } = world(known);
    await put();
    expect(posted).toHaveLength(1);
  }
});
