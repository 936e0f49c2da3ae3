import { describe, expect, it } from "vitest";
import { ConfigError } from "../../../core/errors.ts";
import {
  exchanged,
  findInvitation,
  findLogin,
  freshInvitation,
  type Login,
  type LoginRecords,
  loginSecret,
  parseLogins,
  storedLogins,
  withInvitation,
  withoutPerson,
} from "./login-records.ts";

const NOW = 1_000;
const EMPTY: LoginRecords = { invitations: [], logins: [] };

const invitation = (person: string, expiresAt = NOW + 1) => {
  const { id, hash, text } = freshInvitation();
  return { id, hash, text, person, createdAt: 1, expiresAt };
};
const login = (person: string, more: Partial<Login> = {}): Login & { readonly text: string } => {
  const { id, hash, text } = loginSecret(freshInvitation().text, "n");
  return { id, hash, text, person, createdAt: 1, expiresAt: NOW + 1, ...more };
};
const ids = (records: readonly { readonly id: string }[]): readonly string[] => records.map(({ id }) => id);

describe("the records of logins", () => {
  it("keep the ten latest invitations of a person, and all of the others", () => {
    const others = Array.from({ length: 12 }, () => invitation("bob"));
    const own = Array.from({ length: 11 }, () => invitation("ann"));
    const records = own.reduce<LoginRecords>((all, one) => withInvitation(all, one, NOW), {
      ...EMPTY,
      invitations: others,
    });
    expect(ids(records.invitations)).toEqual([...ids(others), ...ids(own.slice(1))]);
  });

  it("keep the fifty latest logins of a person, and all of the others", () => {
    const others = Array.from({ length: 52 }, () => login("bob"));
    const own = Array.from({ length: 51 }, () => login("ann"));
    const used = invitation("ann");
    const records = own.reduce<LoginRecords>((all, one) => exchanged(all, used, one, NOW), {
      ...EMPTY,
      logins: others,
    });
    expect(ids(records.logins)).toEqual([...ids(others), ...ids(own.slice(1))]);
  });

  it("leave out what has expired with the next change, of both kinds", () => {
    const [over, open] = [invitation("ann", NOW), invitation("ann", NOW + 1)];
    const [ended, current] = [login("ann", { expiresAt: NOW }), login("ann", { expiresAt: NOW + 1 })];
    const before = { invitations: [over, open], logins: [ended, current] };
    const added = invitation("bob");
    expect(ids(withInvitation(before, added, NOW).invitations)).toEqual(ids([open, added]));
    expect(ids(withInvitation(before, added, NOW).logins)).toEqual([current.id]);
    const made = login("bob");
    expect(ids(exchanged(before, added, made, NOW).invitations)).toEqual([open.id]);
    expect(ids(exchanged(before, added, made, NOW).logins)).toEqual(ids([current, made]));
  });

  it("turn one invitation into a login, and leave the other ones of the person", () => {
    const [used, other] = [invitation("ann"), invitation("ann")];
    const made = login("ann", { browser: "x".repeat(121) });
    const records = exchanged({ invitations: [used, other], logins: [] }, used, made, NOW);
    expect(ids(records.invitations)).toEqual([other.id]);
    expect(records.logins).toMatchObject([{ id: made.id, browser: "x".repeat(120) }]);
  });

  it("without a person have nothing of that person, and everything of the others", () => {
    const [ann, bob] = [invitation("ann"), invitation("bob")];
    const [anns, bobs] = [login("ann"), login("bob")];
    expect(withoutPerson({ invitations: [ann, bob], logins: [anns, bobs] }, "ann")).toEqual({
      invitations: [bob],
      logins: [bobs],
    });
  });

  it("find a secret only as a whole, and of its own kind", () => {
    const [one, other] = [invitation("ann"), invitation("ann")];
    const made = login("ann");
    const records = { invitations: [one, other], logins: [made] };
    expect(findInvitation(records, other.text)).toBe(other);
    expect(findLogin(records, made.text)).toBe(made);
    for (const wrong of [
      "",
      one.text.slice(0, -1),
      `${one.text}x`,
      one.text.replace(/.{43}$/, other.text.slice(-43)),
    ]) {
      expect(findInvitation(records, wrong), wrong).toBeUndefined();
    }
    expect(findInvitation(records, made.text)).toBeUndefined();
    expect(findLogin(records, one.text)).toBeUndefined();
  });

  it("give the same secret for the same invitation and nonce, and another one for any other", () => {
    const { text } = freshInvitation();
    expect(loginSecret(text, "n")).toEqual(loginSecret(text, "n"));
    const all = [loginSecret(text, "n"), loginSecret(text, "m"), loginSecret(freshInvitation().text, "n")];
    expect(new Set(all.map(({ text: secret }) => secret)).size).toBe(3);
    expect(new Set(ids(all)).size).toBe(3);
  });

  it("are read as they were stored, and not at all if they are of logins by a cookie", () => {
    const records = { invitations: [], logins: [{ ...login("ann"), text: undefined }] };
    expect(parseLogins(storedLogins(records)).logins).toHaveLength(1);
    expect(parseLogins(JSON.stringify(records))).toEqual(EMPTY);
  });

  it.each([["{ half"], ["{}"], [JSON.stringify({ invitations: [{ id: "x" }], logins: [] })]])(
    "that cannot be read are an error: %s",
    (text) => {
      expect(() => parseLogins(text)).toThrow(ConfigError);
      expect(parseLogins(undefined)).toEqual(EMPTY);
    },
  );
});
