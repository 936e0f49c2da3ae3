/** A person's jobs over HTTP: the same verdicts as for the person's agent with the tools cron and cron_add (L13). */
import { afterAll, beforeAll, expect, it } from "vitest";
import { openTestGateway, type TestGateway } from "../gateway.test-kit.ts";

let kit: TestGateway;
const tokens: Record<string, string> = {};

const SCHEDULE = { kind: "every", everyMs: 3_600_000_000 };
const jobOf = (more: object = {}, payload: object = {}) => ({
  name: "work",
  schedule: SCHEDULE,
  payload: { kind: "agentTurn", message: "Work.", ...payload },
  ...more,
});
const add = (who: string, body: object) => kit.ask({ method: "POST", path: "/api/cron", token: tokens[who], body });

beforeAll(async () => {
  const records = {
    ann: { accounts: ["telegram:42"], grants: [{ allow: "cron_add(telegram:77)" }] },
    bob: { grants: [{ deny: "cron_add" }] },
    cleo: { role: "contact" },
    dan: { grants: [{ ask: "cron_add" }] },
  };
  kit = await openTestGateway({
    config: { cron: { commandGates: true }, people: { records }, profiles: { other: {} } },
  });
  for (const person of [...Object.keys(records), "eve"]) {
    const body = { name: person, scopes: ["chat"], person };
    tokens[person] = String((await kit.ask({ method: "POST", path: "/api/tokens", body })).json.token);
    await kit.ask({
      ...{ method: "POST", path: "/v1/chat/completions", token: tokens[person] },
      body: { model: "main", messages: [{ role: "user", content: "hi" }] },
    });
  }
});
afterAll(() => kit.close());

it("makes a person's job, which runs for that person in that person's conversation", async () => {
  const { status, json, text } = await add("ann", jobOf({ agentId: "other" }, { to: "telegram:42" }));
  expect(status, text).toBe(201);
  expect(json).toMatchObject({
    behalf: { person: "ann" },
    agentId: "main",
    sessionKey: "agent:main:api:dm:person%3aann",
  });
  expect((await add("ann", jobOf({}, { to: "telegram:77" }))).status).toBe(201);
  const listed = await kit.ask({ path: "/api/cron", token: tokens.ann });
  expect(listed.json.items).toHaveLength(2);
});

it.each([
  ["a gate", "ann", jobOf({ gate: { kind: "http", url: "http://127.0.0.1:9/" } }), "gates run on the owner's machine"],
  ["a command", "ann", jobOf({ gate: { kind: "command", command: "id" } }), "only be written into a TASK.md"],
  ["another's address", "ann", jobOf({}, { to: "telegram:78" }), "telegram:78 belongs to another person"],
  ["a grant that denies", "bob", jobOf(), "a grant of bob denies it"],
  ["a contact", "cleo", jobOf(), "a contact only talks to a swarm"],
  ["a grant that asks", "dan", jobOf(), "no one is there to ask"],
  ["someone without a record", "eve", jobOf(), "eve is not known here"],
])("denies %s, with the reason that the gate gives", async (_, who, body, reason) => {
  const { status, text } = await add(who, body);
  expect(text).toContain(reason);
  expect(status).toBe(403);
});

it("lets a person change and remove own jobs only, within the same rights", async () => {
  const { json } = await add("ann", jobOf());
  const path = `/api/cron/${json.id}`;
  const patch = (token: string | undefined, body: object) => kit.ask({ method: "PATCH", path, token, body });
  expect((await patch(tokens.ann, { name: "other" })).json).toMatchObject({ name: "other" });
  expect((await patch(tokens.ann, { agentId: "other" })).status).toBe(403);
  expect((await patch(tokens.ann, { payload: { kind: "agentTurn", to: "telegram:78" } })).status).toBe(403);
  expect((await patch(tokens.dan, { name: "taken" })).status).toBe(404);
  expect((await kit.ask({ method: "DELETE", path, token: tokens.dan })).status).toBe(404);
  expect((await kit.ask({ method: "POST", path: `${path}/run`, token: tokens.dan })).status).toBe(404);
  expect((await kit.ask({ method: "POST", path: `${path}/run`, token: tokens.ann })).status).toBe(202);
  expect((await kit.ask({ method: "DELETE", path, token: tokens.ann })).status).toBe(200);
});

it("takes a right away at once, also for a token that has been used before", async () => {
  const deny = { subject: "cron_add", verdict: "deny" };
  await kit.ask({ method: "POST", path: "/api/people/ann/grants", body: deny });
  expect((await add("ann", jobOf())).status).toBe(403);
  await kit.ask({ method: "DELETE", path: "/api/people/ann" });
  expect((await kit.ask({ path: "/api/agents", token: tokens.ann })).status).toBe(403);
});
