/** The contract of a connector, as checks that any test runner can use. */
import { holdProcess } from "../../adapters/system/hold-process.ts";
import { assertKnownKeys } from "../../core/known-keys.ts";
import type { IncomingMessage } from "../../core/message/incoming-message.ts";
import type { Accepted, Connector, ConnectorHost, OutgoingDelivery, SendResult } from "../../core/ports/connector.ts";

export interface ConnectorTrial {
  /** A new connector to the same channel. */
  readonly connector: () => Connector;
  /** Makes the channel bring one message in, and bring it again. */
  readonly bring: () => Promise<void>;
  /** A delivery that the channel takes. */
  readonly delivery: OutgoingDelivery;
}

const RESULTS: readonly SendResult["status"][] = ["sent", "refused", "retry", "unknown"];

/** What the connector does wrong; empty if it keeps the contract. */
export async function checkConnector(trial: ConnectorTrial): Promise<readonly string[]> {
  assertKnownKeys("checkConnector()", trial, { connector: true, bring: true, delivery: true });
  const release = holdProcess();
  try {
    return await problemsOf(trial);
  } finally {
    release();
  }
}

async function problemsOf({ connector, bring, delivery }: ConnectorTrial): Promise<readonly string[]> {
  const problems: string[] = [];
  const accepted: IncomingMessage[] = [];
  const host: ConnectorHost = {
    async accept(message): Promise<Accepted> {
      accepted.push(message);
      return { status: "accepted", agentId: "a" as never, messageId: "a:1" as never };
    },
    command: async () => ({ status: "stale" }),
  };
  const one = connector();
  await one.start(host);
  await bring();
  await bring();
  const ids = new Set(accepted.map(({ messageId }) => messageId));
  if (accepted.length === 0) problems.push("it brought no message in");
  if (ids.size > 1) problems.push("the same message has another `messageId` when it comes again");
  if (accepted.some((message) => message.connector !== one.name)) problems.push("a message names another connector");
  const sent = await one.send(delivery, AbortSignal.timeout(10_000)).catch(() => undefined);
  if (sent === undefined) problems.push('`send` throws; return { status: "unknown" } instead');
  else if (!RESULTS.includes(sent.status)) problems.push(`\`send\` returned the status ${String(sent.status)}`);
  const aborted = await one.send(delivery, AbortSignal.abort()).catch(() => undefined);
  if (aborted === undefined) problems.push("`send` throws when it is aborted");
  if (one.sendingClass === "reconcilable" && !one.lookup) problems.push("it is reconcilable and has no `lookup`");
  if (typeof one.health().ok !== "boolean") problems.push("`health` does not say whether it is ok");
  await one.stop();
  return problems;
}
