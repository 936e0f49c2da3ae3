/**
 * People who read their mailboxes through any living node, and acknowledge what they have seen later, in any order and through
 * any other node. A node may die in between: then they read the same deliveries again.
 */
import type { DeliveryId } from "../../../src/core/ids.ts";
import { type AskDeps, askNode } from "./ask-node.ts";
import type { Channel } from "./channel.ts";
import type { Scheduler } from "./scheduler.ts";

export interface ReadersDeps extends AskDeps {
  readonly scheduler: Scheduler;
  /** The records of what was read. */
  readonly channel: Channel;
}

export function startReaders(deps: ReadersDeps, users: readonly string[]): void {
  for (const user of users) readLater(deps, user);
}

function readLater(deps: ReadersDeps, user: string): void {
  const { scheduler, random } = deps;
  scheduler.after(random.int(200, 2_500), () => {
    readNow(deps, user);
    readLater(deps, user);
  });
}

function readNow(deps: ReadersDeps, user: string): void {
  const { channel, random, scheduler } = deps;
  askNode(deps, "readMailbox", {
    about: `show the mailbox of ${user}`,
    ask: (subject) => subject.readMailbox(user),
    onAnswer(rows, { name }) {
      for (const row of rows) channel.show(row, name);
      // Not all of them, and the newest first: any order is allowed.
      const ids = rows.map(({ id }) => id).filter(() => random.chance(0.8));
      if (ids.length > 0) scheduler.after(random.int(0, 900), () => acknowledge(deps, user, ids.reverse()));
    },
  });
}

function acknowledge(deps: ReadersDeps, user: string, ids: readonly DeliveryId[]): void {
  for (const id of ids) deps.channel.acknowledged.add(id);
  askNode(deps, "acknowledge", {
    about: `take ${ids.length} deliveries of ${user} as read`,
    ask: (subject) => subject.acknowledge(user, ids),
  });
}
