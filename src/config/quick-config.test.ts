import { readdirSync, readFileSync } from "node:fs";
import fc from "fast-check";
import JSON5 from "json5";
import { describe, expect, it } from "vitest";
import { tries } from "../../test/kit/share.ts";
import { configSchema } from "./config-schema.ts";
import { checkConfig } from "./parse-config.ts";
import { quickConfig } from "./quick-config.ts";
import defaults from "./section-defaults.json" with { type: "json" };
import { SECTION_SCHEMAS } from "./section-schemas.ts";
import { STARTER_CONFIG } from "./starter-config.ts";

const DOCS = new URL("../../docs/", import.meta.url);

/** Every configuration that the documentation shows. */
const SHOWN = readdirSync(DOCS)
  .filter((name) => name.endsWith(".md"))
  .flatMap((name) => [...readFileSync(new URL(name, DOCS), "utf8").matchAll(/```json5\n([\s\S]*?)```/gu)])
  .map(([, text = ""]) => text);

const SOURCE = { file: "rookery.json5", env: {} };

/** Both ways of reading a text. A text with anything to say about it has no quick way. */
async function bothOf(text: string, env: Record<string, string> = {}) {
  const { config, warnings } = checkConfig({ ...SOURCE, text, env });
  const quick = await quickConfig({ ...SOURCE, text, env });
  return { quick, whole: warnings.length === 0 ? config : undefined };
}

describe("a configuration, read with the schemas of its own sections only", () => {
  it("without a section is the defaults", async () => {
    expect(defaults).toEqual(configSchema.parse({}));
    const quick = await quickConfig({ ...SOURCE, text: "// nothing yet\n" });
    expect(quick).toEqual(configSchema.parse({}));
    expect(Object.isFrozen(quick?.gateway.limits)).toBe(true);
  });

  it("has the schema of every section", () => {
    expect(Object.keys(SECTION_SCHEMAS)).toEqual(Object.keys(configSchema.unwrap().shape));
  });

  it("says the same as with all schemas, for every configuration of the documentation", async () => {
    expect(SHOWN.length).toBeGreaterThan(20);
    for (const text of [STARTER_CONFIG, ...SHOWN]) {
      const { quick, whole } = await bothOf(text);
      expect(quick, text).toEqual(whole);
    }
  });

  it("says the same for any choice of sections, also of broken ones", async () => {
    const sections = SHOWN.flatMap((text) => {
      try {
        return Object.entries(JSON5.parse<object>(text));
      } catch {
        return [];
      }
    });
    const broken = [
      ["gateway", 5],
      ["models", { defualt: "x/y" }],
      ["gatway", {}],
      ["__proto__", { a: 1 }],
    ] as const;
    const some = fc.subarray([...sections, ...broken], { maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(some, async (chosen) => {
        const { quick, whole } = await bothOf(
          `{${chosen.map(([name, value]) => `${JSON.stringify(name)}: ${JSON5.stringify(value)}`).join(",")}}`,
        );
        expect(quick).toEqual(whole);
      }),
      { numRuns: tries(100) },
    );
  });

  it.each(["[]", "5", "null", "{", '"text"'])("leaves %s to the check that explains it", async (text) => {
    expect(await quickConfig({ ...SOURCE, text })).toBeUndefined();
  });

  it("takes the store of the environment", async () => {
    const { quick, whole } = await bothOf("{}", { ROOKERY_STORE: "postgres://x" });
    expect(quick?.store.url).toEqual(whole?.store.url);
    expect(quick?.store.url).toBeDefined();
  });
});
