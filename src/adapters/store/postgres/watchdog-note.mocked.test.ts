/** The note of a watchdog: written by a connection of its own, which is given up in time and always ended. */
import { beforeEach, expect, test, vi } from "vitest";
import type { WatchdogNote } from "../../../core/run/trial.ts";
import { watchdogKey } from "../../../core/run/watchdog-note.ts";
import { writeSharedNote } from "./watchdog-note.ts";

/** What was done with the driver, in order. */
const done: unknown[] = [];
const state = { fails: "" };

vi.mock("pg", () => ({
  default: {
    Client: class {
      constructor(config: object) {
        done.push(config);
      }
      async connect(): Promise<void> {
        await this.#step("connect");
      }
      escapeIdentifier = (name: string): string => `<${name}>`;
      async query(text: string, values: unknown[]): Promise<void> {
        await this.#step("query");
        done.push(text.replaceAll(/\s+/g, " "), values);
      }
      end(): Promise<void> {
        return this.#step("end");
      }
      async #step(name: string): Promise<void> {
        await new Promise(setImmediate);
        done.push(name);
        if (state.fails === name) throw new Error(`${name} fails`);
      }
    },
  },
}));

const note = { runId: "r", phase: "tool x" } as unknown as WatchdogNote;
const write = (): Promise<void> => writeSharedNote({ url: "postgres://h/d", schema: "s" }, note);

beforeEach(() => {
  done.length = 0;
  state.fails = "";
});

test("it is in the facts of the schema when the promise resolves, and the connection has ended", async () => {
  await write();
  expect(done).toEqual([
    { connectionString: "postgres://h/d", application_name: "rookery watchdog", connectionTimeoutMillis: 1_500 },
    "connect",
    "query",
    "INSERT INTO <s>.facts (key, value) VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
    [watchdogKey("r" as never), JSON.stringify(note)],
    "end",
  ]);
});

test.each([
  ["connect", ["connect"]],
  ["query", ["connect", "query", "end"]],
  ["end", ["connect", "query", expect.any(String), expect.any(Array), "end"]],
])("it is not written if %s fails, and says so", async (step, steps) => {
  state.fails = step;
  await expect(write()).rejects.toThrow(`${step} fails`);
  expect(done.slice(1)).toEqual(steps);
});
