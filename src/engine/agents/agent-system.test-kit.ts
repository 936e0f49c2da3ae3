/** Shared by the tests of an agent system: people, their messages, records in the store, and a second node. */
import type { TestEngine } from "../../../test/kit/engine.ts";
import type { Config } from "../../config/config-schema.ts";
import type { ChangeId } from "../../core/ids.ts";
import type { IncomingMessage } from "../../core/message/incoming-message.ts";
import type { Message } from "../../core/message/message.ts";
import type { Grant } from "../../core/people/grant.ts";
import type { ConnectorHost } from "../../core/ports/connector.ts";
import type { CommitResult, Op } from "../../core/store/change.ts";
import type { AcceptResult } from "../inbox/accept.ts";
import { AgentSystem } from "./agent-system.ts";

/** A queue without debounce, with these settings. */
export const queueOf = (settings: Partial<Config["queue"]>): Config["queue"] => ({
  ...{ mode: "queue", debounceMs: 0, cap: 20, drop: "old", maxWaiting: 1_000, dedupe: "message-id", byChannel: {} },
  ...settings,
});

/** Another node on the engine's store, joined but not started. The engine needs a lease too. */
export async function otherNode(engine: TestEngine): Promise<AgentSystem> {
  const system = new AgentSystem(engine.ports({ alive: true, name: "other" }), {
    ...{ nodeName: "other", leaseMs: LEASE_MS, resolveModel: () => ({ model: "scripted", system: "" }) },
    settings: engine.settings,
  });
  await system.load();
  return system;
}
export const LEASE_MS = 3600_000;

let changes = 0;

/** Changes the store without the engine, as another node does. */
export const commit = (engine: TestEngine, ...ops: Op[]): Promise<CommitResult> =>
  engine.store.commit({ id: `outside-${++changes}` as ChangeId, site: "outside", at: engine.clock.now(), ops });

/** Gives `test:ID` a record with these grants. */
export const putPerson = (engine: TestEngine, id: string, grants: readonly Grant[] = []): Promise<CommitResult> =>
  commit(engine, {
    op: "person.put",
    person: { id, role: "guest", accounts: [`test:${id}`], grants, createdAt: 1, createdBy: "owner" },
  });

type Accepted = Exclude<AcceptResult, { status: "stale" }>;

export function accepted(result: AcceptResult): Accepted {
  if (result.status === "stale") throw new TypeError("not accepted");
  return result;
}

export async function storedMessage(engine: TestEngine, result: AcceptResult): Promise<Message> {
  const { agentId, seq } = accepted(result);
  const message = await engine.store.message(agentId, seq);
  if (!message) throw new TypeError("not stored");
  return message;
}

/** The fields of every message of a person. */
export const from = (name = "ann", messageId = `from-${++changes}`): Omit<IncomingMessage, "text"> => ({
  ...{ connector: "test", userId: name, channelId: name, messageId },
  delivery: { channel: "test", to: name },
});

/** The host of a channel's connector. */
export function hostOf(engine: TestEngine, name = "test"): Required<ConnectorHost> {
  const host = engine.hosts.get(name);
  if (!host) throw new TypeError(`no connector of ${name}`);
  return host as Required<ConnectorHost>;
}

/** How a promise ends, once it has ended. */
export function outcomeOf<Value>(promise: Promise<Value>): { value?: Value; error?: Error } {
  const outcome: { value?: Value; error?: Error } = {};
  promise.then(
    (value) => {
      outcome.value = value;
    },
    (error: Error) => {
      outcome.error = error;
    },
  );
  return outcome;
}
