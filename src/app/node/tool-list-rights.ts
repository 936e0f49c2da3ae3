/**
 * The rights that decide which tools a model is shown: those of the person its agent belongs to. They may be some
 * seconds old: the list is a hint, and the gate decides.
 */
import type { AgentRecord } from "../../core/agent/agent.ts";
import { type PeopleSettings, personOfConversation } from "../../core/agent/person.ts";
import { kindOfPerson, type PersonId } from "../../core/people/person.ts";
import type { Standing } from "../../core/rights/decide.ts";
import type { Directory, Identity, PeopleNow } from "../../engine/people/directory.ts";

interface ListRights {
  /** Called before a prompt is built. */
  refresh(): Promise<void>;
  /** Undefined before the first read, and for an agent whose person is not known: then nothing is left out. */
  standingOf(agent: AgentRecord): Standing | undefined;
}

export function listRights(directory: Pick<Directory, "recent"> | undefined, settings: Identity): ListRights {
  let people: PeopleNow | undefined;
  return {
    async refresh() {
      people = await directory?.recent();
    },
    standingOf(agent) {
      const person = agent.person ?? ofConversation(agent, settings.current.identity);
      if (person === undefined) return undefined;
      // In a group anyone may speak. What a guest is never allowed is left out.
      if (kindOfPerson(person) === "group") return { person, role: "guest", grants: [] };
      return people?.standing(person);
    },
  };
}

const ofConversation = ({ descriptor }: AgentRecord, settings: PeopleSettings): PersonId | undefined =>
  descriptor.type === "user" ? (personOfConversation(descriptor, settings) as PersonId) : undefined;
