import { createHmac } from "node:crypto";
import fc from "fast-check";
import { expect, test } from "vitest";
import { tries } from "../../../../test/kit/share.ts";
import { parseConfig } from "../../../config/parse-config.ts";
import { TriggerTestEngine } from "../triggers.test-kit.ts";
import { fillTemplate } from "./fill-template.ts";

const hooksOf = (text: string) =>
  parseConfig({ text: `{ hooks: ${text} }`, file: "rookery.json5", env: {} }).config.hooks;
const open = (text: string) => TriggerTestEngine.open({ settings: { hooks: hooksOf(text) } });
const BEARER = { authorization: "Bearer open" };
const SIMPLE = `{ deploy: { token: "open", prompt: "{{repo.name}} by {{who}}" } }`;

test("a call with the right token is answered 202 after the commit and becomes a run", async () => {
  const world = await open(SIMPLE);
  const body = JSON.stringify({ repo: { name: "rookery" }, who: "ann" });
  const { status, isRepeated } = await world.hook("deploy", { headers: BEARER, body });
  expect([status, isRepeated]).toEqual([202, false]);
  expect(world.engine.commits.some(({ site }) => site === "accept")).toBe(true);
  await world.engine.settle();
  expect(world.engine.sentBytes.at(-1)).toContain("[webhook:deploy] rookery by ann");
});

test("a repeated key is the same call, and is refused with another body", async () => {
  const world = await open(SIMPLE);
  const headers = { ...BEARER, "idempotency-key": "k1" };
  const first = await world.hook("deploy", { headers, body: `{"who":"a"}` });
  const again = await world.hook("deploy", { headers, body: `{"who":"a"}` });
  expect([again.status, again.body, again.isRepeated]).toEqual([202, first.body, true]);
  expect((await world.hook("deploy", { headers, body: `{"who":"b"}` })).status).toBe(422);
  await world.engine.settle();
  expect(world.engine.requests).toHaveLength(1);
});

test("a call with a wrong token or signature is refused", async () => {
  const world = await open(`{ a: { token: "open" }, b: { hmac: { secret: "s", header: "X-Hub-Signature-256" } } }`);
  const body = `{"n":1}`;
  const signature = createHmac("sha256", "s").update(body).digest("hex");
  const table: readonly (readonly [string, Record<string, string>, string, number])[] = [
    ["a", {}, body, 401],
    ["a", { authorization: "Bearer wrong" }, body, 401],
    ["a", { authorization: "open" }, body, 401],
    ["a", BEARER, body, 202],
    ["b", { "x-hub-signature-256": `sha256=${signature}` }, body, 202],
    ["b", { "x-hub-signature-256": signature }, body, 202],
    ["b", { "x-hub-signature-256": `sha256=${signature}` }, `${body} `, 401],
    ["b", BEARER, body, 401],
    ["unknown", BEARER, body, 404],
    ["__proto__", BEARER, body, 404],
    ["a", BEARER, "x".repeat(262_145), 413],
  ];
  for (const [name, headers, text, status] of table) {
    expect((await world.hook(name, { headers, body: text })).status, `${name} ${JSON.stringify(headers)}`).toBe(status);
  }
});

test("a full store does not answer 202", async () => {
  const world = await open(SIMPLE);
  world.engine.onCommit = () => "full";
  expect((await world.hook("deploy", { headers: BEARER, body: "{}" })).status).toBe(503);
});

test("a hook may post to the main conversation and deliver the answer there", async () => {
  const world = await open(`{ ping: { token: "open", target: "main", prompt: "ping {{n}}" } }`);
  await world.engine.say("hi", {
    to: {
      descriptor: { type: "user", connector: "test", userId: "ann", channelId: "ann" },
      sessionKey: "agent:main:main" as never,
    },
  });
  await world.engine.settle();
  await world.hook("ping", { headers: BEARER, body: `{"n":7}` });
  await world.engine.settle();
  expect(world.engine.shown().at(-1)).toContain("ping 7");
});

test("each call of an isolated hook begins a new session", async () => {
  const world = await open(SIMPLE);
  for (const n of [1, 2]) await world.hook("deploy", { headers: BEARER, body: `{"who":"${n}"}` });
  await world.engine.settle();
  expect(new Set(world.engine.requests.map(({ sessionId }) => sessionId)).size).toBe(2);
});

test.each([
  ["{{a.b}} {{ a.c }}", { a: { b: "x", c: 3 } }, "x 3"],
  ["{{list[1].n}} {{list.0.n}}", { list: [{ n: 1 }, { n: 2 }] }, "2 1"],
  ["{{nothing}}|{{constructor}}|{{__proto__.x}}|{{length}}", {}, "|||"],
  ["{{body}}", "plain", "plain"],
  ["{{name}} {{a}}", { a: "{{name}}" }, "hook {{name}}"],
  ["{{a}}", { a: null }, ""],
])("fills the template %j", (template, body, expected) => {
  expect(fillTemplate(template, { body, name: "hook" })).toBe(expected);
});

test("filling never fails, for any template and body", () => {
  fc.assert(
    fc.property(
      fc.string(),
      fc.jsonValue(),
      (template, body) => typeof fillTemplate(template, { body, name: "n" }) === "string",
    ),
    { numRuns: tries(300) },
  );
});
