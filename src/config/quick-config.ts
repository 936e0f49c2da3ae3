/**
 * The configuration of a text in which everything is right, at the cost of the sections that it has: only their schemas are
 * loaded, and the schema library only if there is one. All schemas take longer to load than most commands run. A text with
 * anything to say about it is left to `parseConfig`, which says it.
 */
import type { z } from "zod";
import type { Config } from "./config-schema.ts";
import { tokenise } from "./json5-tokens.ts";
import type { ConfigText } from "./parse-config.ts";
import defaults from "./section-defaults.json" with { type: "json" };
import { SECTION_SCHEMAS } from "./section-schemas.ts";

type KnownName = keyof typeof SECTION_SCHEMAS;
/** A name of a section that the program reads. */
export type SectionName = Exclude<KnownName, "$schema">;

const isSection = (name: string): name is KnownName => Object.hasOwn(SECTION_SCHEMAS, name);

/** A configuration without any section. Written by `npm run tool -- config --write`. */
const DEFAULTS = frozen(defaults) as unknown as Config;

/**
 * What `parseConfig` returns for the text. Undefined if that has an error or a warning. With `only`: nothing but these sections is
 * checked and right.
 */
export async function quickConfig(
  { text, env }: ConfigText,
  only?: readonly SectionName[],
): Promise<Config | undefined> {
  const value = await readValue(text);
  const all = typeof value === "object" && value !== null ? Object.keys(value) : undefined;
  if (!all?.every(isSection) || Array.isArray(value)) return undefined;
  const names = only ? all.filter((name) => (only as readonly string[]).includes(name)) : all;
  const config = names.length === 0 ? DEFAULTS : await withSections(value as object, names, only === undefined);
  if (!env.ROOKERY_STORE) return config;
  return config && (await import("./with-environment.ts")).withEnvironment(config, env);
}

async function withSections(value: object, names: readonly KnownName[], isWhole: boolean): Promise<Config | undefined> {
  const [{ section }, { schemaTree }, { warningsOf }, { misnamed }, ...schemas] = await Promise.all([
    import("./values.ts"),
    import("./schema-tree.ts"),
    import("./warnings.ts"),
    import("./references.ts"),
    ...names.map((name) => SECTION_SCHEMAS[name]()),
  ]);
  const schema = section(Object.fromEntries(names.map((name, at) => [name, schemas[at]])) as z.core.$ZodLooseShape);
  const chosen = Object.fromEntries(Object.entries(value).filter(([name]) => names.includes(name as KnownName)));
  if (warningsOf(schemaTree(schema), chosen).length > 0) return undefined;
  const result = schema.safeParse(chosen, { jitless: true });
  if (!result.success) return undefined;
  const config = Object.freeze({ ...DEFAULTS, ...result.data });
  return isWhole && misnamed(config).length > 0 ? undefined : config;
}

async function readValue(text: string): Promise<unknown> {
  if (tokenise(text).length === 0) return {};
  const { default: JSON5 } = await import("json5");
  try {
    return JSON5.parse<unknown>(text);
  } catch {
    return undefined;
  }
}

function frozen<Value>(value: Value): Value {
  if (typeof value === "object" && value !== null) Object.values(value).forEach(frozen);
  return Object.freeze(value);
}
