/** The command line is a client: it reaches an engine and its store only by the client, except where there is nothing to ask. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { connectedBy } from "../client/connect-url.ts";
import { upTo } from "./up-to.ts";

const ROOT = join(import.meta.dirname);

/** Commands on the files and databases themselves, and why no engine can be asked. */
const BELOW: Readonly<Record<string, string>> = {
  "commands/doctor.ts": "checks a home whose engine may not start",
  "commands/engine-nodes.ts": "lists the nodes of a shared store, also when none runs",
  "commands/engine-repair.ts": "mends a database that no engine can open",
  "commands/people-tokens.ts": "lists the file of tokens, which says nothing that a token opens",
  "commands/engine-copy.ts": "copies and moves a store that no engine uses",
};

it("opens a store in no command but those that work on the files themselves", () => {
  const opening = readdirSync(ROOT, { recursive: true, encoding: "utf8" })
    .filter((file) => file.startsWith("commands/") && file.endsWith(".ts") && !file.includes(".test"))
    .filter((file) => /adapters\/store\/|read-home|open-idle-engine|open-node|with-tokens/.test(source(file)));
  expect(opening.toSorted()).toEqual(Object.keys(BELOW).toSorted());
});

const source = (file: string): string => readFileSync(join(ROOT, file), "utf8");

it("reads a long list page by page, and continues behind its last item", async () => {
  const asked: string[] = [];
  const rookery = connectedBy(async ({ path }) => {
    asked.push(path);
    const query = new URL(path, "http://x").searchParams;
    const [from, limit] = [Number(query.get("after") ?? 0), Number(query.get("limit"))];
    const items = Array.from({ length: Math.min(limit, 1_200 - from) }, (_, i) => ({ n: from + i + 1 }));
    const json = JSON.stringify({ items, next: items.length === limit ? from + items.length : null });
    const body = (async function* () {
      yield json;
    })();
    return { status: 200, body, bytes: async () => new Uint8Array() };
  });
  const list = (limit: number, after: number | undefined) => rookery.outbox.list({ limit, after });
  const some = await upTo(700, undefined, list);
  expect([some.items.length, some.next, asked.length]).toEqual([700, 700, 2]);
  const rest = await upTo(10_000, 700, list);
  expect([rest.items.length, rest.next]).toEqual([500, null]);
});
