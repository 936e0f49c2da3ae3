/** Runs as people and tools see and steer them, on this node and on others, over a store and actors made of records. */
import { describe, expect, test } from "vitest";
import { virtualClock } from "../../../test/kit/clock.ts";
import type { RunId } from "../../core/ids.ts";
import type { Behalf } from "../../core/people/behalf.ts";
import type { PersonId } from "../../core/people/person.ts";
import type { PostRequest } from "./message-ingress.ts";
import { RunControl } from "./run-control.ts";

const RUN = "r1" as RunId;
const of = (person: string, more: object = {}): Behalf => ({ person: person as PersonId, ...more });

interface Given {
  /** The state of the run on this node; absent: it is not here. */
  readonly here?: string;
  readonly queued?: boolean;
  readonly behalf?: Behalf;
  readonly record?: object;
  readonly agent?: object;
  readonly shared?: boolean;
}

function world({ here, queued, behalf, record, agent, shared = true }: Given) {
  const posts: PostRequest[] = [];
  const body = { behalf, delivery: { channel: "test", to: "ann" } };
  const run = here === undefined ? undefined : { id: RUN, agentId: "a1", state: here, body };
  const actor = { run, queued: queued ? { runId: RUN } : undefined };
  const stored = record && { id: RUN, agentId: "a1", body, ...record };
  const store = { run: async () => stored, agent: async () => agent };
  const control = new RunControl(
    { store, clock: virtualClock() } as never,
    {
      actors: { all: () => [{}, actor], get: () => actor },
      membership: { node: 1, shared },
      ingress: { post: async (request: PostRequest) => void posts.push(request) },
      ...{ events: {}, emit: () => {} },
    } as never,
  );
  return { control, posts };
}

describe("the state of a run", () => {
  test.each<[string, Given, string]>([
    ["that streams here", { here: "streaming" }, "streaming"],
    ["that waits for a lane", { queued: true }, "queued"],
    ["that does not exist", {}, "unknown"],
    ["that has ended", { record: { state: "ended" } }, "ended"],
    ["of another node", { record: { state: "open" } }, "active"],
    ["that waits for a person", { record: { state: "open", body: { suspended: true } } }, "suspended"],
  ])("%s", async (_title, given, state) => {
    expect(await world(given).control.state(RUN)).toBe(state);
  });
});

describe("a text for a run", () => {
  const open = { state: "open" };
  const held = { runId: RUN, node: 2 };
  test.each<[string, Given, boolean]>([
    ["that streams here", { here: "streaming" }, true],
    ["that executes a tool here", { here: "active" }, false],
    ["of another node", { record: open, agent: held }, true],
    ["of another node, if this one shares its store with none", { record: open, agent: held, shared: false }, false],
    ["that no node holds", { record: open, agent: { runId: RUN } }, false],
    ["that this node holds and does not work on", { record: open, agent: { runId: RUN, node: 1 } }, false],
    ["whose agent works on another one", { record: open, agent: { runId: "r2", node: 2 } }, false],
    ["that has ended", { record: { state: "ended" }, agent: held }, false],
    ["whose agent is gone", { record: open }, false],
  ])("%s", async (_title, given, taken) => {
    const { control, posts } = world(given);
    expect(await control.steer(RUN, "and also")).toBe(taken);
    expect(posts).toHaveLength(taken ? 1 : 0);
    if (taken) {
      expect(posts[0]).toMatchObject({
        ...{ to: { agentId: "a1" }, delivery: { to: "ann" } },
        body: { kind: "user", text: "and also", queue: { mode: "steer" } },
      });
    }
  });

  test.each<[string, Behalf | undefined, Behalf | undefined, object | undefined]>([
    ["of no one into a run for no one", undefined, undefined, undefined],
    ["of no one into a person's run", of("ann"), undefined, { person: "ann" }],
    ["of a person into a run for no one", undefined, of("eve"), { person: "eve" }],
    [
      "of another person",
      of("ann", { untrusted: true }),
      of("eve"),
      { person: "ann", through: ["eve"], untrusted: true },
    ],
  ])("%s has these people on its way", async (_title, behalf, speaker, way) => {
    const { control, posts } = world({ here: "streaming", behalf });
    await control.steer(RUN, "x", { behalf: speaker });
    if (way) expect(posts[0]?.behalf).toMatchObject(way);
    else expect(posts[0]?.behalf).toBeUndefined();
  });
});
