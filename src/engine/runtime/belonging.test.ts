import { expect, it } from "vitest";
import { belongingOf } from "./belonging.ts";

const of = (person: string | undefined, known: string | undefined) =>
  belongingOf(
    { personOf: known === "no port" ? undefined : async () => known as never },
    { record: { id: "a1", person } as never, state: { speakers: ["bob"] } as never },
  );

it.each([
  ["stored", "found", "stored"],
  [undefined, "found", "found"],
  [undefined, undefined, "agent:a1"],
  [undefined, "no port", "agent:a1"],
])("an agent of %s, otherwise of %s, belongs to %s", async (stored, known, own) => {
  expect(await of(stored, known)).toEqual({ own, state: { speakers: ["bob"] } });
});
