import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { addressFor, resolveBinding } from "./agent/address.ts";
import { linkedName } from "./agent/identity-links.ts";
import { isOwner, sessionKeyOf } from "./agent/session-key.ts";
import { accountOf, appUser, groupOf } from "./people/person.ts";
import { personRecordSchema } from "./people/person-record.ts";
import { foldedId, sameForm } from "./same-id.ts";

const NFC = "Zoë".normalize("NFC");
const NFD = "Zoë".normalize("NFD");

describe("an id that is written in two forms", () => {
  it("is written differently", () => {
    expect(NFD).not.toBe(NFC);
    expect(NFD.length).toBe(NFC.length + 1);
  });

  /** Each makes something of an id that is compared. */
  const MADE: Readonly<Record<string, (id: string) => unknown>> = {
    "the conversation with a person": (id) =>
      sessionKeyOf({ type: "user", connector: "irc", userId: id, channelId: id }, "main"),
    "the conversation with an API user": (id) =>
      sessionKeyOf({ type: "user", connector: "api", userId: id, channelId: id }, "main"),
    "the conversation in a group": (id) =>
      sessionKeyOf({ type: "user", connector: "irc", userId: "u", channelId: id, peerKind: "group" }, "main"),
    "the conversation in a thread": (id) =>
      sessionKeyOf({ type: "user", connector: "irc", userId: "u", channelId: "c", threadId: id }, "main"),
    "a permanent agent": (id) => sessionKeyOf({ type: "permanent", id: "x", name: id } as never, "main"),
    "an account": (id) => accountOf("irc", id),
    "a group": (id) => groupOf("irc", "group", id),
    "the user of an application": (id) => appUser(id, id),
    "an account in a record": (id) =>
      personRecordSchema.parse({ id: "p", role: "guest", accounts: [`irc:${id}`], createdAt: 1, createdBy: "owner" }),
    "the owner's account": (id) => isOwner({ connector: "irc", userId: id }, [`irc:${NFC}`]),
    "a link": (id) => linkedName({ zoe: [NFC] }, "irc", id),
    "a binding": (id) =>
      resolveBinding(
        { channel: "irc", peer: { kind: "dm", id } },
        [{ profile: "work", match: { channel: "irc", peer: { kind: "dm", id: NFC } } }],
        { known: ["main", "work"], default: "main" },
      ),
    "an address": (id) =>
      addressFor(
        { connector: "irc", userId: id, channelId: "c" },
        { profiles: {}, bindings: [], session: {}, owner: { accounts: [] } },
      ).sessionKey,
  };
  it.each(Object.entries(MADE))("is the same id: %s", (_, make) => {
    expect(make(NFD)).toEqual(make(NFC));
    expect(make("Zoe")).not.toEqual(make(NFC));
  });

  it("of a channel is compared without blanks around it and without case, also where a small letter has another form", () => {
    expect(foldedId(" \tAnn B ")).toBe("ann b");
    expect(foldedId(`${NFD} `)).toBe(NFC.toLowerCase());
    expect(foldedId("\u0130")).toBe("i\u0307");
  });

  it("is the same for every text, and other texts stay apart", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), fc.string({ unit: "grapheme" }), (one, other) => {
        expect(accountOf("irc", one.normalize("NFD"))).toBe(accountOf("irc", one.normalize("NFC")));
        expect(foldedId(one.normalize("NFD"))).toBe(foldedId(one.normalize("NFC")));
        if (sameForm(one) !== sameForm(other)) expect(accountOf("irc", one)).not.toBe(accountOf("irc", other));
      }),
    );
  });
});
