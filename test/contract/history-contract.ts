/** History: positions, the leaf, and reading lines from the newest back. */
import { expect } from "vitest";
import { freshState } from "../../src/core/agent/fresh-state.ts";
import type { AgentId, EntryId } from "../../src/core/ids.ts";
import { childOf, type Opener, storeTest } from "./fixture.ts";

const append = (position: number, ...texts: string[]) => ({
  op: "entries.append" as const,
  position,
  lines: texts.map((text) => JSON.stringify({ type: "custom", text })),
  leaf: `leaf-${position}` as EntryId,
});

export function historyContract(open: Opener): void {
  storeTest("entries are appended only at the agent's next position", open, async (world) => {
    const a = await world.agent("a");
    await world.done([append(2, "c", "d")], a.owner);
    expect(await world.store.agent(a.id)).toMatchObject({ nextPos: 4, leaf: "leaf-2" });
    for (const wrong of [0, 2, 3, 5]) expect(await world.refused([append(wrong, "x")], a.owner)).toBe("conflict");
    await world.done([append(4, "e"), append(5, "f")], a.owner);
    const lines = await world.store.linesBack(a.id, { limit: 10 });
    expect(lines.map((line) => line.position)).toEqual([5, 4, 3, 2, 1, 0]);
    expect(lines[0]?.line).toBe('{"type":"custom","text":"f"}');
    expect(lines[5]?.line).toBe(`{"type":"session","id":"${a.id}"}`);
  });

  storeTest("lines are read in pages, from the newest back to the first", open, async (world) => {
    const a = await world.agent("a");
    const b = await world.agent("b");
    await world.done([append(2, ...Array.from({ length: 8 }, (_, i) => `a${i}`))], a.owner);
    await world.done([append(2, "b0")], b.owner);
    const positions: number[] = [];
    let before: number | undefined;
    for (let pages = 0; pages < 10; pages++) {
      const page = await world.store.linesBack(a.id, before === undefined ? { limit: 3 } : { limit: 3, before });
      if (page.length === 0) break;
      positions.push(...page.map((line) => line.position));
      before = page.at(-1)?.position;
    }
    expect(positions).toEqual([9, 8, 7, 6, 5, 4, 3, 2, 1, 0]);
    expect(await world.store.linesBack(b.id, { limit: 1 })).toEqual([
      { position: 2, line: '{"type":"custom","text":"b0"}' },
    ]);
  });

  storeTest("the leaf can move without a new entry, and a state keeps unknown fields", open, async (world) => {
    const a = await world.agent("a");
    const state = { ...freshState(7), label: "pet", fromTheFuture: { deep: [1, "ü", null] } };
    await world.done(
      [
        { op: "leaf.move", leaf: "elsewhere" as EntryId },
        { op: "state.put", state },
      ],
      a.owner,
    );
    expect(await world.store.agent(a.id)).toMatchObject({ leaf: "elsewhere", nextPos: 2, state });
  });

  storeTest("agents are listed in the order they were made, in pages", open, async (world) => {
    for (const name of ["c", "a", "b"]) await world.agent(name);
    const first = await world.store.agents({ limit: 2 });
    const last = first.at(-1);
    const rest = await world.store.agents(last ? { limit: 2, after: last.id } : { limit: 2 });
    const names = [...first, ...rest].map((agent) => agent.descriptor.type === "user" && agent.descriptor.userId);
    expect(names).toEqual(["c", "a", "b"]);
  });

  storeTest("agents of one kind are listed in the order they were made, in pages", open, async (world) => {
    const parent = await world.agent("parent");
    for (const name of ["c", "a", "b"]) {
      await world.agent(`child ${name}`, childOf(parent.id, name));
      await world.agent(`person ${name}`);
    }
    const names: unknown[] = [];
    let after: AgentId | undefined;
    for (;;) {
      const page = await world.store.agentsOfKind("subagent", { limit: 2, after });
      if (page.length === 0) break;
      names.push(...page.map(({ descriptor }) => descriptor.type === "subagent" && descriptor.name));
      after = page.at(-1)?.id;
    }
    expect(names).toEqual(["c", "a", "b"]);
    expect(await world.store.agentsOfKind("user", { limit: 10 })).toHaveLength(4);
    expect(await world.store.agentsOfKind("permanent", { limit: 10 })).toEqual([]);
  });
}
