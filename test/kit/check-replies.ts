/** Compares every reply of the gateway in a test with the schema of its route. A document that differs fails the test. */
import { subscribe } from "node:diagnostics_channel";
import { isDeepStrictEqual } from "node:util";
import { afterEach, expect } from "vitest";
import type { Reply } from "../../src/app/gateway/http/send-reply.ts";
import type { Route } from "../../src/app/gateway/routing/route.ts";

interface PublishedReply {
  readonly route: Route;
  readonly reply: Reply;
}

const seen: PublishedReply[] = [];
const isSubscribed = Symbol.for("rookery.test.check-replies");

// A worker loads this file once per test file, and keeps its subscriptions.
const worker = globalThis as { [isSubscribed]?: PublishedReply[] };
if (!worker[isSubscribed]) {
  worker[isSubscribed] = seen;
  subscribe("rookery.reply", (message) => worker[isSubscribed]?.push(message as PublishedReply));
}

afterEach(async () => {
  const replies = worker[isSubscribed]?.splice(0) ?? [];
  if (replies.length === 0) return;
  const { isSchema, outputsByStatus } = await import("../../src/app/gateway/routing/output.ts");
  const problems = replies.flatMap(({ route: { method, path, output }, reply }) => {
    if (!("json" in reply)) return [];
    const status = reply.status ?? 200;
    const schema = outputsByStatus(output)
      .find((one) => one.status === status)
      ?.contents.find(isSchema);
    // A secret is not stored: a repeated request gets an error that was recorded as its reply.
    if (!schema) return status >= 400 ? [] : [`${method} ${path} answers ${status}, which has no schema`];
    const sent: unknown = JSON.parse(JSON.stringify(reply.json));
    const { success, data, error } = schema.safeParse(sent);
    if (!success) return [`${method} ${path}: ${error.message}\n${JSON.stringify(sent).slice(0, 2_000)}`];
    // A schema that is not strict drops what it does not name.
    const kept: unknown = JSON.parse(JSON.stringify(data));
    return isDeepStrictEqual(kept, sent)
      ? []
      : [
          `${method} ${path} sends more than its schema names\nsent: ${JSON.stringify(sent)}\nkept: ${JSON.stringify(kept)}`,
        ];
  });
  expect([...new Set(problems)]).toEqual([]);
});
