/**
 * The names of people on the API's channel. `app:shop/ann` is a user of an application, `person:ann` a person with a record, any
 * other name a user that an old token or the owner named. The three never meet: a caller cannot name one of the first two forms.
 */
import { accountOf, kindOfPerson, type PersonId } from "./person.ts";

const CHANNEL = "api";
const PERSON = "person:";
const APP = "app:";

/** The name of a person on the API's channel; undefined for accounts of other channels, for groups and for the owner. */
export function apiUserOf(person: PersonId): string | undefined {
  switch (kindOfPerson(person)) {
    case "app":
      return person;
    case "record":
      return `${PERSON}${person}`;
    case "account":
      return person.startsWith(`${CHANNEL}:`) ? unescaped(person.slice(CHANNEL.length + 1)) : undefined;
    default:
      return undefined;
  }
}

/** The person with this name on the API's channel. */
export function personOfApiUser(user: string): PersonId {
  if (kindOfPerson(user) === "app") return user as PersonId;
  const record = user.startsWith(PERSON) ? user.slice(PERSON.length) : "";
  return kindOfPerson(record) === "record" ? (record as PersonId) : accountOf(CHANNEL, user);
}

/** Whether a name has a form that only a token of an application or of a person gives. */
export const isReservedUser = (user: string): boolean => user.startsWith(APP) || user.startsWith(PERSON);

const ESCAPE = "dm:";

/** Undoes what `accountOf` does to a name that would read as a group. */
function unescaped(name: string): string {
  const rest = name.startsWith(ESCAPE) ? name.slice(ESCAPE.length) : undefined;
  return rest !== undefined && accountOf(CHANNEL, rest) === `${CHANNEL}:${name}` ? rest : name;
}
