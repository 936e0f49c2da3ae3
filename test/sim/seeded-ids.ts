/** Ids from a seed: of the right shapes, different for every process that ever starts in a world. */
import type { AgentId, ChangeId, Ids } from "../../src/core/ids.ts";
import type { Random } from "./random.ts";

const LETTERS = "abcdefghijklmnopqrstuvwxyz";
const CUID = `0123456789${LETTERS}`;
const HEX = "0123456789abcdef";

export function seededIds(random: Random, process: string): Ids {
  let changes = 0;
  const some = (alphabet: string, length: number): string =>
    Array.from({ length }, () => alphabet[random.int(0, alphabet.length - 1)]).join("");
  return {
    agent: () => `${some(LETTERS, 1)}${some(CUID, 23)}` as AgentId,
    uuid: () => `${some(HEX, 8)}-${some(HEX, 4)}-7${some(HEX, 3)}-8${some(HEX, 3)}-${some(HEX, 12)}`,
    change: () => `${process}-${String(++changes).padStart(8, "0")}` as ChangeId,
  };
}
