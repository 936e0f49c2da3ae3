/** The owner makes the record of a guest and removes it again, while the guest's messages, children and jobs are under way. */
import type { ChangeId } from "../../../src/core/ids.ts";
import type { Op } from "../../../src/core/store/change.ts";
import type { Random } from "../../kit/random.ts";
import { recordOf } from "../audit/audit-people.ts";
import type { EventLog } from "./event-log.ts";
import type { ServerBackend } from "./sim-store.ts";
import type { Conversation } from "./workload.ts";

export interface RecordsDeps {
  readonly random: Random;
  readonly log: EventLog;
  readonly backend: Pick<ServerBackend, "apply">;
  readonly people: readonly Conversation[];
  wall(): number;
}

export function makeRecords({ random, log, backend, people, wall }: RecordsDeps): { change(): void } {
  const guests = people.filter(({ user, members }) => user !== "u1" && !members);
  const channels = [...new Set(people.map(({ channel }) => channel))];
  const known = new Set<string>();
  let n = 0;
  return {
    change() {
      if (guests.length === 0) return;
      const { user } = random.pick(guests);
      const id = recordOf(user);
      const at = wall();
      const accounts = channels.map((channel) => `${channel}:${user}`);
      const record = { id, role: "guest", accounts, grants: [], createdAt: at, createdBy: "owner" } as const;
      const op: Op = known.delete(user) ? { op: "person.remove", id } : { op: "person.put", person: record };
      if (op.op === "person.put") known.add(user);
      log.write("world", `${op.op} ${id}`);
      backend.apply([{ id: `world-record-${++n}` as ChangeId, site: "world.record", at, ops: [op] }]);
    },
  };
}
