/**
 * Lets people connected to one node see runs that work on another. A node says whose events it wants; whoever works on that
 * agent sends them over the store's way between nodes. Events keep their numbers. What is lost on the way is found missing.
 */

import { MAX_RELAYED, type Relay } from "../../../adapters/store/postgres/control-connection.ts";
import type { AgentId } from "../../../core/ids.ts";
import type { Clock } from "../../../core/ports/clock.ts";
import type { Log } from "../../../core/ports/log.ts";
import type { Store } from "../../../core/store/store.ts";
import type { RunEvents } from "../../../engine/runtime/run-events.ts";
import type { LiveTree } from "../../../engine/subagents/live-tree.ts";
import { TellOthers } from "./relay-publisher.ts";
import { FollowOthers, type TreeListener } from "./relay-subscriber.ts";
import { type Changed, Parts, partsOf, type Said } from "./wire.ts";

/** Agents that other nodes work on, for whoever listens here. Each answer says how to stop. */
export interface RemoteNodes {
  /** Their events are told to the listeners of runs here. */
  follow(agentId: AgentId): () => void;
  /** Calls back whenever a run of this agent has ended there. */
  awaitEnd(agentId: AgentId, ended: () => void): () => void;
  followTree(listener: TreeListener): () => void;
  /** Tells the other nodes that something all share was changed. */
  tellChanged(what: Changed): void;
  /** Calls back when another node has changed it, or may have. */
  onChanged(what: Changed, changed: () => void): () => void;
}

export interface EventRelay extends RemoteNodes {
  stop(): void;
}

interface RelayPorts {
  readonly relay: Relay;
  readonly events: RunEvents;
  readonly tree: Pick<LiveTree, "onChange">;
  readonly store: Pick<Store, "run" | "linesBack">;
  readonly clock: Clock;
  readonly log: Log;
}

const WANT_AGAIN_MS = 10_000;

/** For a process that changes something and goes. */
export const tellChanged = (relay: Relay, changed: Changed): void => {
  for (const part of partsOf({ changed }, 1, MAX_RELAYED)) relay.send(part);
};

export function relayEvents(ports: RelayPorts): EventRelay {
  const { relay } = ports;
  let name = 0;
  const send = (said: Said, to?: string): void => {
    name += 1;
    for (const part of partsOf(said, name, MAX_RELAYED)) relay.send(part, to);
  };
  const telling = new TellOthers({ ...ports, send, wantedMs: 3 * WANT_AGAIN_MS });
  const following = new FollowOthers({ ...ports, send, wantAgainMs: WANT_AGAIN_MS });
  const parts = new Parts();
  const watching = new Map<() => void, Changed>();
  const changed = (which?: Changed): void => {
    for (const [tell, what] of watching) if (which === undefined || which === what) tell();
  };
  const hear = (text: string, from: string): void => {
    const said = parts.add(text, from);
    if (!said) return;
    if ("want" in said) telling.want(said.want, said.interest, said.tail, from);
    else if ("unwant" in said) telling.unwant(said.unwant, from);
    else if ("wantTree" in said) telling.wantTree(said.wantTree, from);
    else if ("tell" in said) following.told(said.tell, from);
    else if ("tail" in said) following.tail(said.tail.last, said.tail.events, from);
    else if ("ended" in said) following.ended(said.ended);
    else if ("tree" in said) following.tree(said.tree.events, said.tree.changed, said.tree.all);
    else if ("changed" in said) changed(said.changed);
    else following.sayAgain(false);
  };
  const stopHearing = relay.listen(hear, () => {
    following.lost();
    changed();
  });
  send({ hello: true });
  return {
    follow: (agentId) => following.follow(agentId),
    awaitEnd: (agentId, ended) => following.awaitEnd(agentId, ended),
    followTree: (listener) => following.followTree(listener),
    tellChanged: (what) => send({ changed: what }),
    onChanged(what, tell) {
      const mine = (): void => tell();
      watching.set(mine, what);
      return () => watching.delete(mine);
    },
    stop() {
      stopHearing();
      telling.stop();
      following.stop();
    },
  };
}
