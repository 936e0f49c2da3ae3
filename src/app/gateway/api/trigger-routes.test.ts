import { createHmac } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openTestGateway, type TestGateway } from "../gateway.test-kit.ts";

let kit: TestGateway;
beforeAll(async () => {
  kit = await openTestGateway({
    config: {
      hooks: {
        deploy: { token: "open-sesame", prompt: "{{who}} pushed" },
        signed: { hmac: { secret: "s" } },
      },
    },
  });
  await kit.node.triggers.start(kit.node.agents);
});
afterAll(() => kit.close());

const JOB = { name: "mail", schedule: { kind: "cron", expr: "0 9 * * 1-5", tz: "UTC" }, payload: { message: "look" } };

describe("cron jobs over HTTP", () => {
  it("are added, listed, changed, run and removed, with the outcome of their runs", async () => {
    const added = await kit.ask({ method: "POST", path: "/api/cron", body: JOB });
    expect([added.status, added.json.when]).toEqual([201, "At 09:00 on Monday to Friday (UTC)"]);
    expect(added.json.nextTimes).toHaveLength(3);
    const path = `/api/cron/${String(added.json.id)}`;
    expect((await kit.ask({ path: "/api/cron" })).json.items).toHaveLength(1);
    expect((await kit.ask({ method: "PATCH", path, body: { enabled: false } })).json.enabled).toBe(false);
    expect((await kit.ask({ path: "/api/cron" })).json.items).toEqual([]);
    expect((await kit.ask({ path: "/api/cron?all=true" })).json.items).toHaveLength(1);
    const run = await kit.ask({ method: "POST", path: `${path}/run` });
    expect(run.status).toBe(202);
    await kit.node.agents.settled();
    expect((await kit.ask({ path: `${path}/runs` })).json.items).toMatchObject([
      { slot: run.json.slot, status: "fired", end: { status: "ok" } },
    ]);
    expect((await kit.ask({ method: "DELETE", path })).json).toEqual({ removed: added.json.id });
    expect((await kit.ask({ path })).status).toBe(404);
  });

  it("are refused with the reason if they are invalid", async () => {
    const bad = { ...JOB, schedule: { kind: "cron", expr: "nonsense" } };
    const { status, json } = await kit.ask({ method: "POST", path: "/api/cron", body: bad });
    expect([status, json.error?.message]).toEqual([400, expect.stringContaining("Invalid cron schedule: nonsense")]);
    expect((await kit.ask({ path: "/api/cron/..%2F..%2Fetc" })).status).toBe(400);
  });

  it("come with the state of the heartbeat", async () => {
    expect((await kit.ask({ path: "/api/heartbeat" })).json.items).toMatchObject([{ profile: "main", every: "30m" }]);
  });
});

describe("the main conversation", () => {
  const wake = (body: object, key = "w") =>
    kit.ask({ method: "POST", path: "/api/wake", body, headers: { "idempotency-key": key } });

  it("gets a text now or with its next heartbeat, once per idempotency key", async () => {
    const later = { text: "the build is red", mode: "next-heartbeat" };
    const first = await wake(later);
    const again = await wake(later);
    expect([again.status, again.json, again.headers["idempotent-replayed"]]).toEqual([202, first.json, "true"]);
    expect((await wake({ text: "x" }, "w2")).json.agentId).toBe(first.json.agentId);
    await kit.node.agents.settled();
    const { items: messages } = (await kit.ask({ path: "/api/agents/agent:main:main/messages" })).json as {
      items: { body: { origin?: string } }[];
    };
    expect(messages.filter(({ body }) => body.origin === undefined || body.origin === "cron:wake")).toMatchObject([
      { body: { text: "x" }, state: "answered" },
      { body: { text: "the build is red", silent: true } },
    ]);
    expect((await wake({ text: "x", profile: "unknown" }, "w3")).status).toBe(404);
  });

  it("gets a heartbeat soon on request", async () => {
    const ask = (body: object) => kit.ask({ method: "POST", path: "/api/heartbeat/run", body });
    expect((await ask({})).json).toEqual({ asked: ["main"] });
    expect((await ask({ profile: "unknown" })).status).toBe(404);
    const ticks = async () =>
      ((await kit.ask({ path: "/api/heartbeat" })).json.items as { ticks: unknown[] }[])[0]?.ticks;
    await expect.poll(ticks).toHaveLength(1);
  });
});

describe("a webhook", () => {
  const bearer = { authorization: "Bearer open-sesame" };
  const hook = (name: string, body: unknown, headers: Record<string, string>) =>
    kit.ask({ method: "POST", path: `/hooks/${name}`, token: null, body, headers });

  it("is accepted with its own token, once per idempotency key", async () => {
    const headers = { ...bearer, "idempotency-key": "k" };
    const first = await hook("deploy", { who: "ann" }, headers);
    const again = await hook("deploy", { who: "ann" }, headers);
    expect([first.status, first.headers["idempotent-replayed"]]).toEqual([202, undefined]);
    expect([again.status, again.json, again.headers["idempotent-replayed"]]).toEqual([202, first.json, "true"]);
    expect((await hook("deploy", { who: "bob" }, headers)).status).toBe(422);
  });

  it("is accepted with a signature over the exact bytes", async () => {
    const body = `{"n": 1 }`;
    const signature = `sha256=${createHmac("sha256", "s").update(body).digest("hex")}`;
    expect((await hook("signed", body, { "x-signature": signature })).status).toBe(202);
    expect((await hook("signed", `{"n":1}`, { "x-signature": signature })).status).toBe(401);
  });

  it("is refused otherwise", async () => {
    expect((await hook("deploy", {}, {})).status).toBe(401);
    expect((await hook("deploy", {}, { authorization: "Bearer wrong" })).status).toBe(401);
    expect((await hook("unknown", {}, bearer)).status).toBe(404);
  });

  it("makes an address wait after too many wrong secrets, as every route does", async () => {
    const hooks = { deploy: { token: "open-sesame", prompt: "x" } };
    const strict = await openTestGateway({ config: { hooks }, limits: { failuresPerMinute: 3 } });
    const ask = async () =>
      (
        await strict.ask({
          method: "POST",
          path: "/hooks/deploy",
          token: null,
          body: {},
          headers: { authorization: "Bearer no" },
        })
      ).status;
    expect([await ask(), await ask(), await ask(), await ask()]).toEqual([401, 401, 401, 429]);
    await strict.close();
  });
});
