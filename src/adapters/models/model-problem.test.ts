import { expect, test } from "vitest";
import { parseConfig } from "../../config/parse-config.ts";
import { homePaths } from "../../config/paths.ts";
import { silentLog } from "../../core/ports/log.ts";
import { systemClock } from "../system/system-clock.ts";
import { modelProblem } from "./model-problem.ts";
import { openModels } from "./open-models.ts";

const open = (text: string) => {
  const { config } = parseConfig({ text, file: "rookery.json5", env: {} });
  return openModels({ config, paths: homePaths("/nowhere"), clock: systemClock, log: silentLog, env: {} });
};

test("a rejected key is a problem until it changes, unless there is a fallback", () => {
  const models = open(`{ models: { default: "openai/gpt-x", providers: { openai: { apiKey: "k1" } } } }`);
  expect(modelProblem(models, "main")).toBeUndefined();
  const keys = models.providers.provider("openai")?.keys;
  const [key] = keys?.usable("gpt-x").keys ?? [];
  if (!keys || !key) throw new TypeError("no key");
  keys.refused(key);
  expect(modelProblem(models, "main")).toContain("the key was rejected");
  expect(modelProblem(models, "main", "anthropic/claude-x")).toBeUndefined();
  const around = open(
    `{ models: { default: "openai/gpt-x", fallbacks: ["offline"], providers: { openai: { apiKey: "k1" } } } }`,
  );
  expect(modelProblem(around, "main")).toBeUndefined();
});
