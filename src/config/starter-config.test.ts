import { describe, expect, it } from "vitest";
import { checkConfig } from "./parse-config.ts";
import { STARTER_CONFIG } from "./starter-config.ts";

const check = (text: string) => checkConfig({ text, file: "rookery.json5", env: {} });

describe("the starter configuration", () => {
  it("is valid and contains only defaults", () => {
    const { config, errors, warnings } = check(STARTER_CONFIG);
    expect({ errors, warnings }).toEqual({ errors: [], warnings: [] });
    expect(config).toEqual(check("").config);
  });

  it("is valid with every example switched on", () => {
    const text = STARTER_CONFIG.replaceAll(/^( *)\/\/(?! [A-Z]| [a-z]+,)/gm, "$1");
    const { config, errors, warnings } = check(text);
    expect({ errors, warnings }).toEqual({ errors: [], warnings: [] });
    expect(config).toMatchObject({
      models: { default: "local/llama", providers: { local: { models: [{ id: "llama" }] } } },
      profiles: { main: { model: "local/llama" } },
      queue: { byChannel: { telegram: { mode: "steer" } } },
    });
  });
});
