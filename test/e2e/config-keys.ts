/**
 * The table of the configuration's keys. A row sets its keys in a running engine by a reload and observes what people, programs or the
 * model see; times are virtual.
 */
import { createHmac, randomUUID } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { DAY, type Desk, HOUR, MINUTE, SECOND } from "./config-desk.ts";
import { echo, type FakeModel, type ModelCall } from "./serving.ts";

export interface Row {
  readonly keys: readonly string[];
  readonly effect: (desk: Desk) => Promise<void>;
}

type Item = Readonly<Record<string, unknown>>;
let users = 0;
/** Someone who has not written before. */
const someone = (): string => `user${++users}`;

const itemsOf = async (desk: Desk, path: string): Promise<readonly Item[]> =>
  ((await desk.ask(path)).json.items ?? []) as readonly Item[];

const LOOK = "look it up";
const TWO_MODELS = {
  default: "local/big",
  providers: {
    local: { api: "openai-completions", baseUrl: "http://127.0.0.1:1/v1", models: [{ id: "big" }, { id: "small" }] },
  },
};

/** The model calls a tool for each message but those of its children, and then ends. */
function calls(desk: Desk, name: string, input: Record<string, unknown> = {}): void {
  desk.script = (request) => {
    const last = request.messages.at(-1);
    const isFirst = last?.role === "user" && !JSON.stringify(last.content).includes(LOOK);
    return isFirst ? { call: [{ name, with: input }] } : "done";
  };
}

/** The result of the last call, as the model reads it. */
const resultText = (desk: Desk): string =>
  JSON.stringify(
    desk.requests.findLast(({ messages }) => messages.at(-1)?.role === "tool")?.messages.at(-1)?.content ?? "",
  );

/** The result of a call in a run for the owner. */
async function resultOf(desk: Desk, name: string, input: Record<string, unknown> = {}): Promise<string> {
  calls(desk, name, input);
  await desk.ask("/v1/chat/completions", { body: { model: "main", messages: [{ role: "user", content: "go" }] } });
  return resultText(desk);
}

/** The model's calls stay open until they are released. */
function hold(desk: Desk): { readonly held: number; release(): void } {
  const open: (() => void)[] = [];
  desk.script = async () => {
    await new Promise<void>((resolve) => open.push(resolve));
    return "late";
  };
  return {
    get held() {
      return open.length;
    },
    release() {
      desk.script = () => "later";
      for (const one of open.splice(0)) one();
    },
  };
}

const lastRequest = (desk: Desk) => {
  const request = desk.requests.at(-1);
  if (!request) throw new TypeError("The model was not asked.");
  return request;
};

/** The session that the next message of someone is answered in. */
async function sessionOf(desk: Desk, user: string, more: object = {}): Promise<string> {
  const before = desk.requests.length;
  await desk.write("hello", user, more);
  await desk.until(() => desk.requests.length > before, "an answer");
  await desk.rest();
  return lastRequest(desk).sessionId;
}

const utcHour = (at: number): number => new Date(at).getUTCHours();
const quiet = { heartbeat: { every: "0" } };

/** A heartbeat that has something to do. */
async function heartbeat(desk: Desk, settings: object, more: object = {}): Promise<void> {
  mkdirSync(join(desk.home, "workspace"), { recursive: true });
  writeFileSync(join(desk.home, "workspace", "HEARTBEAT.md"), "- look at the disk\n");
  await desk.reload({ heartbeat: settings, ...more });
}
async function tick(desk: Desk): Promise<void> {
  const before = desk.requests.length;
  await desk.ask("/api/heartbeat/run", { body: {} });
  await desk.passUntil(SECOND, () => desk.requests.length > before);
  await desk.pass(SECOND);
}
const beats = (desk: Desk): number => desk.heard("HEARTBEAT").length;

async function mint(desk: Desk): Promise<string> {
  const { json } = await desk.ask("/api/tokens", { body: { name: "app", scopes: ["chat"] } });
  return json.token as string;
}
const withToken = (desk: Desk, token: string, text = "hello") =>
  desk.ask("/v1/chat/completions", {
    token,
    body: { model: "main", user: "u", messages: [{ role: "user", content: text }] },
  });

const hookCall = (desk: Desk, body: string, headers: Record<string, string>) =>
  desk.ask("/hooks/deploy", { body, headers: { authorization: "", ...headers } });
const hmac = (secret: string, text: string, algorithm = "sha256"): string =>
  createHmac(algorithm, secret).update(text).digest("hex");

/** A second run of the same budget is refused. */
const budgetRow = (key: string, scope: string): Row => ({
  keys: [key],
  async effect(desk) {
    const user = someone();
    await desk.reload({ budgets: { [scope]: { tokens: 20 } } });
    await desk.api("one", user);
    const { status, text } = await desk.api("two", user);
    expect([status, text]).toEqual([429, expect.stringMatching(/budget/i)]);
    await desk.reload();
    expect((await desk.api("three", user)).status).toBe(200);
  },
});

const requestRow = (keys: readonly string[], config: object, check: (desk: Desk) => void): Row => ({
  keys,
  async effect(desk) {
    await desk.reload(config);
    await desk.api("hello", someone());
    check(desk);
  },
});

const resetByType = (type: "dm" | "group" | "thread", more: object): Row => ({
  keys: [`session.reset.byType.${type}`],
  async effect(desk) {
    const user = someone();
    await desk.reload({
      ...quiet,
      session: { reset: { mode: "off", byType: { [type]: { mode: "idle", idleMinutes: 5 } } } },
    });
    const first = await sessionOf(desk, user, more);
    await desk.pass(4 * MINUTE);
    expect(await sessionOf(desk, user, more)).toBe(first);
    await desk.pass(6 * MINUTE);
    expect(await sessionOf(desk, user, more)).not.toBe(first);
  },
});

export const ROWS: readonly Row[] = [
  {
    keys: ["approvals.expiryMinutes"],
    async effect(desk) {
      await desk.reload({ ...quiet, approvals: { expiryMinutes: 3 }, permissions: { ask: ["write(**)"] } });
      calls(desk, "write", { path: "a.txt", content: "x" });
      await desk.write("write it", someone());
      const open = async () => (await itemsOf(desk, "/api/approvals")).length;
      await desk.until(async () => (await open()) === 1);
      await desk.pass(2 * MINUTE + 50 * SECOND);
      expect(await open()).toBe(1);
      await desk.pass(20 * SECOND);
      expect(await open()).toBe(0);
    },
  },
  {
    keys: ["retention.recordsDays", "retention.auditDays"],
    async effect(desk) {
      const user = someone();
      await desk.reload({ ...quiet, retention: { recordsDays: 1, auditDays: 1 }, log: { level: "warn" } });
      await desk.api("hello", user);
      const at = desk.clock.now();
      const agent = encodeURIComponent(`agent:main:api:dm:${user}`);
      const stored = async () => (await itemsOf(desk, `/api/agents/${agent}/messages`)).length;
      const oldest = async () => (await itemsOf(desk, "/api/audit?limit=500")).some((row) => (row.at as number) <= at);
      await desk.pass(23 * HOUR);
      expect([await stored(), await oldest()]).toEqual([1, true]);
      await desk.pass(3 * HOUR);
      await desk.until(async () => (await stored()) === 0 && !(await oldest()));
    },
  },
  {
    keys: ["session.timeZone"],
    async effect(desk) {
      await desk.reload({ session: { timeZone: "Asia/Tokyo" } });
      expect(await resultOf(desk, "current_time")).toContain("Asia/Tokyo");
      await desk.reload({ session: { timeZone: "America/New_York" } });
      expect(await resultOf(desk, "current_time")).toContain("America/New_York");
    },
  },
  {
    keys: ["session.reset.idleMinutes", "session.reset.mode"],
    async effect(desk) {
      const user = someone();
      await desk.reload({ ...quiet, session: { reset: { mode: "idle", idleMinutes: 5 } } });
      const first = await sessionOf(desk, user);
      await desk.pass(4 * MINUTE);
      expect(await sessionOf(desk, user)).toBe(first);
      await desk.pass(6 * MINUTE);
      const second = await sessionOf(desk, user);
      expect(second).not.toBe(first);
      await desk.reload({ ...quiet, session: { reset: { mode: "off" } } });
      await desk.pass(HOUR);
      expect(await sessionOf(desk, user)).toBe(second);
    },
  },
  {
    keys: ["session.reset.atHour"],
    async effect(desk) {
      const user = someone();
      const atHour = (utcHour(desk.clock.now()) + 3) % 24;
      await desk.reload({ ...quiet, session: { timeZone: "UTC", reset: { mode: "daily", atHour } } });
      const first = await sessionOf(desk, user);
      await desk.pass(HOUR);
      expect(await sessionOf(desk, user)).toBe(first);
      await desk.pass(2 * HOUR);
      expect(await sessionOf(desk, user)).not.toBe(first);
    },
  },
  resetByType("dm", {}),
  resetByType("group", { peerKind: "group", channelId: "g1", delivery: { channel: "chat", to: "g1" } }),
  resetByType("thread", { peerKind: "group", channelId: "g2", threadId: "7", delivery: { channel: "chat", to: "g2" } }),
  {
    keys: ["session.mainKey"],
    async effect(desk) {
      const boss = someone();
      await desk.reload({ session: { mainKey: "desk" }, owner: { accounts: [`chat:${boss}`] } });
      await sessionOf(desk, boss);
      expect((await desk.ask("/api/sessions/agent%3Amain%3Adesk")).status).toBe(200);
    },
  },
  {
    keys: ["session.dmScope", "session.identityLinks.<name>[]", "owner.accounts[]"],
    async effect(desk) {
      const [a, b] = [someone(), someone()];
      await desk.reload({
        session: { dmScope: "per-peer", identityLinks: { [`pair${a}`]: [`chat:${a}`, `chat:${b}`] } },
      });
      expect(await sessionOf(desk, a)).toBe(await sessionOf(desk, b));
      const boss = someone();
      const other = await sessionOf(desk, boss);
      await desk.reload({ owner: { accounts: [`chat:${boss}`] } });
      expect(await sessionOf(desk, boss)).not.toBe(other);
    },
  },
  {
    keys: [
      "session.sendPolicy.default",
      "session.sendPolicy.rules[].action",
      "session.sendPolicy.rules[].match.channel",
    ],
    async effect(desk) {
      const user = someone();
      const allow = { action: "allow", match: { channel: "chat" } };
      await desk.reload({ session: { sendPolicy: { default: "deny" } } });
      await sessionOf(desk, user);
      expect(desk.textsTo(user)).toEqual([]);
      await desk.reload({ session: { sendPolicy: { default: "deny", rules: [allow] } } });
      await sessionOf(desk, user);
      await desk.until(() => desk.textsTo(user).length === 1);
    },
  },
  {
    keys: ["session.sendPolicy.rules[].match.chatType", "session.sendPolicy.rules[].match.keyPrefix"],
    async effect(desk) {
      const [user, other] = [someone(), someone()];
      const rules = [{ action: "deny", match: { chatType: "direct", keyPrefix: `chat:dm:${user}` } }];
      await desk.reload({ session: { sendPolicy: { rules } } });
      await sessionOf(desk, user);
      await sessionOf(desk, other);
      await desk.until(() => desk.textsTo(other).length === 1);
      expect(desk.textsTo(user)).toEqual([]);
    },
  },
  {
    keys: ["heartbeat.every"],
    async effect(desk) {
      await heartbeat(desk, { every: "20m" });
      const before = beats(desk);
      await desk.pass(19 * MINUTE);
      expect(beats(desk)).toBe(before);
      await desk.passUntil(10 * SECOND, () => beats(desk) === before + 1);
      await desk.reload(quiet);
      await desk.pass(HOUR);
      expect(beats(desk)).toBe(before + 1);
    },
  },
  {
    keys: ["heartbeat.target", "heartbeat.ackMaxChars"],
    async effect(desk) {
      const target = someone();
      desk.script = () => `HEARTBEAT_OK ${"x".repeat(50)}`;
      await heartbeat(desk, { every: "2h", target: `chat:${target}`, ackMaxChars: 60 });
      await tick(desk);
      expect(desk.textsTo(target)).toEqual([]);
      await heartbeat(desk, { every: "2h", target: `chat:${target}`, ackMaxChars: 40 });
      await tick(desk);
      await desk.until(() => desk.textsTo(target).length === 1);
    },
  },
  {
    keys: ["heartbeat.prompt", "heartbeat.model"],
    async effect(desk) {
      await heartbeat(
        desk,
        { every: "2h", prompt: "Is it raining?", model: "local/other" },
        {
          models: {
            providers: {
              local: { api: "openai-completions", baseUrl: "http://127.0.0.1:1/v1", models: [{ id: "other" }] },
            },
          },
        },
      );
      await tick(desk);
      expect(lastRequest(desk).model).toBe("local/other");
      expect(desk.heard("Is it raining?").length).toBe(1);
    },
  },
  {
    keys: ["heartbeat.activeHours.start", "heartbeat.activeHours.end", "heartbeat.activeHours.timezone"],
    async effect(desk) {
      const hour = utcHour(desk.clock.now());
      const two = (n: number) => String(n % 24).padStart(2, "0");
      const hours = { start: `${two(hour + 2)}:00`, end: `${two(hour + 4)}:00`, timezone: "UTC" };
      await heartbeat(desk, { every: "30m", activeHours: hours });
      const before = beats(desk);
      await desk.pass(50 * MINUTE);
      expect(beats(desk)).toBe(before);
      await desk.pass(2 * HOUR);
      await desk.until(() => beats(desk) > before);
    },
  },
  {
    keys: ["profiles.<name>.heartbeat"],
    async effect(desk) {
      await heartbeat(
        desk,
        { every: "0" },
        { profiles: { main: { heartbeat: { every: "20m", prompt: "Own beat?" } } } },
      );
      await desk.pass(21 * MINUTE);
      await desk.until(() => desk.heard("Own beat?").length === 1);
    },
  },
  {
    keys: ["gateway.loginDays"],
    async effect(desk) {
      const person = someone();
      const gateway = { publicUrl: "https://desk.example.org", loginDays: 1 };
      await desk.reload({ ...quiet, gateway, people: { unknown: "guest", records: { [person]: {} } } });
      const { json } = await desk.ask(`/api/people/${person}/invitations`, { body: {} });
      const invitation = new URL(String(json.link)).hash.slice("#invite=".length);
      const { json: login } = await desk.ask("/api/logins", { body: { invitation, nonce: randomUUID() } });
      expect(Number(login.expiresAt) - desk.clock.now()).toBe(DAY);
      const open = async () => (await itemsOf(desk, "/api/logins")).filter((one) => one.person === person).length;
      desk.clock.jump(23 * HOUR);
      expect(await open()).toBe(1);
      desk.clock.jump(2 * HOUR);
      expect(await open()).toBe(0);
    },
  },
  {
    keys: ["gateway.publicUrl"],
    async effect(desk) {
      const person = someone();
      await desk.reload({ gateway: { publicUrl: "https://other.example.org" }, people: { records: { [person]: {} } } });
      const { json } = await desk.ask(`/api/people/${person}/invitations`, { body: {} });
      expect(new URL(String(json.link)).host).toBe("other.example.org");
    },
  },
  {
    keys: ["gateway.allowedOrigins[]"],
    async effect(desk) {
      const origin = "https://page.example.org";
      const status = async () => (await desk.ask("/api/me", { headers: { origin } })).status;
      expect(await status()).toBe(403);
      await desk.reload({ gateway: { allowedOrigins: [origin] } });
      expect(await status()).toBe(200);
    },
  },
  {
    keys: ["gateway.trustedProxy.header", "gateway.trustedProxy.addresses[]"],
    async effect(desk) {
      const person = someone();
      const records = { [person]: {} };
      const me = async () => (await desk.ask("/api/me", { token: null, headers: { "x-user": person } })).status;
      expect(await me()).toBe(401);
      await desk.reload({
        gateway: { trustedProxy: { header: "x-user", addresses: ["127.0.0.1"] } },
        people: { records },
      });
      expect(await me()).not.toBe(401);
      await desk.reload({
        gateway: { trustedProxy: { header: "x-user", addresses: ["10.9.9.9"] } },
        people: { records },
      });
      expect(await me()).toBe(401);
    },
  },
  {
    keys: ["gateway.limits.bodyBytes"],
    async effect(desk) {
      await desk.reload({ gateway: { limits: { bodyBytes: 2_000 } } });
      const status = async (length: number) =>
        (await desk.ask("/api/people", { body: { id: someone(), note: "x".repeat(length) } })).status;
      expect(await status(1_900)).not.toBe(413);
      expect(await status(2_001)).toBe(413);
    },
  },
  {
    keys: ["gateway.limits.perToken.messagesPerDay", "budgets.agent.messages"],
    async effect(desk) {
      const user = someone();
      await desk.reload({
        ...quiet,
        session: { timeZone: "UTC" },
        budgets: { agent: { messages: 1 } },
        gateway: { limits: { perToken: { messagesPerDay: 1 } } },
      });
      const token = await mint(desk);
      for (const expected of [200, 429]) expect((await withToken(desk, token)).status).toBe(expected);
      for (const expected of [200, 429]) expect((await desk.api("hello", user)).status).toBe(expected);
      desk.clock.jump(DAY);
      expect([(await withToken(desk, token)).status, (await desk.api("hello", user)).status]).toEqual([200, 200]);
    },
  },
  {
    keys: ["gateway.limits.perToken.tokensPerDay"],
    async effect(desk) {
      await desk.reload({ gateway: { limits: { perToken: { tokensPerDay: 10 } } } });
      const token = await mint(desk);
      await withToken(desk, token);
      expect((await withToken(desk, token)).status).toBe(429);
    },
  },
  {
    keys: ["gateway.limits.perToken.requestsPerMinute"],
    async effect(desk) {
      await desk.reload({ gateway: { limits: { perToken: { requestsPerMinute: 2 } } } });
      const token = await mint(desk);
      for (const expected of [200, 200, 429]) expect((await withToken(desk, token)).status).toBe(expected);
      await desk.pass(31 * SECOND);
      expect((await withToken(desk, token)).status).toBe(200);
    },
  },
  {
    keys: ["gateway.limits.perPerson"],
    async effect(desk) {
      await desk.reload({ gateway: { limits: { perPerson: { messagesPerDay: 1 } } } });
      const user = someone();
      for (const expected of [200, 429]) expect((await desk.api("hello", user)).status).toBe(expected);
      expect((await desk.api("hello", someone())).status).toBe(200);
    },
  },
  budgetRow("budgets.agent.tokens", "agent"),
  budgetRow("budgets.tree", "tree"),
  budgetRow("budgets.profile", "profile"),
  budgetRow("budgets.person", "person"),
  budgetRow("budgets.day", "day"),
  {
    keys: ["queue.debounceMs", "queue.mode"],
    async effect(desk) {
      const user = someone();
      await desk.reload({ queue: { mode: "collect", debounceMs: 5_000 } });
      const waiting = hold(desk);
      await desk.write("zero", user);
      await desk.until(() => waiting.held === 1);
      for (const text of ["one", "two"]) await desk.write(`${text} of ${user}`, user);
      waiting.release();
      await desk.pass(4 * SECOND);
      expect(desk.heard(`one of ${user}`)).toEqual([]);
      await desk.pass(2 * SECOND);
      await desk.until(() => desk.heard(`one of ${user}`).length === 1);
      expect(JSON.stringify(desk.heard(`one of ${user}`))).toContain(`two of ${user}`);
    },
  },
  {
    keys: ["queue.cap", "queue.drop"],
    async effect(desk) {
      const user = someone();
      await desk.reload({ queue: { mode: "queue", debounceMs: 0, cap: 2, drop: "new" } });
      const waiting = hold(desk);
      await desk.write("zero", user);
      await desk.until(() => waiting.held === 1);
      for (const text of ["one", "two", "three"]) await desk.write(`${text} of ${user}`, user);
      waiting.release();
      await desk.until(() => desk.heard(`two of ${user}`).length > 0);
      await desk.rest();
      expect(desk.heard(`three of ${user}`)).toEqual([]);
    },
  },
  {
    keys: ["queue.byChannel"],
    async effect(desk) {
      const user = someone();
      await desk.reload({
        queue: { mode: "queue", debounceMs: 0, byChannel: { chat: { mode: "collect", debounceMs: 5_000 } } },
      });
      const waiting = hold(desk);
      await desk.write("zero", user);
      await desk.until(() => waiting.held === 1);
      for (const text of ["one", "two"]) await desk.write(`${text} of ${user}`, user);
      waiting.release();
      await desk.pass(4 * SECOND);
      expect(desk.heard(`one of ${user}`)).toEqual([]);
      await desk.pass(2 * SECOND);
      await desk.until(() => desk.heard(`one of ${user}`).length === 1);
      expect(JSON.stringify(desk.heard(`one of ${user}`))).toContain(`two of ${user}`);
    },
  },
  {
    keys: ["runs.timeoutSeconds"],
    async effect(desk) {
      const user = someone();
      await desk.reload({ runs: { timeoutSeconds: 40 } });
      let aborted = false;
      desk.script = (_, signal) =>
        new Promise((resolve) => {
          signal.addEventListener("abort", () => {
            aborted = true;
            resolve("late");
          });
        });
      const before = desk.requests.length;
      await desk.write("slow", user);
      await desk.until(() => desk.requests.length > before);
      await desk.pass(38 * SECOND);
      expect(aborted).toBe(false);
      await desk.pass(4 * SECOND);
      await desk.until(() => aborted);
    },
  },
  {
    keys: ["profiles.<name>.limits"],
    async effect(desk) {
      await desk.reload({ profiles: { main: { limits: { maxIterations: 2 } } } });
      desk.script = () => ({ call: [{ name: "current_time" }] });
      const before = desk.requests.length;
      await desk.api("again and again", someone());
      expect(desk.requests.length - before).toBe(2);
    },
  },
  {
    keys: ["runs.maxIterations"],
    async effect(desk) {
      await desk.reload({ runs: { maxIterations: 3 } });
      desk.script = () => ({ call: [{ name: "current_time" }] });
      const before = desk.requests.length;
      await desk.api("again and again", someone());
      expect(desk.requests.length - before).toBe(3);
    },
  },
  {
    keys: ["runs.maxConcurrent"],
    async effect(desk) {
      await desk.reload({ runs: { maxConcurrent: 1 } });
      const waiting = hold(desk);
      for (const user of [someone(), someone()]) await desk.write("hello", user);
      await desk.until(() => waiting.held === 1);
      await desk.rest();
      expect(waiting.held).toBe(1);
      await desk.reload({ runs: { maxConcurrent: 2 } });
      await desk.until(() => waiting.held === 2);
      waiting.release();
      await desk.rest();
    },
  },
  {
    keys: ["runs.enforceFinalTag"],
    async effect(desk) {
      const user = someone();
      await desk.reload({ runs: { enforceFinalTag: true } });
      desk.script = () => "thinking aloud <final>only this</final>";
      await sessionOf(desk, user);
      await desk.until(() => desk.textsTo(user).length === 1);
      expect(desk.textsTo(user)).toEqual(["only this"]);
    },
  },
  {
    keys: ["runs.blockReplyBreak"],
    async effect(desk) {
      const user = someone();
      await desk.reload({ runs: { blockReplyBreak: "text_end" } });
      desk.script = (request) =>
        request.messages.at(-1)?.role === "user" ? { say: "I look.", call: [{ name: "current_time" }] } : "It is late.";
      await desk.write("time?", user);
      await desk.until(() => desk.textsTo(user).length === 2);
      expect(desk.textsTo(user)).toEqual(["I look.", "It is late."]);
    },
  },
  {
    keys: ["outbox.maxAgeHours"],
    async effect(desk) {
      const user = someone();
      await desk.reload({ ...quiet, outbox: { maxAgeHours: 2 } });
      desk.sending.busy = true;
      await sessionOf(desk, user);
      const failed = async () =>
        (await itemsOf(desk, "/api/outbox?state=failed&limit=100")).some((one) => JSON.stringify(one).includes(user));
      await desk.pass(HOUR + 50 * MINUTE);
      expect(await failed()).toBe(false);
      await desk.pass(20 * MINUTE);
      desk.sending.busy = false;
      await desk.passUntil(MINUTE, failed);
    },
  },
  {
    keys: ["commands.<name>"],
    async effect(desk) {
      const user = someone();
      await desk.reload({ commands: { chat: false } });
      await sessionOf(desk, user);
      const before = desk.requests.length;
      await desk.write("/new", user);
      await desk.until(() => desk.requests.length > before);
      await desk.reload({ commands: { chat: true } });
      const asked = desk.requests.length;
      await desk.write("/help", user);
      await desk.until(() => desk.textsTo(user).some((text) => text.includes("/new")));
      expect(desk.requests.length).toBe(asked);
    },
  },
  {
    keys: ["people.unknown"],
    async effect(desk) {
      await desk.reload({ people: { unknown: "stranger" } });
      expect(await desk.write("hello", someone())).toMatchObject({ status: "refused" });
      await desk.reload({ people: { unknown: "guest" } });
      expect(await desk.write("hello", someone())).not.toMatchObject({ status: "refused" });
    },
  },
  {
    keys: [
      "people.records.<name>.accounts[]",
      "people.records.<name>.name",
      "people.records.<name>.role",
      "people.records.<name>.language",
    ],
    async effect(desk) {
      const id = someone();
      const record = { name: "Ann Example", role: "contact", accounts: [`chat:${id}`], language: "de" };
      await desk.reload({ people: { unknown: "stranger", records: { [id]: record } } });
      expect((await desk.ask(`/api/people/${id}`)).json).toMatchObject(record);
      expect((await desk.ask(`/api/people/${id}`)).json).not.toHaveProperty("limits.messagesPerDay");
    },
  },
  {
    keys: ["people.records.<name>.limits.messagesPerDay"],
    async effect(desk) {
      const id = someone();
      await desk.reload({ people: { records: { [id]: { accounts: [`chat:${id}`], limits: { messagesPerDay: 1 } } } } });
      await sessionOf(desk, id);
      const before = desk.requests.length;
      await desk.write("again", id);
      await desk.until(() => desk.textsTo(id).some((text) => /message/i.test(text) && /1/.test(text)));
      expect(desk.requests.length).toBe(before);
    },
  },
  {
    keys: ["people.records.<name>.limits.quietHours", "people.records.<name>.timeZone"],
    async effect(desk) {
      const [ann, bob] = [someone(), someone()];
      const hour = (more: number) => `${String((utcHour(desk.clock.now()) + 9 + more) % 24).padStart(2, "0")}:00`;
      // They begin in at most an hour and end in two to three hours.
      const person = (id: string) => ({
        ...{ accounts: [`chat:${id}`], grants: [{ allow: "cron*" }], timeZone: "Asia/Tokyo" },
        limits: { quietHours: `${hour(1)}-${hour(3)}` },
      });
      await desk.reload({ ...quiet, people: { records: { [ann]: person(ann), [bob]: person(bob) } } });
      const job = async (to: string, afterMs: number, message: string) => {
        const payload = { kind: "agentTurn", message, channel: "chat", to };
        const schedule = { kind: "at", at: new Date(desk.clock.now() + afterMs).toISOString() };
        const body = { name: message, schedule, sessionTarget: "isolated", payload };
        expect((await desk.ask("/api/cron", { body })).status).toBe(201);
      };
      const has = (to: string, text: string) => desk.textsTo(to).some((one) => one.includes(text));
      await desk.write("/remind 100m tea", ann);
      await job(ann, 90 * MINUTE, "report one");
      await job(ann, 105 * MINUTE, "report two");
      await job(ann, 115 * MINUTE, "report three");
      await job(bob, 90 * MINUTE, "report one");
      await desk.pass(95 * MINUTE);
      expect(has(ann, "report one")).toBe(false);
      await desk.pass(6 * MINUTE);
      // The person's own job comes at its time, with what waits in front of it.
      await desk.until(() => has(ann, "tea"));
      expect(has(ann, "report one")).toBe(true);
      await desk.pass(10 * MINUTE);
      expect([has(ann, "report two"), has(bob, "report one")]).toEqual([false, false]);
      await desk.write("are you there?", ann);
      await desk.until(() => has(ann, "echo: are you there?") && has(ann, "report two"));
      // Someone who has just written is awake.
      await desk.pass(5 * MINUTE);
      await desk.until(() => has(ann, "report three"));
      expect(has(bob, "report one")).toBe(false);
      await desk.passUntil(MINUTE, () => has(bob, "report one"));
      const minutes = (desk.clock.now() / MINUTE) % 60;
      expect(minutes).toBeLessThan(3);
    },
  },
  {
    keys: ["people.records.<name>.grants[].allow", "people.records.<name>.grants[].deny"],
    async effect(desk) {
      const id = someone();
      const people = (grant: object) => ({
        people: { records: { [id]: { accounts: [`chat:${id}`], grants: [grant] } } },
      });
      calls(desk, "current_time");
      await desk.reload(people({ deny: "current_time" }));
      await sessionOf(desk, id);
      await desk.until(() => /denied|not allowed/i.test(resultText(desk)));
      await desk.reload(people({ allow: "current_time" }));
      await desk.write("again", id);
      await desk.until(() => resultText(desk).includes("UTC"));
    },
  },
  {
    keys: ["people.records.<name>.grants[].ask", "people.records.<name>.grants[].note"],
    async effect(desk) {
      const id = someone();
      calls(desk, "write", { path: "a.txt", content: "x" });
      await desk.reload({
        people: { records: { [id]: { accounts: [`chat:${id}`], grants: [{ ask: "write", note: "why not" }] } } },
      });
      await desk.write("time?", id);
      await desk.until(async () => (await itemsOf(desk, "/api/approvals")).length === 1);
      expect(JSON.stringify((await desk.ask(`/api/people/${id}`)).json)).toContain("why not");
      const [question] = await itemsOf(desk, "/api/approvals");
      await desk.ask(`/api/approvals/${String(question?.id)}`, { body: { decision: "deny" } });
    },
  },
  {
    keys: ["permissions.deny[]"],
    async effect(desk) {
      await desk.reload({ permissions: { deny: ["current_time"] } });
      expect(await resultOf(desk, "current_time")).toMatch(/denied|not allowed/i);
    },
  },
  {
    keys: ["permissions.ask[]", "permissions.allow[]", "permissions.untrusted", "profiles.<name>.permissions"],
    async effect(desk) {
      const verdict = async () =>
        JSON.stringify((await desk.ask("/api/permissions/test", { body: { call: "exec(npm test)" } })).json);
      await desk.reload({ permissions: { ask: ["exec(npm test)"] } });
      const asks = await verdict();
      await desk.reload({ permissions: { allow: ["exec(npm test)"] } });
      const allows = await verdict();
      await desk.reload({ profiles: { main: { permissions: { deny: ["exec(npm test)"] } } } });
      expect(new Set([asks, allows, await verdict()]).size).toBe(3);
    },
  },
  {
    keys: ["bindings[].profile", "bindings[].match.channel", "bindings[].match.peer.kind", "bindings[].match.peer.id"],
    async effect(desk) {
      const user = someone();
      const bindings = [{ profile: "other", match: { channel: "chat", peer: { kind: "dm", id: user } } }];
      await desk.reload({ bindings, profiles: { other: { prompt: "You are the other one." } } });
      await sessionOf(desk, user);
      expect(lastRequest(desk).system).toContain("You are the other one.");
      await sessionOf(desk, someone());
      expect(lastRequest(desk).system).not.toContain("You are the other one.");
    },
  },
  {
    keys: ["bindings[].match.accountId", "bindings[].match.guildId", "bindings[].match.teamId"],
    async effect(desk) {
      for (const place of [{ accountId: "work" }, { guildId: "g" }, { teamId: "t" }]) {
        const bindings = [{ profile: "other", match: { channel: "chat", accountId: "*", ...place } }];
        await desk.reload({ bindings, profiles: { other: { prompt: "You are the other one." } } });
        await sessionOf(desk, someone(), place);
        expect(lastRequest(desk).system, JSON.stringify(place)).toContain("You are the other one.");
        await sessionOf(desk, someone());
        expect(lastRequest(desk).system, JSON.stringify(place)).not.toContain("You are the other one.");
      }
    },
  },
  requestRow(["profiles.<name>.prompt"], { profiles: { main: { prompt: "You are a lighthouse." } } }, (desk) =>
    expect(lastRequest(desk).system).toContain("You are a lighthouse."),
  ),
  requestRow(["profiles.<name>.tools.deny[]"], { profiles: { main: { tools: { deny: ["current_time"] } } } }, (desk) =>
    expect(lastRequest(desk).tools.map(({ name }) => name)).not.toContain("current_time"),
  ),
  requestRow(
    ["profiles.<name>.tools.allow[]"],
    { profiles: { main: { tools: { allow: ["current_time"] } } } },
    (desk) => expect(lastRequest(desk).tools.map(({ name }) => name)).toEqual(["current_time"]),
  ),
  requestRow(
    ["models.default", "models.thinking", "models.fallbacks[]"],
    {
      models: {
        ...{ default: "local/a", fallbacks: ["local/b"], thinking: "high" },
        providers: {
          local: { api: "openai-completions", baseUrl: "http://127.0.0.1:1/v1", models: [{ id: "a" }, { id: "b" }] },
        },
      },
    },
    (desk) => expect(lastRequest(desk)).toMatchObject({ model: "local/a", fallbacks: ["local/b"], thinking: "high" }),
  ),
  requestRow(
    ["profiles.<name>.model", "profiles.<name>.thinking", "profiles.<name>.fallbacks[]"],
    {
      profiles: { main: { model: "local/b", fallbacks: ["local/a"], thinking: "low" } },
      models: {
        providers: {
          local: { api: "openai-completions", baseUrl: "http://127.0.0.1:1/v1", models: [{ id: "a" }, { id: "b" }] },
        },
      },
    },
    (desk) => expect(lastRequest(desk)).toMatchObject({ model: "local/b", fallbacks: ["local/a"], thinking: "low" }),
  ),
  {
    keys: ["profiles.<name>.request[]"],
    async effect(desk) {
      await desk.reload({ profiles: { main: { request: ["temperature"] } } });
      expect((await desk.api("hello", someone(), { temperature: 0.5 })).status).toBe(200);
      expect(lastRequest(desk).temperature).toBe(0.5);
      await desk.reload({ profiles: { main: { request: [] } } });
      expect((await desk.api("hello", someone(), { temperature: 0.5 })).status).toBe(400);
    },
  },
  {
    keys: ["systemAgents.<name>.prompt", "systemAgents.<name>.description", "systemAgents.<name>.replacesSystemPrompt"],
    async effect(desk) {
      await desk.reload({
        systemAgents: {
          clerk: { prompt: "You file papers.", description: "files papers", replacesSystemPrompt: true },
        },
      });
      calls(desk, "send_agent_message", { text: "file this", agentId: "clerk" });
      await desk.ask("/v1/chat/completions", {
        body: { model: "main", messages: [{ role: "user", content: "file it" }] },
      });
      await desk.until(() => desk.requests.some(({ system }) => system.includes("You file papers.")));
    },
  },
  {
    keys: ["files.maxBytes", "files.quotaBytes"],
    async effect(desk) {
      const put = async (name: string, length: number) =>
        (
          await desk.ask(`/api/files?name=${name}`, {
            body: Buffer.alloc(length, name),
            headers: { "content-type": "application/octet-stream" },
          })
        ).status;
      await desk.reload({ files: { maxBytes: 2_000 } });
      expect([await put("a", 2_000), await put("b", 2_001)]).toEqual([201, 413]);
      await desk.reload({ files: { maxBytes: 2_000, quotaBytes: 3_000 } });
      expect(await put("c", 1_500)).toBe(413);
    },
  },
  {
    keys: ["hooks.<name>.token", "hooks.<name>.prompt", "hooks.<name>.deliver", "hooks.<name>.idempotencyHeader"],
    async effect(desk) {
      const target = someone();
      const hook = {
        token: { env: "S" },
        prompt: "deployed {{what}}",
        deliver: `chat:${target}`,
        idempotencyHeader: "x-call",
      };
      await desk.reload({ hooks: { deploy: hook } });
      const headers = { authorization: "Bearer secret-one", "x-call": "1" };
      expect((await hookCall(desk, "{}", { authorization: "Bearer other" })).status).toBe(401);
      for (const _ of [1, 2]) expect((await hookCall(desk, '{"what":"the site"}', headers)).status).toBe(202);
      await desk.until(() => desk.textsTo(target).length === 1);
      expect(desk.textsTo(target)[0]).toContain("deployed the site");
    },
  },
  {
    keys: ["hooks.<name>.hmac.secret", "hooks.<name>.hmac.scheme", "hooks.<name>.hmac.toleranceSeconds"],
    async effect(desk) {
      const hooks = { deploy: { hmac: { secret: { env: "S" }, scheme: "rookery", toleranceSeconds: 60 } } };
      await desk.reload({ hooks });
      const status = async (agoSeconds: number) => {
        const at = String(Math.floor(desk.clock.now() / SECOND) - agoSeconds);
        const signature = `v1=${hmac("secret-one", `${at}.{}`)}`;
        return (await hookCall(desk, "{}", { "x-rookery-timestamp": at, "x-rookery-signature": signature })).status;
      };
      expect([await status(58), await status(62)]).toEqual([202, 401]);
    },
  },
  {
    keys: ["hooks.<name>.hmac.header", "hooks.<name>.hmac.algorithm", "hooks.<name>.profile", "hooks.<name>.target"],
    async effect(desk) {
      const hmacOf = { secret: { env: "S" }, header: "x-signed", algorithm: "sha512" };
      await desk.reload({
        hooks: { deploy: { hmac: hmacOf, profile: "other", target: "main" } },
        profiles: { other: { prompt: "You are the other one." } },
      });
      const signature = `sha512=${hmac("secret-one", '{"n":1}', "sha512")}`;
      expect((await hookCall(desk, '{"n":1}', { "x-signed": signature })).status).toBe(202);
      await desk.until(() =>
        desk.requests.some(
          ({ system, messages }) =>
            system.includes("You are the other one.") && JSON.stringify(messages).includes("webhook:deploy"),
        ),
      );
    },
  },
  {
    keys: ["subagents.maxDepth", "subagents.allowAgents[]", "profiles.<name>.subagents"],
    async effect(desk) {
      const spawn = (more: object) => resultOf(desk, "sessions_spawn", { task: LOOK, ...more });
      await desk.reload({ profiles: { other: {} } });
      expect(await spawn({ agentId: "other" })).toContain("forbidden");
      await desk.reload({ subagents: { allowAgents: ["other"] }, profiles: { other: {} } });
      expect(await spawn({ agentId: "other" })).toContain("accepted");
      await desk.reload({ profiles: { other: {}, main: { subagents: { allowAgents: ["other"] } } } });
      expect(await spawn({ agentId: "other" })).toContain("accepted");
    },
  },
  {
    keys: ["queue.maxWaiting"],
    async effect(desk) {
      const user = someone();
      await desk.api("hello", user);
      await desk.reload({ queue: { mode: "queue", debounceMs: 0, maxWaiting: 1 } });
      const waiting = hold(desk);
      const post = async () =>
        (await desk.ask(`/api/agents/agent%3Amain%3Aapi%3Adm%3A${user}/messages`, { body: { text: "more" } })).status;
      expect(await post()).toBe(202);
      await desk.until(() => waiting.held === 1);
      expect([await post(), await post()]).toEqual([202, 429]);
      waiting.release();
      await desk.rest();
    },
  },
  {
    keys: ["profiles.<name>.workspaceAccess"],
    async effect(desk) {
      await desk.reload({ profiles: { main: { workspaceAccess: "ro" } } });
      await desk.api("hello", someone());
      expect(lastRequest(desk).tools.map(({ name }) => name)).not.toContain("write");
    },
  },
  {
    keys: ["workspaces.maxBytes"],
    async effect(desk) {
      await desk.reload({ workspaces: { maxBytes: 100 } });
      calls(desk, "write", { path: "a.txt", content: "x".repeat(101) });
      await desk.api("write it", someone());
      expect(resultText(desk)).toContain("of 100 bytes");
    },
  },
  {
    keys: ["profiles.<name>.memory.days", "profiles.<name>.memory.main"],
    async effect(desk) {
      const notes = join(desk.home, "workspace", "memory");
      mkdirSync(notes, { recursive: true });
      writeFileSync(join(desk.home, "workspace", "MEMORY.md"), "the long note");
      for (const day of [1, 2, 3]) writeFileSync(join(notes, `2026-01-0${day}.md`), `note of day ${day}`);
      const seen = async (memory: object) => {
        await desk.reload({ profiles: { main: { memory } } });
        await desk.ask("/v1/chat/completions", {
          body: { model: "main", messages: [{ role: "user", content: "hello" }] },
        });
        const { system } = lastRequest(desk);
        return ["the long note", "note of day 1", "note of day 2", "note of day 3"].filter((one) =>
          system.includes(one),
        );
      };
      expect(await seen({})).toEqual(["the long note"]);
      expect(await seen({ main: false, days: 2 })).toEqual(["note of day 2", "note of day 3"]);
    },
  },
  {
    keys: ["queue.dedupe"],
    async effect(desk) {
      const states = async (dedupe: string) => {
        const user = someone();
        await desk.reload({ queue: { mode: "collect", debounceMs: 0, dedupe } });
        const waiting = hold(desk);
        await desk.write("zero", user);
        await desk.until(() => waiting.held === 1);
        for (const _ of [1, 2]) await desk.write(`same of ${user}`, user, { messageId: undefined });
        waiting.release();
        await desk.until(() => desk.heard(`same of ${user}`).length > 0);
        await desk.rest();
        return JSON.stringify(desk.heard(`same of ${user}`).at(-1)?.messages).split(`same of ${user}`).length - 1;
      };
      expect([await states("none"), await states("prompt")]).toEqual([2, 1]);
    },
  },
  {
    keys: ["subagents.model", "subagents.thinking"],
    async effect(desk) {
      await desk.reload({ subagents: { model: "local/small", thinking: "high" }, models: TWO_MODELS });
      await resultOf(desk, "sessions_spawn", { task: LOOK });
      await desk.until(() => desk.heard(LOOK).some(({ model }) => model === "local/small"));
      const child = desk.requests.findLast(({ model }) => model === "local/small");
      expect(child).toMatchObject({ model: "local/small", thinking: "high" });
    },
  },
  {
    keys: ["cron.missed"],
    async effect(desk) {
      const runs = async (missed: string) => {
        await desk.reload({ ...quiet, cron: { missed } });
        const schedule = { kind: "every", everyMs: HOUR };
        const payload = { kind: "agentTurn", message: "tick", deliver: false };
        const { json } = await desk.ask("/api/cron", {
          body: { name: missed, schedule, sessionTarget: "isolated", payload },
        });
        desk.clock.jump(3 * HOUR + 30 * MINUTE);
        await desk.pass(2 * MINUTE);
        const slots = await itemsOf(desk, `/api/cron/${String(json.id)}/runs`);
        await desk.ask(`/api/cron/${String(json.id)}`, { method: "DELETE" });
        return slots.filter(({ status }) => status === "fired").length;
      };
      expect([await runs("skip"), await runs("once"), await runs("all")]).toEqual([0, 1, 3]);
    },
  },
];

/** The engine calls a server with the OpenAI API. */
const local = (port: number, more: object = {}, model: object = {}) => ({
  models: {
    default: "local/fake",
    providers: {
      local: {
        ...{ api: "openai-completions", baseUrl: `http://127.0.0.1:${port}/v1`, apiKey: { env: "S" } },
        models: [{ id: "fake", ...model }],
        ...more,
      },
    },
  },
});

export interface ProviderRow {
  readonly keys: readonly string[];
  readonly effect: (desk: Desk, server: FakeModel) => Promise<void>;
}

export const PROVIDER_ROWS: readonly ProviderRow[] = [
  {
    keys: [
      "models.providers.<name>.api",
      "models.providers.<name>.baseUrl",
      "models.providers.<name>.apiKey",
      "models.providers.<name>.models[].id",
      "models.providers.<name>.models[].maxTokens",
    ],
    async effect(desk, server) {
      await desk.reload(local(server.port, {}, { maxTokens: 1_234 }));
      expect((await desk.api("hello", someone())).answer).toBe("echo: hello");
      expect(server.keys.at(-1)).toBe("Bearer secret-one");
      expect(JSON.stringify(server.calls.at(-1)?.body)).toContain("1234");
      await desk.reload(local(server.port, { apiKey: { env: "T" } }));
      await desk.api("hello", someone());
      expect(server.keys.at(-1)).toBe("Bearer secret-two");
    },
  },
  {
    keys: ["models.providers.<name>.maxConcurrent"],
    async effect(desk, server) {
      await desk.reload(local(server.port, { maxConcurrent: 1 }));
      const open: ModelCall[] = [];
      server.script = (call) => void open.push(call);
      const answers = [someone(), someone()].map((user) => desk.api("hello", user));
      await desk.until(() => open.length === 1);
      await desk.rest();
      expect(open.length).toBe(1);
      await desk.reload(local(server.port, { maxConcurrent: 2 }));
      server.script = echo;
      for (const call of open) echo(call);
      for (const answer of answers) expect((await answer).answer).toBe("echo: hello");
    },
  },
  {
    keys: ["models.providers.<name>.stallSeconds"],
    async effect(desk, server) {
      await desk.reload(local(server.port, { stallSeconds: 30 }));
      const before = server.calls.length;
      server.script = () => undefined;
      const answer = desk.api("hello", someone());
      await desk.until(() => server.calls.length === before + 1);
      await desk.pass(28 * SECOND);
      expect(server.calls.length).toBe(before + 1);
      server.script = echo;
      await desk.passUntil(SECOND, () => server.calls.length === before + 2);
      expect((await answer).answer).toBe("echo: hello");
    },
  },
  {
    keys: [
      "models.providers.<name>.models[].cost.input",
      "models.providers.<name>.models[].cost.output",
      "budgets.agent.dollars",
      "gateway.limits.perToken.dollarsPerDay",
    ],
    async effect(desk, server) {
      // An answer costs 10 tokens of input and 5 of output: 20 dollars.
      const priced = local(server.port, {}, { cost: { input: 1_000_000, output: 2_000_000 } });
      const user = someone();
      await desk.reload({ ...priced, budgets: { agent: { dollars: 19 } } });
      await desk.reload(priced);
      await desk.api("one", user);
      await desk.reload({ ...priced, budgets: { agent: { dollars: 21 } } });
      expect((await desk.api("two", user)).status).toBe(429);
      await desk.reload({ ...local(server.port), gateway: { limits: { perToken: { dollarsPerDay: 0 } } } });
      expect((await withToken(desk, await mint(desk))).status).toBe(429);
    },
  },
];

/** Keys that a running engine does not follow: the reload says so and keeps the old values. */
export const START_CONFIG = {
  gateway: { port: 7_999, host: "localhost" },
  runs: { restore: "discard" },
  cron: { enabled: false },
  store: {
    ...{ synchronous: "normal", leaseSeconds: 20, maxConnections: 20, shard: "west", url: { env: "S" } },
    shards: { east: { env: "T" } },
    s3: {
      ...{ endpoint: "http://127.0.0.1:9", bucket: "b", region: "r", prefix: "p" },
      ...{ accessKeyId: { env: "S" }, secretAccessKey: { env: "T" } },
    },
  },
  telemetry: { enabled: true },
};
