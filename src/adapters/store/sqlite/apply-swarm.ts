/** Ops on swarms and their directory of contacts. */
import type { Op } from "../../../core/store/change.ts";
import type { Applying } from "./apply-change.ts";
import { RefusedChange } from "./refused.ts";

type OpOf<Name extends Op["op"]> = Extract<Op, { op: Name }>;

export function putSwarm({ db, touched }: Applying, { swarm, fresh }: OpOf<"swarm.put">): undefined {
  if (fresh && db.statement("select-swarm").get(swarm.nametag)) {
    throw new RefusedChange("conflict", `Swarm already exists: ${swarm.nametag}`);
  }
  touched.add("swarms");
  db.statement("put-swarm").run(swarm.nametag, JSON.stringify(swarm));
}

/** Its agents stay as they are; nobody reaches them under the name any more. */
export function removeSwarm({ db, touched }: Applying, { nametag }: OpOf<"swarm.remove">): undefined {
  touched.add("swarms");
  db.statement("remove-swarm").run(nametag);
  db.statement("remove-swarm-contacts").run(nametag);
}

/** Finds or makes the contact's row and counts. */
export function countContact({ db, change }: Applying, op: OpOf<"swarm.contact">): undefined {
  const { nametag, contact, agentId, sent = 0, received = 0 } = op;
  if (!db.statement("select-swarm").get(nametag)) throw new RefusedChange("missing", `There is no swarm ${nametag}.`);
  if (op.known && !db.statement("select-swarm-contact").get(nametag, contact)) {
    throw new RefusedChange("missing", "Swarm contact not found.");
  }
  db.statement("put-swarm-contact").run(nametag, contact, agentId ?? null, sent, received, change.at);
}
