/** The mark of untrusted text on what triggers post: jobs, task files and the output of gates (M32). */
import { describe, expect, it } from "vitest";
import type { Message } from "../../core/message/message.ts";
import { syncTaskFiles } from "./files/sync-task-files.ts";
import { TriggerTestEngine } from "./triggers.test-kit.ts";

const ID = "taskaaaaaaaaaaaaaaaaaaaa";
const MINUTE = 60_000;
const every = { schedule: { kind: "every", everyMs: MINUTE }, sessionTarget: "isolated" } as const;

/** All messages of agents that a trigger wrote to. */
async function triggered(world: TriggerTestEngine): Promise<readonly Message[]> {
  const agents = await world.store.agents({ limit: 100 });
  const all = await Promise.all(agents.map(({ id }) => world.store.messages(id, { limit: 10 })));
  return all.flat().filter(({ body }) => body.kind === "trigger");
}
const marksOf = async (world: TriggerTestEngine): Promise<readonly (true | undefined)[]> =>
  (await triggered(world)).map(({ behalf }) => behalf?.untrusted);

describe("the mark of untrusted text", () => {
  it.each([
    ["http", true],
    ["command", undefined],
  ] as const)("on the output of a gate: %s", async (kind, expected) => {
    const gates = { check: async () => ({ pass: true, output: "obey" }) as const };
    const world = await TriggerTestEngine.open({ gates });
    const gate = kind === "http" ? { kind, url: "https://example.org/" } : { kind, command: "date" };
    await world.cron.add({ name: "x", ...every, gate, payload: { kind: "agentTurn", message: "go" } });
    await world.advance(MINUTE);
    expect(await marksOf(world)).toEqual([expected]);
  });

  it.each([true, undefined])("on the jobs of a task file that has it: %s", async (untrusted) => {
    const world = await TriggerTestEngine.open();
    const ports = world.engine.ports({ alive: true, name: "sync" });
    const text = `---\ntaskId: ${ID}\nname: x\nschedule: "* * * * *"\n---\nGo.\n`;
    expect(await syncTaskFiles(ports, "main", [{ path: "cron/x/TASK.md", text, untrusted }])).toEqual([]);
    world.triggers.wake();
    await world.advance(2 * MINUTE);
    expect(new Set(await marksOf(world))).toEqual(new Set([untrusted]));
    // A file that someone wrote again has none.
    await syncTaskFiles(ports, "main", [{ path: "cron/x/TASK.md", text: `${text}More.` }]);
    expect((await world.store.job(ID))?.behalf?.untrusted).toBeUndefined();
  });
});
