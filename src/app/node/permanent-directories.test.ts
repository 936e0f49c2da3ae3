/** More permanent agents than a page of the store has: the prompt files of all of them are protected. */
import { expect, it } from "vitest";
import type { AgentRecord } from "../../core/agent/agent.ts";
import { permanentDirectories } from "./permanent-directories.ts";

const record = (nth: number): AgentRecord => {
  const workspaceDir = nth % 2 === 0 ? `agents/${nth}` : undefined;
  return {
    id: `a${String(nth).padStart(5, "0")}`,
    profile: "main",
    descriptor: { type: "permanent", workspaceDir },
  } as never;
};

const storeOf = (count: number) => {
  const all = Array.from({ length: count }, (_none, nth) => record(nth));
  return {
    agentsOfKind: async (_kind: string, { after, limit }: { readonly after?: string; readonly limit: number }) =>
      all.filter(({ id }) => after === undefined || id > after).slice(0, limit),
  };
};

it.each([0, 1, 500, 501, 1203])("lists the directories of %i permanent agents that have one", async (count) => {
  const found = await permanentDirectories(storeOf(count), (profile) => `/home/${profile}`);
  expect(found).toEqual(Array.from({ length: Math.ceil(count / 2) }, (_none, nth) => `/home/main/agents/${2 * nth}`));
});
