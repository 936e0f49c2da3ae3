import { expect, test } from "vitest";
import { virtualClock } from "../../../test/kit/clock.ts";
import { parseConfig } from "../../config/parse-config.ts";
import { homePaths } from "../../config/paths.ts";
import { silentLog } from "../../core/ports/log.ts";
import { modelProblem } from "./model-problem.ts";
import { openModels } from "./open-models.ts";

const clock = virtualClock();
const open = (text: string) => {
  const { config } = parseConfig({ text, file: "rookery.json5", env: {} });
  return openModels({ settings: { current: config }, paths: homePaths("/nowhere"), clock, log: silentLog, env: {} });
};

test("modelProblem() names a refused key while it rests, unless there is a fallback", () => {
  const models = open(`{ models: { default: "openai/gpt-x", providers: { openai: { apiKey: "k1" } } } }`);
  expect(modelProblem(models, clock, "main")).toBeUndefined();
  const keys = models.providers.provider("openai")?.keys;
  const [key] = keys?.usable("gpt-x").keys ?? [];
  if (!keys || !key) throw new TypeError("no key");
  keys.refused(key, { model: "gpt-x", status: 401 });
  expect(modelProblem(models, clock, "main")).toContain("The key for openai was refused (401)");
  expect(modelProblem(models, clock, "main", "anthropic/claude-x")).toBeUndefined();
  const around = open(
    `{ models: { default: "openai/gpt-x", fallbacks: ["offline"], providers: { openai: { apiKey: "k1" } } } }`,
  );
  expect(modelProblem(around, clock, "main")).toBeUndefined();
  clock.advanceSync(60_000);
  expect(modelProblem(models, clock, "main")).toBeUndefined();
});
