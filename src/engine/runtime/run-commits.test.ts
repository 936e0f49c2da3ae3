import { expect, test } from "vitest";
import type { RunId } from "../../core/ids.ts";
import type { RunBody } from "../../core/run/run.ts";
import type { Op } from "../../core/store/change.ts";
import { withCommit } from "./run-commits.ts";

const runId = "r" as RunId;
const body: RunBody = { lane: "main", seqs: [1], calls: [], iterations: 0, deliveries: 0 };
const step = (of: RunBody = body): Op => ({ op: "run.step", runId, body: of });
const commitsIn = (ops: readonly Op[]) => ops.flatMap((op) => ("body" in op ? [(op.body as RunBody).commits] : []))[0];

test("each commit of a run is noted, the node where it begins to work on it", () => {
  const taken = withCommit([{ op: "run.open", runId, body }], undefined, { site: "take", at: 1, node: 1 });
  const thought = withCommit([step()], taken.known, { site: "think", at: 2, node: 1 });
  expect(commitsIn(thought.ops)).toEqual([
    { site: "take", at: 1, node: 1 },
    { site: "think", at: 2 },
  ]);
  // Another process reads the run from the store and continues it.
  const resumed = withCommit([step({ ...body, commits: commitsIn(thought.ops) })], undefined, {
    site: "resume",
    at: 9,
    node: 2,
  });
  expect(commitsIn(resumed.ops)?.slice(2)).toEqual([{ site: "resume", at: 9, node: 2 }]);
});

test("a new run begins with no commits of the one before, and other ops are left alone", () => {
  const first = withCommit([step()], undefined, { site: "think", at: 1, node: 1 });
  const other = "s" as RunId;
  const next = withCommit([{ op: "run.open", runId: other, body }], first.known, { site: "take", at: 2, node: 1 });
  expect(commitsIn(next.ops)).toEqual([{ site: "take", at: 2, node: 1 }]);
  const release: readonly Op[] = [{ op: "agent.release" }];
  expect(withCommit(release, first.known, { site: "release", at: 3, node: 1 })).toEqual({
    ops: release,
    known: first.known,
  });
});

test("a commit that ends one run and opens the next is noted for the next, and one that opens a run and steps it goes on", () => {
  const other = "s" as RunId;
  const first = withCommit([step()], undefined, { site: "think", at: 1, node: 1 });
  const both = withCommit([step(), { op: "run.open", runId: other, body }], first.known, { site: "x", at: 2, node: 1 });
  expect(both.known).toEqual({ runId: other, list: [{ site: "x", at: 2, node: 1 }] });
  const back = withCommit([{ op: "run.open", runId: other, body }, step()], first.known, { site: "y", at: 3, node: 1 });
  expect(back.known?.runId).toBe(runId);
  expect(back.known?.list.map(({ site }) => site)).toEqual(["think", "y"]);
});

test("of a long run the first and the latest are kept", () => {
  let known: ReturnType<typeof withCommit>["known"];
  for (let n = 0; n < 500; n++) ({ known } = withCommit([step()], known, { site: `s${n}`, at: n, node: 1 }));
  expect(known?.list).toHaveLength(60);
  expect([known?.list[0]?.site, known?.list.at(-1)?.site]).toEqual(["s0", "s499"]);
});

test("a reservation, which replaces the record, keeps them", () => {
  const { known } = withCommit([step()], undefined, { site: "think", at: 1, node: 1 });
  const reserve: Op = { op: "budget.reserve", id: "b", runId, call: {} as never, rows: [], counted: body };
  const [op] = withCommit([reserve], known, { site: "reserve", at: 2, node: 1 }).ops;
  expect(op).toMatchObject({ counted: { commits: [{ site: "think", at: 1, node: 1 }] } });
});
