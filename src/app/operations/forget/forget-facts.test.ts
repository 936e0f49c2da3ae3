/** What WhatsApp Web has stored about a person who is forgotten: chats, the number of a LID, keys. The session itself stays. */
import { describe, expect, it } from "vitest";
import type { StoreEraser } from "../../../core/store/store.ts";
import { factOps } from "./forget-facts.ts";
import type { ForgetPlan } from "./forget-plan.ts";

const plan = { people: ["ann", "whatsapp-web:491701", "whatsapp-web:77@lid"], agents: [] } as unknown as ForgetPlan;

async function leftOf(key: string, value: unknown): Promise<unknown> {
  const text = JSON.stringify(value);
  const eraser = { facts: async () => [{ key, value: text }] } as unknown as StoreEraser;
  const [op] = await factOps(eraser, plan);
  if (!op) return "unchanged";
  expect(op).toMatchObject({ op: "fact.put", key, expect: text });
  const { value: left } = op as { value: string | null };
  return left === null ? null : JSON.parse(left);
}

describe("facts of WhatsApp Web", () => {
  it("lose the chats of the person, and those whose last message was the person's", async () => {
    const other = ["492", { remoteJid: "492@s.whatsapp.net", id: "b" }, 2];
    const group = (participant: string) => ["120@g.us", { remoteJid: "120@g.us", participant, id: "c" }, 3];
    expect(
      await leftOf("whatsapp-web.chats.web", [
        ["491701", { remoteJid: "491701@s.whatsapp.net", id: "a" }, 1],
        ["77@lid", { remoteJid: "77@lid", id: "a" }, 1],
        other,
        group("491701:3@s.whatsapp.net"),
        group("77:3@lid"),
        group("492@s.whatsapp.net"),
      ]),
    ).toEqual([other, group("492@s.whatsapp.net")]);
  });

  it("lose the number of the person's LID, by either", async () => {
    const left = await leftOf("whatsapp-web.lid.web.known", [
      ["77", "1"],
      ["78", "491701"],
      ["79", "4917010"],
    ]);
    expect(left).toEqual([["79", "4917010"]]);
  });

  it("lose the keys that are stored under the person's number or LID, and no others", async () => {
    const session = { "491701.0": "k", "77_1.0": "k", "4917010.0": "kept" };
    expect(await leftOf("whatsapp-web.auth.web.session.3", session)).toEqual({ "4917010.0": "kept" });
    expect(await leftOf("whatsapp-web.auth.web.device-list.1", { "491701": ["0"] })).toBeNull();
    const lids = { "491701": "77", "77_reverse": "491701", "492": "80" };
    expect(await leftOf("whatsapp-web.auth.web.lid-mapping.1", lids)).toEqual({ "492": "80" });
    const members = { "120@g.us": { "491701:1@s.whatsapp.net": true }, "121@g.us": { "492:1@s.whatsapp.net": true } };
    expect(await leftOf("whatsapp-web.auth.web.sender-key-memory.1", members)).toEqual({
      "121@g.us": { "492:1@s.whatsapp.net": true },
    });
    const senders = { "120@g.us::491701::0": "k", "120@g.us::492::0": "kept" };
    expect(await leftOf("whatsapp-web.auth.web.sender-key.1", senders)).toEqual({ "120@g.us::492::0": "kept" });
    expect(await leftOf("whatsapp-web.auth.web.pre-key.1", { "491701": { public: "x" } })).toBe("unchanged");
    expect(await leftOf("whatsapp-web.auth.web.pre-key.1", { "12": { public: "x" } })).toBe("unchanged");
    expect(await leftOf("whatsapp-web.auth.web.creds", { me: { id: "491701@s.whatsapp.net" } })).toBe("unchanged");
  });
});
