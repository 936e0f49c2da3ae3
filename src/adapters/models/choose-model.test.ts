import { describe, expect, it } from "vitest";
import { parseConfig } from "../../config/parse-config.ts";
import { chooseModel } from "./choose-model.ts";

const configOf = (text: string) => parseConfig({ text, file: "rookery.json5", env: {} }).config;

const config = configOf(`{
  models: {
    default: "house/m", fallbacks: ["spare/s"], thinking: "low",
    providers: {
      house: { api: "openai-completions", baseUrl: "http://h", models: [{ id: "m" }, { id: "n" }] },
      spare: { api: "openai-completions", baseUrl: "http://s" },
    },
  },
  profiles: { writer: { model: "house/n", fallbacks: ["house/m"], thinking: "high", authProfile: "work" } },
}`);

const choose = (state: Record<string, unknown>, profile = "main") => chooseModel(config, profile, state);

describe("the model of an agent", () => {
  it.each<[string, string, Record<string, unknown>, object]>([
    ["is the configuration's", "main", {}, { model: "house/m", fallbacks: ["spare/s"], thinking: "low" }],
    [
      "is its profile's",
      "writer",
      {},
      { model: "house/n", fallbacks: ["house/m"], thinking: "high", authProfile: { name: "work", only: false } },
    ],
    ["is the configuration's for an unknown profile", "unknown", {}, { model: "house/m" }],
    ["is the agent's override", "main", { modelOverride: "n" }, { model: "house/n" }],
    ["is the agent's override, with the provider in it", "main", { modelOverride: "spare/x" }, { model: "spare/x" }],
    [
      "is the override of its own provider",
      "main",
      { providerOverride: "spare", modelOverride: "x" },
      { model: "spare/x" },
    ],
    [
      "is the agent's override if the provider is named twice",
      "main",
      { providerOverride: "spare", modelOverride: "spare/x" },
      { model: "spare/x" },
    ],
    [
      "has slashes in its id",
      "main",
      { providerOverride: "openrouter", modelOverride: "meta/llama" },
      { model: "openrouter/meta/llama" },
    ],
    ["is the first one of the provider override", "main", { providerOverride: "house" }, { model: "house/m" }],
    [
      "is the default of a known provider",
      "main",
      { providerOverride: "anthropic" },
      { model: "anthropic/claude-sonnet-5" },
    ],
    ["may be the offline one", "main", { modelOverride: "offline" }, { model: "offline" }],
    ["is not its own fallback", "main", { modelOverride: "spare/s" }, { model: "spare/s" }],
    ["thinks at the given level", "main", { thinkingLevel: "high" }, { thinking: "high" }],
    [
      "uses only the key that a person chose",
      "main",
      { authProfileOverride: "home", authProfileOverrideSource: "user" },
      { authProfile: { name: "home", only: true } },
    ],
    [
      "treats a key without a source as a person's choice",
      "main",
      { authProfileOverride: "home" },
      { authProfile: { name: "home", only: true } },
    ],
    [
      "prefers the key that was chosen automatically",
      "main",
      {
        authProfileOverride: "home",
        authProfileOverrideSource: "auto",
        authProfileOverrideCompactionCount: 2,
        compactionCount: 2,
      },
      { authProfile: { name: "home", only: false } },
    ],
  ])("%s", (_, profile, state, expected) => {
    const chosen = choose(state, profile);
    expect(chosen).toMatchObject(expected);
    expect(chosen.warnings).toEqual([]);
    expect(chosen.fallbacks ?? []).not.toContain(chosen.model);
  });

  it("drops the automatically chosen key after a compaction", () => {
    const state = {
      authProfileOverride: "home",
      authProfileOverrideSource: "auto",
      authProfileOverrideCompactionCount: 2,
    };
    expect(choose({ ...state, compactionCount: 3 }).authProfile).toBeUndefined();
  });

  it.each<[Record<string, unknown>, string]>([
    [{ modelOverride: "gone" }, "house/gone"],
    [{ providerOverride: "nowhere", modelOverride: "x" }, "nowhere/x"],
    [{ providerOverride: "nowhere" }, "nowhere"],
  ])("ignores %j with a warning", (state, name) => {
    const chosen = choose(state);
    expect(chosen.model).toBe("house/m");
    expect(chosen.warnings).toEqual([expect.stringContaining(`"${name}"`)]);
  });

  it.each([{ thinkingLevel: "ultra" }, { thinkingLevel: "toString" }])("ignores %j with a warning", (state) => {
    expect(choose(state)).toMatchObject({ thinking: "low", warnings: [expect.any(String)] });
  });

  it.each([
    { modelOverride: 7 },
    { modelOverride: "" },
    { providerOverride: null },
    { thinkingLevel: {} },
    { authProfileOverride: [] },
  ])("ignores %j", (state) => expect(choose(state)).toEqual(choose({})));

  it("is the first configured one without a default, and is detected if none is configured", () => {
    const listed = configOf(
      `{ models: { providers: { a: { api: "openai", baseUrl: "http://a" }, b: { api: "openai", baseUrl: "http://b", models: [{ id: "1" }] } } } }`,
    );
    expect(chooseModel(listed, "main", {}).model).toBe("b/1");
    expect(chooseModel(configOf("{}"), "main", {})).toEqual({ model: "auto", warnings: [] });
  });
});
