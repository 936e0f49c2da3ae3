import { setTimeout } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { openPostgresStore } from "../../src/adapters/store/postgres/open-store.ts";
import { watchdogKey } from "../../src/core/run/watchdog-note.ts";
import { freshDatabase } from "../postgres/shared.ts";
import { world } from "./blocked-process.ts";

describe.concurrent("a process whose event loop is blocked", () => {
  it("cannot handle SIGTERM, and is ended within the time of a stop; the next start knows its run and answers others", async (context) => {
    const { start, note, drainSeconds } = world(context);
    const first = start();
    await first.seen({ ready: true });
    first.tell("ann", "block");
    await first.seen({ tool: "block" });
    const at = performance.now();
    first.child.kill("SIGTERM");
    expect(await first.exit).toEqual([null, "SIGKILL"]);
    expect(performance.now() - at).toBeLessThan(1_000 * drainSeconds);
    expect(first.errors()).toContain("the event loop was blocked for 2 s while the run");
    const { agentId: agent, runId: run, ...noted } = note() ?? {};
    expect(noted).toMatchObject({ why: "blocked", phase: "tool block", seconds: 2 });
    const next = start("harmless");
    const reported = { log: "the last process was ended because its event loop was blocked" };
    expect(await next.seen(reported)).toMatchObject({ agent, run, phase: "tool block" });
    await next.seen({ ready: true });
    expect(note()).toBeUndefined();
    next.tell("bob", "hello");
    expect(await next.seen({ user: "bob" })).toMatchObject({ outcome: "ok" });
  });

  it("writes its note to a shared store over its own connection, and the node that takes the run over counts it", async (context) => {
    const url = await freshDatabase();
    const here = world(context, { store: url });
    const first = here.start();
    await first.seen({ ready: true });
    first.tell("ann", "block");
    expect(await first.exit).toEqual([null, "SIGKILL"]);
    // The store has the note, so the file is not needed.
    expect(here.note()).toBeUndefined();
    const run = /the run (\S+) was at "tool block"/.exec(first.errors())?.[1] ?? "";
    const store = await openPostgresStore({ url });
    context.onTestFinished(() => store.close());
    expect(JSON.parse((await store.fact(watchdogKey(run))) ?? "null")).toMatchObject({
      runId: run,
      phase: "tool block",
    });
    const next = world(context, { store: url }).start("harmless");
    expect(await next.seen({ log: "a run blocked the program" })).toMatchObject({ run, times: 1, phase: "tool block" });
    expect(await store.fact(watchdogKey(run))).toBeUndefined();
  });
});

describe.concurrent("a process that is not blocked", () => {
  it("survives a suspended machine; a stop that takes too long is ended, and the work continues at the next start", async (context) => {
    const { start, note, drainSeconds } = world(context, { drainSeconds: 3 });
    const process = start();
    await process.seen({ ready: true });
    // Loads what a first message needs: on a busy machine that alone can take as long as a blocked event loop may.
    process.tell("eve", "hello");
    expect(await process.seen({ user: "eve" })).toMatchObject({ outcome: "ok" });
    process.child.kill("SIGSTOP");
    await setTimeout(2_500);
    process.child.kill("SIGCONT");
    process.tell("bob", "hello");
    expect(await process.seen({ user: "bob" })).toMatchObject({ outcome: "ok" });
    process.tell("ann", "hang");
    await process.seen({ tool: "hang" });
    process.child.kill("SIGTERM");
    expect(await process.seen({ stopping: true })).toBeTruthy();
    expect(await process.exit).toEqual([null, "SIGKILL"]);
    expect(note()).toMatchObject({ why: "drain", seconds: drainSeconds });
    const next = start();
    expect(await next.seen({ tool: "hang" })).toBeTruthy();
    next.tell("bob", "hello");
    expect(await next.seen({ user: "bob" })).toMatchObject({ outcome: "ok" });
  });
});
