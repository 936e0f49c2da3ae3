/**
 * The owner of the world, who gives people a right and takes it away again while they write, through another program on the same
 * store. Everyone but the owner needs the right for one tool (L13).
 */
import type { ChangeId } from "../../../src/core/ids.ts";
import type { Random } from "../../kit/random.ts";
import type { Person } from "../subjects/subject.ts";
import { OWNER_USER } from "./approvers.ts";
import type { EventLog } from "./event-log.ts";
import type { ServerBackend } from "./sim-store.ts";

/** The tool that needs a grant. */
export const GRANTED_TOOL = "sim_act";

export interface RevocationDeps {
  readonly random: Random;
  readonly log: EventLog;
  readonly backend: ServerBackend;
  readonly people: readonly Person[];
  wall(): number;
}

export interface Revocations {
  /** Lets everyone in, half of them with the right. */
  start(): void;
  /** Gives someone the right, or takes it away. */
  change(): void;
}

export function makeRevocations({ random, log, backend, people, wall }: RevocationDeps): Revocations {
  const guests = people.filter(({ user }) => user !== OWNER_USER);
  const granted = new Set<Person>();
  let changes = 0;
  const put = (guest: Person): void => {
    const { channel, user } = guest;
    const at = wall();
    const id = `${channel}-${user}`.toLowerCase();
    const grants = granted.has(guest) ? [{ allow: GRANTED_TOOL }] : [];
    const person = {
      id,
      role: "guest",
      accounts: [`${channel}:${user}`],
      grants,
      createdAt: at,
      createdBy: "owner",
    } as const;
    backend.apply([
      { id: `rights-${++changes}` as ChangeId, site: "world.person", at, ops: [{ op: "person.put", person }] },
    ]);
    log.write("owner", `${granted.has(guest) ? "grants" : "denies"} ${id} ${GRANTED_TOOL}`);
  };
  return {
    start() {
      for (const guest of guests) {
        if (random.chance(0.5)) granted.add(guest);
        put(guest);
      }
    },
    change() {
      if (guests.length === 0) return;
      const guest = random.pick(guests);
      if (!granted.delete(guest)) granted.add(guest);
      put(guest);
    },
  };
}
