/** People: who they are, what was granted to them, and inviting them. Only the owner changes them. */
import type { List } from "../../core/list.ts";
import type { Verdict } from "../../core/people/grant.ts";
import type { PersonRecord } from "../../core/people/person-record.ts";
import { checkedId } from "./checked-options.ts";
import { type EngineApi, pathOf } from "./engine-api.ts";

/** `id` names the person. The other fields are those of `people.records` in the configuration. */
type NewPerson = Pick<PersonRecord, "id"> &
  Partial<Pick<PersonRecord, "name" | "role" | "accounts" | "grants" | "limits" | "timeZone" | "language">>;

/** Null removes a field. */
type PersonPatch = {
  readonly [Field in "name" | "timeZone" | "language" | "limits"]?: PersonRecord[Field] | null;
} & Partial<Pick<PersonRecord, "role">>;

interface Invitation {
  readonly person: string;
  /** Opens a login once. It is shown here only. */
  readonly link: string;
  readonly expiresAt: number;
}

/** What was removed, and what stays. It names a random tombstone, as the audit log does, not the person. */
export interface ForgetReceipt {
  readonly tombstone: string;
  readonly at: number;
  readonly removed: Readonly<Record<"agents" | "messages" | "jobs" | "files" | "logins" | "tokens", number>>;
  /** Other people's conversations, and files of the home, that mention the person. */
  readonly mentions: readonly {
    readonly kind: "conversation" | "file";
    readonly where: string;
    readonly sessionKey?: string;
    readonly count?: number;
  }[];
  /** Backups that were made before. They still contain the person. */
  readonly backups: readonly string[];
}

export interface People {
  /** By id. Send `next` as `after` for the next page. Changes nothing. */
  list(page?: { readonly after?: string; readonly limit?: number }): Promise<List<PersonRecord, string>>;
  /** One person, with accounts and grants. Changes nothing. */
  get(person: string): Promise<PersonRecord>;
  /** A guest unless `role` says otherwise. Durable when it resolves; rejects if there is a record with that id. */
  add(person: NewPerson, options?: { readonly id?: string }): Promise<PersonRecord>;
  /** Durable when it resolves. */
  update(person: string, change: PersonPatch): Promise<PersonRecord>;
  /** An account on a channel, such as `telegram:42`, belongs to the person from now on. Durable when it resolves. */
  link(person: string, account: string): Promise<PersonRecord>;
  /** Durable when it resolves. */
  unlink(person: string, account: string): Promise<PersonRecord>;
  /**
   * Allows a tool or another action, or asks or denies it. Replaces the grant with the same subject. Durable when it resolves, and in
   * force for every effect that starts afterwards.
   */
  grant(
    person: string,
    subject: string,
    more?: { readonly verdict?: Verdict; readonly note?: string },
  ): Promise<PersonRecord>;
  /** Takes a grant away, by its subject. Durable when it resolves, and in force for every effect that starts afterwards. */
  revoke(person: string, subject: string): Promise<PersonRecord>;
  /** A link that opens a login once, within 24 hours. Makes a guest if there is no record. Durable when it resolves. */
  invite(person: string): Promise<Invitation>;
  /** Everything of a person as a tar.gz: record, conversations, jobs, files, workspace. Changes nothing. */
  export(person: string): Promise<Uint8Array<ArrayBuffer>>;
  /**
   * Removes everything of a person: agents, jobs, files, notes and rows. What others hold is listed in the receipt and stays. Durable when
   * it resolves; a call that was cut off is completed by the next one.
   */
  forget(person: string): Promise<ForgetReceipt>;
  /** Ends the person's logins too; what they started has no rights from then on. Durable when it resolves. */
  remove(person: string): Promise<void>;
}

export const peopleOf = (api: EngineApi): People => ({
  list: (page) => api.get("/api/people", { ...page }),
  get: (person) => api.get(pathOf("api", "people", person)),
  add: async (person, options) => api.post("/api/people", person, checkedId(options)),
  update: (person, change) => api.patch(pathOf("api", "people", person), change),
  link: (person, account) => api.post(pathOf("api", "people", person, "accounts"), { account }),
  unlink: (person, account) => api.delete(pathOf("api", "people", person, "accounts"), { account }),
  grant: (person, subject, more) => api.post(pathOf("api", "people", person, "grants"), { subject, ...more }),
  revoke: (person, subject) => api.delete(pathOf("api", "people", person, "grants"), { subject }),
  invite: (person) => api.post(pathOf("api", "people", person, "invitations")),
  export: (person) => api.bytes(pathOf("api", "people", person, "data")),
  forget: (person) => api.delete(pathOf("api", "people", person, "data")),
  async remove(person) {
    await api.delete(pathOf("api", "people", person));
  },
});
