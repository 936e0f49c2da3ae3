/**
 * Lets people in. Someone who is not known reaches no agent and costs no model call: the answer is one line with a code, which the
 * owner confirms on any surface. A group is let in as a group: the right to write directly is not the right to use a group (L13).
 */
import { createHash } from "node:crypto";
import { userDescriptor } from "../../core/agent/address.ts";
import type { Button } from "../../core/delivery/delivery.ts";
import { ConflictError, InvalidInputError, NotFoundError } from "../../core/errors.ts";
import { accountOf, groupOf, isRecordId, OWNER, type PersonId } from "../../core/people/person.ts";
import type { Arriving } from "../../core/ports/connector.ts";
import type { Ports } from "../../core/ports/ports.ts";
import type { Op } from "../../core/store/change.ts";
import { type Actor, auditOp } from "./audit-entry.ts";
import { addPerson, changePerson, linked } from "./change-people.ts";
import type { Directory } from "./directory.ts";
import { addOwnerAccount } from "./owner-accounts.ts";
import { linkUntil, PairingBook, type PairingPages, type PairingRequest } from "./pairing-book.ts";

type PairingPorts = Pick<Ports, "store" | "ids" | "clock">;

/** Whether something may come in. `say`: the answer to its sender instead, at most once in a while. */
export type Entry =
  | { readonly let: "in" }
  | {
      readonly let: "out";
      readonly say?: string;
      readonly buttons?: readonly Button[];
      /** The owner, in a group that was not let in. */
      readonly isOwner?: true;
    };

const IN: Entry = { let: "in" };
const OUT = { let: "out" } as const;
/** The pause before someone who keeps writing gets the code again. */
const TELL_AGAIN_MS = 6 * 3600_000;
/** Of all strangers together in one minute: a crowd cannot make the engine write without end. */
const NEW_PER_MINUTE = 60;
const LETTERS = "bcdfghjkmnpqrstvwxz23456789";
const MAX_NAME = 80;

export class Pairing {
  readonly #ports: PairingPorts;
  readonly #directory: Directory;
  readonly #book: PairingBook;
  /** The latest arrival of each conversation that is being judged. */
  readonly #judging = new Map<string, Promise<unknown>>();
  #minute = { began: Number.NEGATIVE_INFINITY, count: 0 };

  constructor(ports: PairingPorts, directory: Directory) {
    this.#ports = ports;
    this.#directory = directory;
    this.#book = new PairingBook(ports);
  }

  /**
   * Asked for everything that comes from a channel. Durable before it says a code. Arrivals of one conversation are judged one after
   * the other, so that none overtakes an earlier one whose read takes longer (L2).
   */
  async entry(arriving: Arriving): Promise<Entry> {
    const { connector, channelId } = arriving;
    const key = JSON.stringify([connector, channelId]);
    const judged = (this.#judging.get(key) ?? Promise.resolve()).then(() => this.#judge(arriving));
    const done = judged.catch(() => undefined);
    this.#judging.set(key, done);
    try {
      return await judged;
    } finally {
      if (this.#judging.get(key) === done) this.#judging.delete(key);
    }
  }

  async #judge(arriving: Arriving): Promise<Entry> {
    // Throws if it names no one who could be let in.
    userDescriptor(arriving);
    const { connector, userId, channelId, peerKind = "dm", text } = arriving;
    const sender = accountOf(connector, userId);
    const asked = peerKind === "dm" ? sender : groupOf(connector, peerKind, channelId);
    const pages = await this.#book.recent();
    if (pages.blocked.includes(sender) || pages.blocked.includes(asked)) return OUT;
    const now = await this.#directory.recent();
    const person = now.sender(connector, userId);
    if (now.standing(peerKind === "dm" ? person : asked).role !== "stranger") return IN;
    const isOwner = peerKind !== "dm" && person === OWNER;
    if (text === undefined) return isOwner ? { ...OUT, isOwner } : OUT;
    if (isOwner) return this.#askOwner(asked, arriving);
    if (peerKind === "dm" && (await this.#useLink(sender, text, pages))) {
      return { let: "out", say: "This account is linked. Write again, and you are known here." };
    }
    return this.#ask(asked, arriving, pages);
  }

  /** The owner speaks in a group that was not let in. Asked each time: nobody else can do this. */
  async #askOwner(group: PersonId, arriving: Arriving): Promise<Entry> {
    const code = (await this.#find(group))?.code ?? (await this.#request(group, arriving));
    return {
      ...{ let: "out", isOwner: true, buttons: groupButtons(code) },
      say: `Shall I answer in this group? You can also let it in from our direct chat: /pair ${code}`,
    };
  }

  async #ask(account: PersonId, arriving: Arriving, pages: PairingPages): Promise<Entry> {
    const known = pages.requests.find((one) => one.account === account);
    if (known && this.#ports.clock.now() - known.toldAt < TELL_AGAIN_MS) return OUT;
    if (!this.#hasRoom()) return OUT;
    const code = await this.#request(account, arriving);
    return { let: "out", say: `Hello. I do not know you yet. If you know my owner, send them this code: ${code}` };
  }

  /** Stores that the account waits and gets its code now. Returns the code. */
  async #request(account: PersonId, { connector, senderName, subject }: Arriving): Promise<string> {
    const name = (subject ?? senderName)?.slice(0, MAX_NAME);
    let code = codeOf(this.#ports.ids.uuid(), 6);
    await this.#book.change((now, toldAt) => {
      const known = now.requests.find((one) => one.account === account);
      code = known?.code ?? code;
      const request: PairingRequest = { code, account, channel: connector, name, at: known?.at ?? toldAt, toldAt };
      return { ...now, requests: [...now.requests.filter((one) => one !== known), request] };
    });
    return code;
  }

  #hasRoom(): boolean {
    const now = this.#ports.clock.monotonic();
    if (now - this.#minute.began >= 60_000) this.#minute = { began: now, count: 0 };
    this.#minute.count += 1;
    return this.#minute.count <= NEW_PER_MINUTE;
  }

  async list(): Promise<readonly PairingRequest[]> {
    return (await this.#book.now()).requests;
  }

  async blocked(): Promise<readonly string[]> {
    return (await this.#book.now()).blocked;
  }

  /** Durable when it resolves. `as`: an existing or new person; absent: a new one, named after the account. */
  async approve(given: string, by: Actor, as?: string): Promise<{ person: string; account: string }> {
    const request = await this.#requestOf(given);
    const { account, name } = request;
    const id = as?.trim() || freeId(account);
    // In one commit: a code that has let someone in is gone.
    await this.#book.changeWith(
      (pages) => {
        if (!pages.requests.some((one) => one.code === request.code)) throw unknownCode(given);
        return without(pages, account);
      },
      (op) => this.#link(id, account, by, op, name),
    );
    await this.reread();
    return { person: id, account };
  }

  /** Makes an account that of a person, also a new one, in one commit with `op`. */
  async #link(id: string, account: string, by: Actor, op: Op, name?: string): Promise<void> {
    if (id === OWNER) return addOwnerAccount(this.#ports, by, account, [op]);
    if (!isRecordId(id)) {
      throw new InvalidInputError(`"${id.slice(0, 64)}" is not the id of a person.`, {
        hint: "Use 1 to 64 lower-case letters, digits, dots, dashes or underscores.",
      });
    }
    const also = (): readonly Op[] => [op];
    if (!(await this.#ports.store.person(id))) {
      try {
        return void (await addPerson(this.#ports, by, { id, name, accounts: [account] }, also));
      } catch (error) {
        if (!(error instanceof ConflictError) || !(await this.#ports.store.person(id))) throw error;
      }
    }
    const change = { action: "person.link", args: { account }, change: linked(account) };
    await changePerson(this.#ports, by, id, change, also);
  }

  /** The owner's answer to whether this group is let in. Throws if the code is not that of the group. */
  async answerGroup(
    code: string,
    at: Pick<Arriving, "connector" | "channelId">,
    isYes: boolean,
    by: Actor,
  ): Promise<void> {
    const { account } = await this.#requestOf(code);
    const groups = (["group", "channel"] as const).map((kind) => groupOf(at.connector, kind, at.channelId));
    if (!groups.some((group) => group === account)) throw unknownCode(code);
    await (isYes ? this.approve(code, by) : this.deny(code, by));
  }

  /** The request ends; the person may ask again. */
  async deny(given: string, by: Actor): Promise<PairingRequest> {
    const request = await this.#requestOf(given);
    await this.#book.change(
      (pages) => without(pages, request.account),
      [this.#audit(by, "pairing.deny", request.account)],
    );
    return request;
  }

  /** Stops reading messages of this account, or in this group. `given`: a code or an account. */
  async block(given: string, by: Actor): Promise<string> {
    const account = (await this.#find(given))?.account ?? accountIn(given);
    const also = [this.#audit(by, "pairing.block", account)];
    await this.#book.change((pages) => {
      const left = without(pages, account);
      return { ...left, blocked: [...left.blocked.filter((one) => one !== account), account] };
    }, also);
    return account;
  }

  /** As if the account had never written: no request, and not blocked. */
  async forget(given: string, by: Actor): Promise<string> {
    const account = (await this.#find(given))?.account ?? accountIn(given);
    const also = [this.#audit(by, "pairing.forget", account)];
    await this.#book.change((pages) => {
      const left = without(pages, account);
      return { ...left, blocked: left.blocked.filter((one) => one !== account) };
    }, also);
    return account;
  }

  /** A code with which this person makes another account their own. It works once, for some minutes. */
  async linkCode(person: PersonId): Promise<string> {
    const code = codeOf(`${this.#ports.ids.uuid()}${this.#ports.ids.uuid()}`, 10);
    await this.#book.change((pages, now) => ({
      ...pages,
      links: [...pages.links.filter((one) => one.person !== person), { code, person, until: linkUntil(now) }],
    }));
    return code;
  }

  async #useLink(account: PersonId, text: string, pages: PairingPages): Promise<boolean> {
    const code = /^\/(?:link|start)(?:@\w{1,64})?\s+([a-z0-9]{10})$/iu
      .exec(text.trim().slice(0, 128))?.[1]
      ?.toLowerCase();
    const found = code === undefined ? undefined : (await this.#book.now()).links.find((one) => one.code === code);
    if (!found || found.until <= this.#ports.clock.now() || pages.blocked.includes(account)) return false;
    // A code does not recreate a person who was removed.
    if (found.person !== OWNER && !(await this.#ports.store.person(found.person))) return false;
    const by: Actor = { person: found.person, surface: "chat" };
    // In one commit: of two accounts with the same code one wins, and a kill leaves the code as it was.
    await this.#book.changeWith(
      (now) => {
        if (!now.links.some((one) => one.code === code)) throw new ConflictError("The code has been used.");
        return { ...without(now, account), links: now.links.filter((one) => one.code !== code) };
      },
      (op) => this.#link(found.person, account, by, op),
    );
    await this.reread();
    return true;
  }

  /** An account of the owner without a request: the command line knows it. Durable when it resolves. */
  async linkOwner(given: string, by: Actor): Promise<string> {
    const account = accountIn(given);
    await addOwnerAccount(this.#ports, by, account);
    await this.#book.change((pages) => without(pages, account));
    await this.reread();
    return account;
  }

  /** Accounts or carried conversations were changed elsewhere in this process: they are in force when it resolves. */
  async reread(): Promise<void> {
    this.#directory.forget();
    await this.#directory.now();
  }

  #audit(by: Actor, action: string, target: string) {
    return auditOp(by, this.#ports.clock.now(), { action, target });
  }

  async #find(given: string): Promise<PairingRequest | undefined> {
    const code = given.trim().toLowerCase();
    return (await this.#book.now()).requests.find((one) => one.code === code || one.account === given.trim());
  }

  async #requestOf(given: string): Promise<PairingRequest> {
    const found = await this.#find(given);
    if (found) return found;
    throw unknownCode(given);
  }
}

/** Under the question to the owner. A press names the code, and counts in the group alone. */
const groupButtons = (code: string): readonly Button[] => [
  { label: "Yes, answer here", token: `g:${code}:y` },
  { label: "No", token: `g:${code}:n` },
];

const unknownCode = (given: string): NotFoundError =>
  new NotFoundError(`No one waits with the code ${given.slice(0, 32)}.`, {
    hint: "`rookery people requests` lists who waits. A code is valid for a week.",
  });

const without = (pages: PairingPages, account: string): PairingPages => ({
  ...pages,
  requests: pages.requests.filter((one) => one.account !== account),
});

function accountIn(given: string): string {
  const account = given.trim();
  if (/^[^\s:]+:\S.{0,500}$/u.test(account)) return account;
  throw new InvalidInputError(`"${account.slice(0, 64)}" is neither a code nor an account.`, {
    hint: "An account is CHANNEL:ID, such as telegram:42.",
  });
}

/** An id of a person that reads like the account: `telegram-42`, `telegram-group-100`. */
const freeId = (account: string): string =>
  account
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/gu, "-")
    .slice(0, 64);

function codeOf(seed: string, length: number): string {
  const bytes = createHash("sha256").update(seed).digest();
  return Array.from({ length }, (_, at) => LETTERS[bytes.readUInt8(at) % LETTERS.length]).join("");
}
