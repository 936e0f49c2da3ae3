/** Calls are started only by a commit that names the rights they were judged by, and each by one yes (L13, M30, M31). */
import { describe, expect, it, test } from "vitest";
import { TestEngine } from "../../../test/kit/engine.ts";
import { gate } from "../../../test/kit/gate.ts";
import { inTurn } from "../../../test/kit/model.ts";
import { dieAt } from "../../../test/kit/store.ts";
import type { ChangeId, RunId } from "../../core/ids.ts";
import type { Grant } from "../../core/people/grant.ts";
import { OWNER } from "../../core/people/person.ts";
import type { ApprovalId } from "../../core/rights/approval.ts";
import type { Change } from "../../core/store/change.ts";
import { UNKNOWN_OUTCOME } from "./call-tool.ts";

let changes = 0;
const put = (engine: TestEngine, grants: readonly Grant[], commit = engine.store.commit) =>
  commit({
    ...{ id: `test-${++changes}` as ChangeId, site: "test", at: engine.clock.now() },
    ops: [
      {
        op: "person.put",
        person: { id: "ann", role: "guest", accounts: ["test:ann"], grants, createdAt: 1, createdBy: "owner" },
      },
    ],
  });

const open = async (grants: readonly Grant[], calls = ["exec"]) => {
  const engine = await TestEngine.open({
    script: ({ request }) =>
      request.messages.at(-1)?.role === "tool" ? "done" : { call: calls.map((name) => ({ name })) },
    tools: {
      exec: { rights: ["exec"], replay: "never" },
      look: { rights: ["read"], replay: "never" },
      plain: { rights: [], replay: "never" },
    },
    system: { rights: { surroundingsOf: async () => ({}) } },
    settings: { owner: { accounts: ["test:olga"] } },
  });
  await put(engine, grants);
  return engine;
};

/** Does something before the nth commit of a site. Returns how often the site was tried. */
function beforeCommit(engine: TestEngine, site: string, act: (nth: number) => Promise<unknown> | undefined) {
  const commit = engine.store.commit;
  let tries = 0;
  engine.store.commit = async (change: Change) => {
    if (change.site === site) await act(++tries);
    return commit(change);
  };
  return { tries: () => tries, commit };
}

const executed = (engine: TestEngine) => engine.executions.map(({ name }) => name);
const audit = async (engine: TestEngine) =>
  [...(await engine.store.audit({ limit: 20 }))]
    .reverse()
    .map(({ action, decision, outcome }) => [action, decision, outcome ?? ""].join(" ").trim());

describe("a right that changes between the judgement and the commit", () => {
  it("is judged again: a call that it forbade in between does not start", async () => {
    const engine = await open([{ allow: "exec" }]);
    const around = beforeCommit(engine, "think", (nth) => (nth === 1 ? put(engine, [], around.commit) : undefined));
    await engine.tell("go");
    expect(around.tries()).toBe(2);
    expect(executed(engine)).toEqual([]);
    expect(engine.shown()).toEqual(["done"]);
    expect((await engine.transcript()).filter((line) => line.startsWith("tool: "))).toHaveLength(1);
  });

  it("is judged again: a call that it allowed in between starts", async () => {
    const engine = await open([]);
    const around = beforeCommit(engine, "think", (nth) =>
      nth === 1 ? put(engine, [{ allow: "exec" }], around.commit) : undefined,
    );
    await engine.tell("go");
    expect(executed(engine)).toEqual(["exec"]);
    expect(engine.requests).toHaveLength(2);
    expect(engine.shown()).toEqual(["done"]);
  });

  it("is judged five times at most before the agent is read again; the call still starts once", async () => {
    const engine = await open([{ allow: "exec" }]);
    const around = beforeCommit(engine, "think", (nth) =>
      nth <= 5 ? put(engine, [{ allow: "exec" }, { allow: `none-${nth}` }], around.commit) : undefined,
    );
    await engine.tell("go");
    expect([around.tries(), executed(engine)]).toEqual([5, []]);
    await engine.advance(1_000);
    expect(executed(engine)).toEqual(["exec"]);
    expect(engine.shown()).toEqual(["done"]);
  });
});

describe("a right that changes before the question is asked", () => {
  const openWith = async (before: readonly Grant[], later: readonly Grant[]) => {
    const engine = await open(before);
    const commit = engine.store.commit;
    let changed = false;
    engine.store.commit = async (change: Change) => {
      const result = await commit(change);
      if (change.site === "think" && !changed) {
        changed = true;
        await put(engine, later, commit);
      }
      return result;
    };
    await engine.tell("go");
    return engine;
  };

  it("lets a call start that needs no yes any more: no one is asked", async () => {
    const engine = await openWith([{ ask: "exec" }], [{ allow: "exec" }]);
    expect(executed(engine)).toEqual(["exec"]);
    expect(await engine.store.approvals({ limit: 5 })).toEqual([]);
    expect(engine.shown()).toEqual(["done"]);
    expect(await engine.states()).toEqual(["answered"]);
  });

  it("denies a call that it forbids now: no one is asked", async () => {
    const engine = await openWith([{ ask: "exec" }], [{ deny: "exec" }]);
    expect(executed(engine)).toEqual([]);
    expect(await engine.store.approvals({ limit: 5 })).toEqual([]);
    expect(engine.shown()).toEqual(["done"]);
    expect(await engine.states()).toEqual(["answered"]);
  });
});

describe("a question whose commit is refused", () => {
  /** The commits of the question that were tried, with the first ones refused. */
  const refusing = async (refused: "conflict" | "missing" | "session", times: number) => {
    const engine = await open([{ ask: "exec" }]);
    const commit = engine.store.commit;
    let tries = 0;
    engine.store.commit = async (change: Change) => {
      if (change.site !== "suspend" || ++tries > times) return commit(change);
      return { ok: false, refused, detail: "refused by the test" };
    };
    await engine.tell("go");
    const first = tries;
    await engine.advance(5_000);
    return { first, asked: await engine.store.approvals({ limit: 5 }), executed: executed(engine) };
  };

  it.each([
    ["conflict", 1, 2],
    ["missing", 7, 8],
    ["conflict", 8, 8],
    ["session", 1, 1],
  ] as const)(
    "as %s, %d times, is tried %d times before the agent is read again, and asked once",
    async (refused, times, first) => {
      const found = await refusing(refused, times);
      expect(found.first).toBe(first);
      expect(found.asked).toMatchObject([{ state: "pending", tool: "exec" }]);
      expect(found.executed).toEqual([]);
    },
  );
});

test.each(["unknown-lost", "unknown-applied", "full"] as const)(
  "an intent whose commit ends as %s is not committed again from memory, and its call starts once",
  async (outcome) => {
    const engine = await open([{ allow: "exec" }]);
    const tries: number[] = [];
    engine.onCommit = ({ site }, nth) => {
      if (site !== "think") return "go";
      tries.push(nth);
      return nth === 1 ? outcome : "go";
    };
    await engine.tell("go");
    expect(tries).toEqual([1]);
    await engine.advance(1_000);
    expect(executed(engine)).toEqual(["exec"]);
    expect(engine.shown()).toEqual(["done"]);
    expect(await engine.states()).toEqual(["answered"]);
  },
);

describe("the audit log", () => {
  it("has a row for each call that was denied, and for each that acted, not for one that only read", async () => {
    const engine = await open([{ allow: "look" }, { allow: "plain" }, { deny: "exec" }], ["exec", "look", "plain"]);
    await engine.tell("go");
    expect(executed(engine)).toEqual(["look", "plain"]);
    expect((await audit(engine)).filter((row) => row.startsWith("exec"))).toEqual(["exec deny"]);
    expect((await audit(engine)).filter((row) => row.startsWith("look"))).toEqual([]);
  });

  test.each([
    ["exec", ["exec allow unknown"]],
    ["look", []],
    ["plain", []],
  ])("says of a call of %s that a crash interrupted: %j", async (name, rows) => {
    const engine = await open([{ allow: "*" }], [name]);
    engine.onCommit = dieAt("think", "after");
    await engine.tell("go");
    await engine.restart();
    expect((await engine.transcript()).at(2)).toBe(`tool: ${UNKNOWN_OUTCOME}`);
    expect((await audit(engine)).filter((row) => row.startsWith(name))).toEqual(rows);
  });

  it("says that the outcome of a call is unknown if its run is aborted while it works", async () => {
    const hold = gate<string>();
    const engine = await TestEngine.open({
      script: inTurn({ call: [{ name: "exec" }] }, "done"),
      tools: { exec: { rights: ["exec"], execute: () => hold.promise } },
      system: { rights: {} },
      settings: { owner: { accounts: ["test:ann"] } },
    });
    await engine.tell("go");
    await engine.system.runs.abort((await engine.runs())[0]?.id as RunId);
    await engine.advance(10_000);
    expect(await engine.states()).toEqual(["aborted"]);
    expect(await audit(engine)).toEqual(["exec allow unknown"]);
  });
});

describe("a no", () => {
  const pending = async (engine: TestEngine) =>
    (await engine.store.approvals({ states: ["pending"], limit: 10 })).map(({ id }) => id as ApprovalId);

  it("counts for its task only: a later task with the same call is asked about again", async () => {
    const engine = await open([{ ask: "exec" }]);
    await engine.tell("go");
    const [id] = await pending(engine);
    await engine.system.approvals.decide(id as ApprovalId, { approve: false }, { person: OWNER, surface: "test" });
    await engine.settle();
    expect(executed(engine)).toEqual([]);
    expect(await pending(engine)).toEqual([]);
    engine.script = inTurn({ call: [{ name: "exec" }] }, "done");
    await engine.tell("another task");
    expect(await pending(engine)).toHaveLength(1);
    expect(executed(engine)).toEqual([]);
  });
});
