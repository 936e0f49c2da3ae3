import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { tries } from "../../test/kit/share.ts";
import { ConfigError } from "../core/errors.ts";
import { configDefaults } from "./config-schema.ts";
import { checkConfig, formatNote, parseConfig } from "./parse-config.ts";

const FILE = "/home/me/.rookery/rookery.json5";
const parse = (text: string, env = {}) => parseConfig({ text, file: FILE, env });
const check = (text: string) => checkConfig({ text, file: FILE, env: {} });

function errorOf(text: string): ConfigError {
  try {
    parse(text);
  } catch (error) {
    if (error instanceof ConfigError) return error;
    throw error;
  }
  return expect.unreachable("the text was accepted");
}

describe("parseConfig", () => {
  it.each(["", "  \n", "// nothing yet\n", "/* nothing */", "{}"])(
    "parses %j as a configuration of defaults",
    (text) => {
      const { config, warnings } = parse(text);
      const { model: _, provider: __, connector: ___, mcpServer: ____, ...defaults } = configDefaults;
      expect(config).toMatchObject(defaults);
      expect(config.queue.byChannel).toEqual({});
      expect(config.models).toEqual({ fallbacks: [], providers: {} });
      expect(config.profiles).toEqual({});
      expect(warnings).toEqual([]);
    },
  );

  it("parses a gateway with a local model", () => {
    const text = `{ gateway: { port: 7717 }, models: { default: "local/fake", providers: { local: {
      api: "openai-completions", baseUrl: "http://127.0.0.1:9/v1", apiKey: { env: "K" },
      models: [{ id: "fake", contextWindow: 200000, maxTokens: 8192 }] } } } }`;
    const { config, warnings } = parse(text);
    expect(warnings).toEqual([]);
    expect(config.gateway).toMatchObject({ port: 7717, host: "127.0.0.1" });
    expect(config.models.default).toBe("local/fake");
    const local = config.models.providers.local;
    expect(local?.apiKey?.reveal({ env: { K: "key" }, readFile: () => "" })).toBe("key");
    expect({ ...local, apiKey: undefined }).toEqual({
      api: "openai-completions",
      baseUrl: "http://127.0.0.1:9/v1",
      apiKey: undefined,
      models: [{ id: "fake", contextWindow: 200_000, maxTokens: 8_192, cost: configDefaults.model.cost }],
    });
  });

  it("trims the model of subagents, also as the first choice of an object", () => {
    const models = `models: { providers: { acme: { api: "openai-completions", baseUrl: "http://127.0.0.1:9/v1",
      models: [{ id: "prime" }] } } }`;
    const modelIn = (model: string) => parse(`{ ${models}, subagents: { model: ${model} } }`).config.subagents.model;
    expect(modelIn('{ primary: " acme/prime " }')).toEqual({ primary: "acme/prime" });
    expect(modelIn('" acme/prime "')).toBe("acme/prime");
  });

  it("accepts separate settings for a channel, or only a mode", () => {
    const { config } = parse(`{ queue: { cap: 5, byChannel: { telegram: "steer", api: { debounceMs: 0 } } } }`);
    expect(config.queue).toEqual({
      ...configDefaults.queue,
      cap: 5,
      byChannel: { telegram: { mode: "steer" }, api: { debounceMs: 0 } },
    });
  });

  it("prefers the store of the environment to that of the file", () => {
    const text = `{ store: { url: { env: "OTHER" } } }`;
    const world = { env: { ROOKERY_STORE: "postgres://a", OTHER: "postgres://b" }, readFile: () => "" };
    expect(parse(text, world.env).config.store.url?.reveal(world)).toBe("postgres://a");
    expect(parse(text).config.store.url?.reveal(world)).toBe("postgres://b");
  });

  it("returns frozen data", () => {
    const { config } = parse(`{ profiles: { main: { prompt: "Be kind." } } }`);
    expect(Object.isFrozen(config)).toBe(true);
    expect(Object.isFrozen(config.gateway)).toBe(true);
    expect(Object.isFrozen(config.profiles.main)).toBe(true);
    expect(Object.isFrozen(config.models.fallbacks)).toBe(true);
  });

  it("names every bad value in one error with a hint", () => {
    const error = errorOf(`{\n  gateway: { port: 0 },\n  log: { level: "loud" },\n}`);
    expect(error.message.split("\n")).toHaveLength(2);
    expect(error.hint).toContain("rookery config check");
  });
});

describe("a bad value", () => {
  it.each([
    [
      "{\n  gateway: {\n    port: 99999,\n  },\n}",
      "3:11",
      "gateway.port: expected a whole number from 1 to 65535, not 99999",
    ],
    ["{ gateway: { port: '80' } }", "1:20", "gateway.port: expected a whole number from 1 to 65535, not this text"],
    ["{ gateway: { port: 1.5 } }", "1:20", "gateway.port: expected a whole number from 1 to 65535, not 1.5"],
    ["{ gateway: { port: NaN } }", "1:20", "gateway.port: expected a whole number from 1 to 65535, not NaN"],
    ["{ gateway: null }", "1:12", "gateway: expected an object with keys, { … }, not null"],
    [
      "{ gateway: { host: '' } }",
      "1:20",
      "gateway.host: expected a host name or an address to listen on, not an empty text",
    ],
    ["{ /* { */ 'queue': { mode: 'colect' } }", "1:28", 'did you mean "collect"?'],
    ["{ queue: { mode: 'x' } }", "1:18", 'queue.mode: expected one of "steer", "followup", "collect", '],
    ["{ queue: { byChannel: { api: 'stear' } } }", "1:30", 'queue.byChannel.api.mode: expected one of "steer", '],
    ["{ models: { default: 'gpt' } }", "1:22", 'models.default: expected a model as "provider/id", not this text'],
    ["{ models: { fallbacks: 'a/b' } }", "1:24", "models.fallbacks: expected a list, [ … ], not this text"],
    ["{ models: { fallbacks: ['a/b',\n 7] } }", "2:2", "models.fallbacks[1]: expected a model"],
    ["{ models: { providers: { p: { api: 'opnai', baseUrl: 'http://x' } } } }", "1:36", "expected one of"],
    ["{ models: { default: 'antropic/x' } }", "1:22", 'There is no provider "antropic". Did you mean "anthropic"?'],
    [
      "{ budgets: { dya: { tokens: 1 } } }",
      "1:14",
      'unknown key; a limit or a right with a typo would not hold; did you mean "day"?',
    ],
    ["{ gateway: { limits: { requestz: 1 } } }", "1:24", "unknown key; a limit"],
    ["{ profiles: { main: { tools: { alow: ['read'] } } } }", "1:32", "unknown key; a limit"],
    ["{ models: { providers: { p: { api: 'openai' } } } }", "1:29", "models.providers.p.baseUrl: expected an address"],
    [
      "{ models: { providers: { p: { api: 'openai', baseUrl: 'ftp://x' } } } }",
      "1:55",
      "models.providers.p.baseUrl: expected",
    ],
    ["{ models: { providers: { p: { api: 'openai', baseUrl: 'http://me@x' } } } }", "1:55", "and contains no password"],
    ["{ models: { providers: { 'a/b': {} } } }", "1:26", "models.providers.a/b: expected a name of letters"],
    ["{ store: { url: { env: '' } } }", "1:17", "store.url: expected a secret"],
    ["{ runs: { restore: 'retry' } }", "1:20", 'runs.restore: expected one of "resume", "discard", not this text'],
    ["{ retention: { auditDays: -1 } }", "1:27", "retention.auditDays: expected a number from 0 to 36500, not -1"],
    ["[]", "1:1", "expected an object with keys, { … }, not a list"],
    ["{\n  gateway: {\n", "3:1", "not valid JSON5: invalid end of input"],
    ["{ a b }", "1:5", "not valid JSON5: invalid character 'b'"],
    ["/* open", "1:8", "not valid JSON5: invalid end of input"],
  ])("in %j is named at %s", (text, place, says) => {
    const { message } = errorOf(text);
    expect(message).toContain(`${FILE}:${place}: `);
    expect(message).toContain(says);
  });

  it("is never quoted if it might be a secret", () => {
    const key = "sk-live-123456789";
    const wrong = [
      `{ gateway: { port: "${key}" } }`,
      `{ models: { default: "${key}" } }`,
      `{ models: { providers: { p: { apiKey: ["${key}"] } } } }`,
      `{ models: { providers: { p: { api: "x", baseUrl: "https://me:${key}@host" } } } }`,
      `{ log: { level: "${key}" } }`,
    ];
    for (const text of wrong) expect(errorOf(text).message).not.toContain(key);
  });
});

describe("an unknown key", () => {
  it.each([
    ["{ gatway: {} }", '1:3: gatway: unknown key, ignored; did you mean "gateway"?'],
    ["{ gateway: {\n  prot: 1 } }", '2:3: gateway.prot: unknown key, ignored; did you mean "port"?'],
    ["{ agents: {} }", '1:3: agents: unknown key, ignored; did you mean "profiles"?'],
    ["{ banana: 1 }", "1:3: banana: unknown key, ignored"],
    [
      "{ models: { providers: { p: { api: 'openai', baseUrl: 'http://x', models: [{ id: 'a' }, { id: 'b', maxToken: 1 }] } } } }",
      '1:100: models.providers.p.models[1].maxToken: unknown key, ignored; did you mean "maxTokens"?',
    ],
    [
      "{ queue: { byChannel: { api: { moed: 'steer' } } } }",
      '1:32: queue.byChannel.api.moed: unknown key, ignored; did you mean "mode"?',
    ],
    ['{ "__proto__": { port: 1 } }', "1:3: __proto__: unknown key, ignored"],
  ])("in %j is a warning", (text, says) => {
    expect(parse(text).warnings.map(formatNote)).toEqual([`${FILE}:${says}`]);
  });

  it("does not change the configuration", () => {
    expect(parse("{ gatway: { port: 1 }, queue: { bananas: true } }").config).toEqual(parse("").config);
  });

  it("is also reported when another value is wrong", () => {
    const { config, errors, warnings } = check("{ gatway: {}, log: 1 }");
    expect(config).toBeUndefined();
    expect(errors).toHaveLength(1);
    expect(warnings).toHaveLength(1);
  });
});

describe("a secret in plain text", () => {
  it("is accepted with a warning that does not repeat it", () => {
    const { config, warnings } = parse(`{ store: { url: "postgres://me:pw@db" } }`);
    expect(config.store.url?.reveal({ env: {}, readFile: () => "" })).toBe("postgres://me:pw@db");
    expect(warnings.map(formatNote)).toEqual([
      `${FILE}:1:17: store.url: a secret written openly; better { env: "NAME" } or { file: "path" }`,
    ]);
  });
});

describe("any text", () => {
  it("is a configuration or an error that names a place in the text, never a crash", () => {
    const key = fc.constantFrom(
      "gateway",
      "port",
      "models",
      "providers",
      "queue",
      "mode",
      "byChannel",
      "store",
      "url",
      "x",
    );
    const { value } = fc.letrec<{ value: unknown }>((tie) => ({
      value: fc.oneof(
        { depthSize: "small", withCrossShrink: true },
        fc.constantFrom<unknown>(null, true, 0, -1, 7717, "", "steer", "a/b"),
        fc.array(tie("value"), { maxLength: 3 }),
        fc.dictionary(key, tie("value"), { maxKeys: 4 }),
      ),
    }));
    const text = fc.oneof(
      value.map((json) => JSON.stringify(json, null, 1)),
      fc.string({ unit: fc.constantFrom(..."{}[]:,'\"\\/* \ngateway1") }),
    );
    fc.assert(
      fc.property(text, (written) => {
        const { config, errors, warnings } = check(written);
        expect(config === undefined).toBe(errors.length > 0);
        for (const note of [...errors, ...warnings]) {
          expect(note.line).toBeGreaterThanOrEqual(1);
          expect(note.line).toBeLessThanOrEqual(written.split("\n").length);
        }
      }),
      { numRuns: tries(2_000) },
    );
  });
});
