/** A watchdog on a shared store: its note reaches the node that takes the run over. */
import { expect, it } from "vitest";
import { openPostgresStore } from "../../src/adapters/store/postgres/open-store.ts";
import { watchdogKey } from "../../src/core/run/watchdog-note.ts";
import { world } from "../e2e/blocked-process.ts";
import { freshDatabase } from "./shared.ts";

it("writes its note to the store over its own connection, and another node counts it", async (context) => {
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
  expect(JSON.parse((await store.fact(watchdogKey(run))) ?? "null")).toMatchObject({ runId: run, phase: "tool block" });
  const next = world(context, { store: url }).start("harmless");
  expect(await next.seen({ log: "a run blocked the program" })).toMatchObject({ run, times: 1, phase: "tool block" });
  expect(await store.fact(watchdogKey(run))).toBeUndefined();
});
