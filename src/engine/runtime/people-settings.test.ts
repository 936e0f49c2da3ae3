import { expect, it } from "vitest";
import { peopleSettings } from "./people-settings.ts";

it("reads each setting at the moment of use, with the default profile first", () => {
  const config = {
    people: { unknown: "ignore" },
    profiles: { work: {}, main: {} },
    session: { dmScope: "main", mainKey: "k1", identityLinks: { ann: ["test:1"] }, carried: { keys: ["old"] } },
    owner: { accounts: ["test:9"] },
  };
  const settings = peopleSettings(config as never);
  expect({ ...settings }).toEqual({
    ...{ unknown: "ignore", profiles: ["main", "work"], dmScope: "main", mainKey: "k1" },
    ...{ identityLinks: { ann: ["test:1"] }, carried: ["old"], ownerAccounts: ["test:9"] },
  });
  Object.assign(config, { profiles: {}, session: { mainKey: "k2" }, owner: { accounts: [] }, people: {} });
  expect({ ...settings }).toEqual({ profiles: ["main"], mainKey: "k2", ownerAccounts: [] });
});
