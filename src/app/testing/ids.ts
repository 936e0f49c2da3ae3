/** The ids of every test: of the right shapes, the same in every run of a test, different for every process in it. */
import type { AgentId, ChangeId, Ids } from "../../core/ids.ts";
import { type Random, randomOf } from "./random.ts";

const LETTERS = "abcdefghijklmnopqrstuvwxyz";
const CUID = `0123456789${LETTERS}`;
const HEX = "0123456789abcdef";

/** `process` names the process that makes the ids; two processes of one store must have different names. */
export function seededIds(process: string, random: Random = randomOf(process)): Ids {
  let changes = 0;
  const some = (alphabet: string, length: number): string =>
    Array.from({ length }, () => alphabet[random.int(0, alphabet.length - 1)]).join("");
  return {
    agent: () => `${some(LETTERS, 1)}${some(CUID, 23)}` as AgentId,
    uuid: () => `${some(HEX, 8)}-${some(HEX, 4)}-7${some(HEX, 3)}-8${some(HEX, 3)}-${some(HEX, 12)}`,
    change: () => `${process}-${String(++changes).padStart(8, "0")}` as ChangeId,
  };
}
