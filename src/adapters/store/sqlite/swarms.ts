/** The tables `swarms` and `swarm_contacts`: swarms by their name, and the directory of their contacts. */
import type { SwarmRecord } from "../../../core/agent/swarm.ts";
import type { Op } from "../../../core/store/change.ts";
import type { StoreReader } from "../../../core/store/store.ts";
import { type ContactRow, contactOf, readablePage, storedJson } from "../rows.ts";
import type { Applying } from "./agent-cache.ts";
import type { Database } from "./database.ts";
import { RefusedChange } from "./refused.ts";

const SELECT = "SELECT record FROM swarms WHERE nametag = ?";
const SELECT_PAGE = "SELECT record FROM swarms WHERE nametag > ? ORDER BY nametag LIMIT ?";
const PUT =
  "INSERT INTO swarms (nametag, record) VALUES (?, ?) ON CONFLICT (nametag) DO UPDATE SET record = excluded.record";
const REMOVE = "DELETE FROM swarms WHERE nametag = ?";
const CONTACT_COLUMNS = "swarm, contact, agent, sent, received, first_at, last_at";
const SELECT_CONTACT = `SELECT ${CONTACT_COLUMNS} FROM swarm_contacts WHERE swarm = ? AND contact = ?`;
const SELECT_CONTACTS = `SELECT ${CONTACT_COLUMNS} FROM swarm_contacts WHERE swarm = ? ORDER BY last_at DESC, contact LIMIT ?`;
const PUT_CONTACT = `INSERT INTO swarm_contacts (swarm, contact, agent, sent, received, first_at, last_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6)
ON CONFLICT (swarm, contact) DO UPDATE SET
  agent = coalesce(excluded.agent, agent), sent = sent + excluded.sent, received = received + excluded.received,
  last_at = max(last_at, excluded.last_at)`;
const REMOVE_CONTACTS = "DELETE FROM swarm_contacts WHERE swarm = ?";

type OpOf<Name extends Op["op"]> = Extract<Op, { op: Name }>;

interface RecordRow {
  readonly record: string;
}

const recordOf = ({ record }: RecordRow): SwarmRecord => storedJson(record);

export const swarmReads = (db: Database): Pick<StoreReader, "swarm" | "swarmContact" | "swarmContacts" | "swarms"> => ({
  swarm: async (nametag) => {
    const row = db.get<RecordRow>(SELECT, nametag);
    return row && recordOf(row);
  },
  swarms: ({ after = "", limit }) =>
    readablePage(limit, recordOf, (asked) => db.all<RecordRow>(SELECT_PAGE, after, asked)),
  swarmContact: async (nametag, contact) => {
    const row = db.get<ContactRow>(SELECT_CONTACT, nametag, contact);
    return row && contactOf(row);
  },
  swarmContacts: async (nametag, { limit }) => db.all<ContactRow>(SELECT_CONTACTS, nametag, limit).map(contactOf),
});

/** By name. Throws `CorruptDataError` if one cannot be parsed. */
export const firstSwarms = (db: Database, limit: number): SwarmRecord[] =>
  db.all<RecordRow>(SELECT_PAGE, "", limit).map(recordOf);

export function writeSwarm(db: Database, swarm: SwarmRecord): void {
  db.run(PUT, swarm.nametag, JSON.stringify(swarm));
}

export function putSwarm({ db, touched }: Applying, { swarm, fresh }: OpOf<"swarm.put">): undefined {
  if (fresh && db.get(SELECT, swarm.nametag)) {
    throw new RefusedChange("conflict", `Swarm already exists: ${swarm.nametag}`);
  }
  touched.add("swarms");
  writeSwarm(db, swarm);
}

/** Its agents stay; they are no longer reachable under the swarm's name. */
export function removeSwarm({ db, touched }: Applying, { nametag }: OpOf<"swarm.remove">): undefined {
  touched.add("swarms");
  db.run(REMOVE, nametag);
  db.run(REMOVE_CONTACTS, nametag);
}

/** Counts messages with a contact; the first one creates its row. */
export function countContact({ db, change }: Applying, op: OpOf<"swarm.contact">): undefined {
  const { nametag, contact, agentId, sent = 0, received = 0 } = op;
  if (!db.get(SELECT, nametag)) throw new RefusedChange("missing", `There is no swarm ${nametag}.`);
  if (op.known && !db.get(SELECT_CONTACT, nametag, contact)) {
    throw new RefusedChange("missing", "Swarm contact not found.");
  }
  db.run(PUT_CONTACT, nametag, contact, agentId ?? null, sent, received, change.at);
}
