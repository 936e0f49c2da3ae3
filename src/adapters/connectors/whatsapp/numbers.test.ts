/** Which account an event belongs to: an app at Meta has one address for all its numbers. */
import { expect, it } from "vitest";
import { MemoryHost } from "../../../app/testing/kit/kit-case.ts";
import { configSchema } from "../../../config/config-schema.ts";
import type { Secret } from "../../../config/secret.ts";
import type { ConnectorAccount } from "../../../config/sections/connectors.ts";
import { numbersOf } from "./numbers.ts";

const settingsOf = (phoneNumberId: string, more: object = {}): ConnectorAccount => {
  const entry = { kind: "whatsapp", token: "t", phoneNumberId, appSecret: "app", webhook: { secret: "w" }, ...more };
  const settings = configSchema.parse({ connectors: { one: entry } }).connectors.one;
  if (!settings) throw new TypeError("no settings");
  return settings;
};
const reveal = (secret: Secret): string => secret.reveal({ env: {}, readFile: () => "" });

function world() {
  const others = [
    { name: "shop", accountId: "shop", settings: settingsOf("20") },
    { name: "other", accountId: "other", settings: settingsOf("30", { appSecret: "of another app" }) },
    { name: "open", accountId: "open", settings: { ...settingsOf("40"), appSecret: undefined } },
  ];
  const own = { name: "whatsapp", accountId: undefined, settings: settingsOf("10") };
  const numbers = numbersOf({ ...own, appSecret: "app", reveal, siblings: () => [own, ...others] });
  return { numbers, others };
}

it("the own number and those of the same app are found, others are not", () => {
  const { numbers } = world();
  const found = ["10", "20", "30", "40", "99", ""].map((id) => numbers.find(id)?.api.phoneNumberId);
  expect(found).toEqual(["10", "20", undefined, undefined, undefined, undefined]);
  expect([numbers.find("10"), numbers.find("20")?.accountId]).toEqual([numbers.own, "shop"]);
});

it("a number stays the same one until its settings change", () => {
  const { numbers, others } = world();
  const first = numbers.find("20");
  expect(numbers.find("20")).toBe(first);
  others[0] = { name: "shop", accountId: "shop", settings: settingsOf("20", { readMarks: false }) };
  const changed = numbers.find("20");
  expect(changed).not.toBe(first);
  expect(changed?.settings.readMarks).toBe(false);
  others[0] = { name: "shop", accountId: "shop", settings: settingsOf("20", { readMarks: false, token: "new" }) };
  // The text of settings shows no secret, so a new token must be seen as such.
  expect(numbers.find("20")).not.toBe(changed);
  others.splice(0, 1);
  expect(numbers.find("20")).toBeUndefined();
});

it("what is taken in is of the account, with its own names", () => {
  const { numbers } = world();
  const host = new MemoryHost();
  expect(numbers.own.takeIn(host, "1555")).toMatchObject({
    ...{ channel: "whatsapp", accountId: undefined, self: { userId: "1555", names: ["1555"] } },
  });
  expect(numbers.own.takeIn(host, "").self.names).toEqual([]);
  expect(numbers.find("20")?.takeIn(host, "1").accountId).toBe("shop");
  // What was said in a group is heard by all events of one number.
  expect(numbers.own.takeIn(host, "1").window).toBe(numbers.own.takeIn(host, "1").window);
});
