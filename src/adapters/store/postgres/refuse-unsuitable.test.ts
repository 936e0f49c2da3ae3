import type pg from "pg";
import { expect, test } from "vitest";
import { StoreUnsuitableError } from "../../../core/errors.ts";
import { refuseUnsuitable } from "./refuse-unsuitable.ts";

/** Two clients; `pids` are the server processes that answer the question for them, one after the other. */
function server(version: number, pids: readonly number[]) {
  const clients: { sent: string[]; ended: boolean }[] = [];
  let asked = 0;
  const open = async (): Promise<pg.Client> => {
    const client = { sent: [] as string[], ended: false };
    clients.push(client);
    let isBusy = false;
    const query = async (text: string) => {
      if (isBusy) throw new Error(`Sent before the answer to the statement before: ${text}`);
      isBusy = true;
      client.sent.push(text);
      await new Promise(setImmediate);
      isBusy = false;
      if (text.startsWith("SHOW")) return { rows: [{ server_version_num: String(version) }] };
      return { rows: text.startsWith("SELECT") ? [{ pid: String(pids[asked++]) }] : [] };
    };
    const end = async () => {
      // A connection that ends before its transaction leaves that to the server.
      if (isBusy) throw new Error("Ended before the answer to a statement.");
      await new Promise(setImmediate);
      client.ended = true;
    };
    return { query, end } as unknown as pg.Client;
  };
  return { clients, open };
}

test("a server of the oldest version, with a process for each client, is suitable", async () => {
  const { clients, open } = server(150_000, [7, 8, 7]);
  await refuseUnsuitable(open);
  expect(clients.map(({ ended }) => ended)).toEqual([true, true]);
  // The other client must be in a transaction while the first asks again, or a pooler may give both the same process by chance.
  expect(clients[1]?.sent).toEqual(["BEGIN", "SELECT pg_backend_pid() AS pid", "COMMIT"]);
});

test("an older server is refused", async () => {
  const { clients, open } = server(149_999, [7, 8, 7]);
  await expect(refuseUnsuitable(open)).rejects.toThrow("The database is PostgreSQL 14, which is too old.");
  expect(clients.map(({ ended }) => ended)).toEqual([true, true]);
});

test.each([
  ["the same process serves both clients", [7, 7, 7]],
  ["a client's process changes between two statements", [7, 8, 9]],
])("a pooler is refused: %s", async (_, pids) => {
  const { clients, open } = server(160_000, pids);
  await expect(refuseUnsuitable(open)).rejects.toThrow(StoreUnsuitableError);
  expect(clients.map(({ ended }) => ended)).toEqual([true, true]);
});
