/** The inbox against a model: after any posts, takes and settlements, counters and listings equal those of a plain list. */
import fc from "fast-check";
import { expect, test } from "vitest";
import type { RunId } from "../../src/core/ids.ts";
import type { Store } from "../../src/core/store/store.ts";
import { tries } from "../kit/share.ts";
import { closed, type Held, type Opener, resetBody, userBody, type World, worldOn } from "./fixture.ts";

type Action =
  | { readonly do: "post"; readonly urgent: boolean }
  | { readonly do: "take"; readonly picks: readonly number[] }
  | { readonly do: "drop"; readonly pick: number }
  | { readonly do: "settle"; readonly pick: number; readonly from: "waiting" | "taken" };

const actions: fc.Arbitrary<Action[]> = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.record({ do: fc.constant("post" as const), urgent: fc.boolean() }) },
    {
      weight: 3,
      arbitrary: fc.record({
        do: fc.constant("take" as const),
        picks: fc.array(fc.nat({ max: 12 }), { minLength: 1, maxLength: 3 }),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({ do: fc.constant("drop" as const), pick: fc.nat({ max: 12 }) }),
    },
    {
      weight: 3,
      arbitrary: fc.record({
        do: fc.constant("settle" as const),
        pick: fc.nat({ max: 12 }),
        from: fc.constantFrom("waiting" as const, "taken" as const),
      }),
    },
  ),
  { minLength: 1, maxLength: 40 },
);

interface ModelMessage {
  readonly seq: number;
  readonly urgent: boolean;
  state: "waiting" | "taken" | "answered" | "dropped";
}

export function inboxModelContract(open: Opener): void {
  test("after any posts, takes, drops and settlements, the inbox equals a plain list", async () => {
    const opened = await open();
    const world = await worldOn(opened.store);
    let runs = 0;
    try {
      await fc.assert(
        fc.asyncProperty(actions, async (list) => {
          const held = await world.agent(`model${runs++}`);
          const model: ModelMessage[] = [];
          for (const action of list) {
            await act(world, held, model, action);
            await compare(world.store, held, model);
          }
        }),
        { numRuns: tries(60), seed: 4 },
      );
    } finally {
      await closed(world, opened);
    }
  });
}

async function act(world: World, held: Held, model: ModelMessage[], action: Action): Promise<void> {
  switch (action.do) {
    case "post": {
      const { seq } = await world.post(held.id, action.urgent ? resetBody : userBody("x"));
      model.push({ seq, urgent: action.urgent, state: "waiting" });
      return;
    }
    case "take": {
      // Picks are places from the end of the list, so that heads, tails and holes are all taken; some do not exist.
      const seqs = [...new Set(action.picks.map((pick) => Math.max(1, model.length - pick)))];
      const lawful = seqs.every((seq) => model[seq - 1]?.state === "waiting");
      const result = await world.commit([{ op: "message.take", runId: "r" as RunId, seqs }], held.owner);
      expect(result.ok).toBe(lawful);
      if (lawful) for (const seq of seqs) Object.assign(model[seq - 1] ?? {}, { state: "taken" });
      return;
    }
    case "drop": {
      const seq = Math.max(1, model.length - action.pick);
      const lawful = model[seq - 1]?.state === "waiting";
      // By a person, not by the agent's owner.
      const result = await world.commit([{ op: "message.drop", agentId: held.id, seq, reason: "dropped by owner" }]);
      expect(result.ok).toBe(lawful);
      if (lawful) Object.assign(model[seq - 1] ?? {}, { state: "dropped" });
      return;
    }
    case "settle": {
      const seq = Math.max(1, model.length - action.pick);
      const lawful = model[seq - 1]?.state === action.from;
      const settlement = { seq, from: action.from, state: "answered" as const };
      const result = await world.commit([{ op: "message.settle", settlements: [settlement] }], held.owner);
      expect(result.ok).toBe(lawful);
      if (lawful) Object.assign(model[seq - 1] ?? {}, { state: "answered" });
      return;
    }
  }
}

async function compare(store: Store, held: Held, model: readonly ModelMessage[]): Promise<void> {
  const waiting = model.filter((message) => message.state === "waiting");
  const agent = await store.agent(held.id);
  expect(agent).toMatchObject({ nextSeq: model.length + 1, waiting: waiting.length });
  // The cursor is always before the first waiting message.
  expect(agent?.cursor).toBeLessThan(waiting[0]?.seq ?? model.length + 1);
  if (waiting.length === 0) expect(agent?.cursor).toBe(model.length);
  const listed = await store.waiting(held.id, { limit: 100 });
  expect(listed.map((message) => message.seq)).toEqual(waiting.map((message) => message.seq));
  const urgent = await store.waiting(held.id, { limit: 100, urgent: true });
  expect(urgent.map((message) => message.seq)).toEqual(waiting.filter((one) => one.urgent).map((one) => one.seq));
  const all = await store.messages(held.id, { limit: 100 });
  expect(all.map((message) => message.state)).toEqual(model.map((message) => message.state).reverse());
}
