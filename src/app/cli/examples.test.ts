/** Every command has an example in its help, and each example is a command line that the program accepts. */
import { expect, it } from "vitest";
import { problemsOf } from "../../../scripts/docs/commands.ts";
import { actionsOf } from "./choose-action.ts";
import type { Action } from "./command.ts";
import { EXAMPLES } from "./examples.ts";
import { actionHelp } from "./help-text.ts";
import { REGISTRY } from "./registry.ts";

async function actions(): Promise<readonly (readonly [string, Action])[]> {
  const all = await Promise.all(
    Object.entries(REGISTRY).map(async ([name, { load }]) => actionsOf(name, await load())),
  );
  return all.flat();
}

const examplesOf = ([name, { examples }]: readonly [string, Action]): readonly string[] =>
  examples ?? EXAMPLES[name] ?? [];

it("every command has an example, which its help shows and the program accepts", async () => {
  const known = await actions();
  expect(known.length).toBeGreaterThan(100);
  expect(known.filter((one) => examplesOf(one).length === 0).map(([name]) => name)).toEqual([]);
  const problems = await Promise.all(known.flatMap((one) => examplesOf(one).map((line) => problemsOf(line))));
  expect(problems.flat()).toEqual([]);
  for (const [name, action] of known) expect(actionHelp(name, action)).toContain(examplesOf([name, action])[0]);
});

it("has no example for a command that does not exist, or that has its own", async () => {
  const without = (await actions()).filter(([, { examples }]) => !examples).map(([name]) => name);
  expect(Object.keys(EXAMPLES).filter((name) => !without.includes(name))).toEqual([]);
});
