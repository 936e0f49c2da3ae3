/** The tables `swarms` and `swarm_contacts`: reads, and how ops on them are sent. */
import type { SwarmRecord } from "../../../core/agent/swarm.ts";
import type { StoreReader } from "../../../core/store/store.ts";
import { type ContactRow, contactOf, readablePage, storedJson } from "../rows.ts";
import type { Statement } from "./batched-reads.ts";
import { clean, cleanIfAny } from "./clean-text.ts";
import type { Connections } from "./connections.ts";
import type { Lock, OpForms } from "./op-form.ts";

const SELECT: Statement = { name: "select-swarm", text: "SELECT record FROM swarms WHERE nametag = $1" };
const SELECT_PAGE: Statement = {
  name: "select-swarms",
  text: "SELECT record FROM swarms WHERE nametag > $1 ORDER BY nametag LIMIT $2",
};
const CONTACT_COLUMNS = "swarm, contact, agent, sent, received, first_at, last_at";
const SELECT_CONTACT: Statement = {
  name: "select-swarm-contact",
  text: `SELECT ${CONTACT_COLUMNS} FROM swarm_contacts WHERE swarm = $1 AND contact = $2`,
};
const SELECT_CONTACTS: Statement = {
  name: "select-swarm-contacts",
  text: `SELECT ${CONTACT_COLUMNS} FROM swarm_contacts WHERE swarm = $1 ORDER BY last_at DESC, contact LIMIT $2`,
};

interface RecordRow {
  readonly record: string;
}

const recordOf = ({ record }: RecordRow): SwarmRecord => storedJson(record);

type SwarmReads = "swarm" | "swarmContact" | "swarmContacts" | "swarms";

export const swarmReads = (connections: Connections): Pick<StoreReader, SwarmReads> => ({
  swarm: async (nametag) => {
    const row = await connections.one<RecordRow>(SELECT, nametag);
    return row && recordOf(row);
  },
  swarms: ({ after = "", limit }) =>
    readablePage(limit, recordOf, (asked) => connections.all<RecordRow>(SELECT_PAGE, after, asked)),
  swarmContact: async (nametag, contact) => {
    const row = await connections.one<ContactRow>(SELECT_CONTACT, nametag, contact);
    return row && contactOf(row);
  },
  swarmContacts: async (nametag, { limit }) =>
    (await connections.all<ContactRow>(SELECT_CONTACTS, nametag, limit)).map(contactOf),
});

const swarmLock = (nametag: string): readonly Lock[] => [["names", `swarm ${clean(nametag)}`]];

export const swarmOps: OpForms<"swarm.put" | "swarm.remove" | "swarm.contact"> = {
  "swarm.put": {
    wire: ({ swarm, fresh }) => ({
      nametag: clean(swarm.nametag),
      record: JSON.stringify(swarm),
      fresh: fresh || undefined,
    }),
    locks: ({ swarm }) => swarmLock(swarm.nametag),
  },
  "swarm.remove": { wire: ({ nametag }) => ({ nametag: clean(nametag) }), locks: ({ nametag }) => swarmLock(nametag) },
  "swarm.contact": {
    wire: ({ nametag, contact, agentId, sent = 0, received = 0, known }) => ({
      nametag: clean(nametag),
      contact: clean(contact),
      agent: cleanIfAny(agentId),
      sent,
      received,
      known: known || undefined,
    }),
    locks: ({ nametag }) => swarmLock(nametag),
  },
};
