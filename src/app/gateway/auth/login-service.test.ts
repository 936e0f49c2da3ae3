import { beforeEach, describe, expect, it } from "vitest";
import { virtualClock } from "../../../../test/kit/clock.ts";
import { seededIds } from "../../../../test/kit/ids.ts";
import { openMemoryStore } from "../../../adapters/store/sqlite/open-store.ts";
import { ConflictError } from "../../../core/errors.ts";
import { silentLog } from "../../../core/ports/log.ts";
import type { Op } from "../../../core/store/change.ts";
import type { Store } from "../../../core/store/store.ts";
import { submit } from "../../../engine/commit/submit.ts";
import { LoginService } from "./login-service.ts";
import { OWNER } from "./principal.ts";

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
const by = { person: "owner", surface: "test" };

function world() {
  const clock = virtualClock();
  const store = openMemoryStore();
  const ports = { store, ids: seededIds("logins"), clock, log: silentLog };
  return { clock, store, ports };
}
let { clock, store, ports } = world();
let loginMs = 30 * DAY;
beforeEach(async () => {
  ({ clock, store, ports } = world());
  loginMs = 30 * DAY;
  await commit(["ann", "bob"].map((id) => putPerson(id, "guest")));
});

const commit = (ops: readonly Op[]) => submit(ports, "test", ops);
const putPerson = (id: string, role: "guest" | "contact"): Op => ({
  op: "person.put",
  person: { id, role, accounts: [], grants: [], createdAt: 1, createdBy: "owner" },
});
const open = (more: Partial<Parameters<typeof LoginService.open>[0]> = {}): Promise<LoginService> =>
  LoginService.open({ ports, isShared: false, loginMs: () => loginMs, ...more });

async function invite(service: LoginService, person = "ann"): Promise<string> {
  const { secret, ops } = await service.inviting(by, person);
  expect((await commit(ops)).ok).toBe(true);
  return secret;
}
const login = async (service: LoginService, person = "ann", nonce = "n") => {
  const done = await service.exchange(await invite(service, person), nonce, "Firefox");
  if (!done) throw new TypeError("the invitation was not accepted");
  return done;
};
const actions = async (): Promise<readonly string[]> => (await store.audit({ limit: 50 })).map(({ action }) => action);

describe("an invitation", () => {
  it.each([
    ["a moment before 24 hours", DAY - 1, "ann"],
    ["after 24 hours", DAY, undefined],
  ])("%s invites %s", async (_, ms, person) => {
    const service = await open();
    const secret = await invite(service);
    clock.jump(ms);
    expect(await service.invited(secret)).toBe(person);
    expect((await service.exchange(secret, "n", undefined))?.login.person).toBe(person);
  });

  it.each([
    ["ten minutes later", 10 * MINUTE, true],
    ["more than ten minutes later", 10 * MINUTE + 1, undefined],
  ])("that was used gives the same login to the same nonce %s: %s", async (_, ms, isRepeated) => {
    const service = await open();
    const secret = await invite(service);
    const first = await service.exchange(secret, "n", "Firefox");
    expect(first).toMatchObject({ isRepeated: false, login: { person: "ann", browser: "Firefox" } });
    expect(first?.login).not.toHaveProperty("hash");
    clock.jump(ms);
    const again = await service.exchange(secret, "n", "Firefox");
    expect([again?.isRepeated, again?.secret]).toEqual([isRepeated, isRepeated && first?.secret]);
    expect(await service.exchange(secret, "other", "Firefox")).toBeUndefined();
    expect(await actions()).toEqual(["login.begin", "person.invite"]);
  });

  it("gives no login again that has ended", async () => {
    const service = await open();
    const secret = await invite(service);
    const first = await service.exchange(secret, "n", undefined);
    await service.end(by, first?.login.id ?? "");
    expect(await service.exchange(secret, "n", undefined)).toBeUndefined();
    loginMs = MINUTE;
    const short = await invite(service);
    await service.exchange(short, "n", undefined);
    clock.jump(MINUTE);
    expect(await service.exchange(short, "n", undefined)).toBeUndefined();
  });

  it.each(["contact", "gone"] as const)("is worth nothing when its person is %s", async (what) => {
    const service = await open();
    const secret = await invite(service);
    await commit([what === "gone" ? { op: "person.remove", id: "ann" } : putPerson("ann", what)]);
    expect(await service.exchange(secret, "n", undefined)).toBeUndefined();
  });

  it("is not a code of the owner, and a code is no invitation", async () => {
    const service = await open();
    const secret = await invite(service);
    expect(await service.exchange(secret, "n", undefined, "code")).toBeUndefined();
    const { code } = await service.code(by);
    expect(await service.invited(code)).toBeUndefined();
    expect(await service.exchange(code, "n", undefined, "invite")).toBeUndefined();
    expect((await service.exchange(code, "n", undefined, "code"))?.login.person).toBe("owner");
    expect((await service.exchange(secret, "n", undefined))?.login.person).toBe("ann");
  });
});

describe("a code of the owner", () => {
  it.each([
    ["a moment before a minute", MINUTE - 1, "owner"],
    ["after a minute", MINUTE, undefined],
  ])("%s signs in %s", async (_, ms, person) => {
    const service = await open();
    const { code, expiresAt } = await service.code(by);
    expect(expiresAt).toBe(clock.now() + MINUTE);
    clock.jump(ms);
    expect((await service.exchange(code, "n", undefined, "code"))?.login.person).toBe(person);
  });

  it("is stored together with what is committed beside it, and in the audit log", async () => {
    const service = await open();
    await service.code(by, [{ op: "fact.put", key: "beside", value: "x" }]);
    expect([await store.fact("beside"), await actions()]).toEqual(["x", ["login.code"]]);
  });
});

describe("a login", () => {
  it("is of a person with the scope chat, or of the owner with all", async () => {
    const service = await open();
    const ann = await login(service);
    const id = `login:${ann.login.id}`;
    expect(await service.find(ann.secret)).toMatchObject({ id, kind: "person", person: "ann", scopes: ["chat"] });
    const { code } = await service.code(by);
    const owner = await service.exchange(code, "n", undefined, "code");
    const found = await service.find(owner?.secret ?? "");
    expect(found).toMatchObject({ kind: "owner", person: "owner", scopes: ["admin"] });
    expect(await service.find(`${ann.secret.slice(0, -1)}!`)).toBeUndefined();
  });

  it("ends at its time, and earlier if logins are to last less long", async () => {
    const service = await open();
    const { secret, login: made } = await login(service);
    const principal = (await service.find(secret)) ?? OWNER;
    expect(made.expiresAt).toBe(clock.now() + 30 * DAY);
    clock.jump(2 * DAY);
    loginMs = 3 * DAY;
    expect((await service.list()).map(({ expiresAt }) => expiresAt)).toEqual([made.createdAt + 3 * DAY]);
    loginMs = 2 * DAY;
    expect([await service.find(secret), service.stillValid(principal), await service.list()]).toEqual([
      undefined,
      false,
      [],
    ]);
    // Longer ones do not bring it past its own time.
    loginMs = 90 * DAY;
    expect(service.stillValid(principal)).toBe(true);
    clock.jump(28 * DAY - 1);
    expect(service.stillValid(principal)).toBe(true);
    clock.jump(1);
    expect([await service.find(secret), service.stillValid(principal)]).toEqual([undefined, false]);
  });

  it("is worth nothing when its person is no guest any more", async () => {
    const service = await open();
    const { secret } = await login(service);
    await commit([putPerson("ann", "contact")]);
    expect(await service.find(secret)).toBeUndefined();
  });

  it("of someone else is not ended by a person, and is listed for its own person only", async () => {
    const service = await open();
    const { login: ann } = await login(service, "ann");
    const { login: bob, secret } = await login(service, "bob");
    expect((await service.list("bob")).map(({ id }) => id)).toEqual([bob.id]);
    expect((await service.list()).map(({ id }) => id)).toEqual([ann.id, bob.id]);
    expect(await service.end(by, bob.id, "ann")).toBeUndefined();
    expect(await service.find(secret)).toBeDefined();
    expect(await service.end(by, bob.id, "bob")).toMatchObject({ id: bob.id, person: "bob" });
    expect(await service.find(secret)).toBeUndefined();
    expect(await service.end(by, bob.id)).toBeUndefined();
    expect((await actions())[0]).toBe("login.end");
  });

  it("tells the listeners that it ended, and only that one", async () => {
    const service = await open();
    const [ann, bob] = [await login(service, "ann"), await login(service, "bob")];
    const heard: (readonly string[])[] = [];
    const stop = service.onEnded((ids) => heard.push(ids));
    await service.reload();
    await service.endAll(["nobody"]);
    expect(heard).toEqual([]);
    await service.endAll(["ann", "cid"]);
    expect(heard).toEqual([[`login:${ann.login.id}`]]);
    stop();
    await service.end(by, bob.login.id);
    expect(heard).toHaveLength(1);
  });

  it("ends with everything of its person, also open invitations", async () => {
    const service = await open();
    const { secret } = await login(service);
    const [anns, bobs] = [await invite(service, "ann"), await invite(service, "bob")];
    await commit([await service.ending("ann")]);
    await service.reload();
    expect([await service.find(secret), await service.invited(anns), await service.invited(bobs)]).toEqual([
      undefined,
      undefined,
      "bob",
    ]);
  });

  it("of a principal without one is still valid", async () => {
    expect((await open()).stillValid(OWNER)).toBe(true);
  });
});

describe("logins that another node makes", () => {
  it.each([
    ["are found half a second after the last look", true, 500, true],
    ["are not looked for more often than that", true, 499, false],
    ["are not looked for if no other node uses the store", false, 60_000, false],
  ])("%s", async (_, isShared, ms, isFound) => {
    const here = await open({ isShared });
    const { secret } = await login(await open({ isShared }));
    clock.advanceSync(ms);
    expect((await here.find(secret)) !== undefined).toBe(isFound);
  });

  it("stay known while the store does not answer", async () => {
    let answers = true;
    const failing = {
      ...store,
      fact: (key: string) => (answers ? store.fact(key) : Promise.reject(new TypeError("x"))),
    };
    const service = await open({ ports: { ...ports, store: failing as Store }, isShared: true });
    const { secret } = await login(service);
    answers = false;
    await service.reload();
    expect(await service.find(secret)).toBeDefined();
  });
});

describe("records of logins by a cookie", () => {
  it("sign nobody in, and are removed with the next change", async () => {
    const { secret, login: made } = await login(await open());
    const { by: how, ...records } = JSON.parse((await store.fact("api.logins")) ?? "") as { by: string };
    expect(how).toBe("header");
    await commit([{ op: "fact.put", key: "api.logins", value: JSON.stringify(records) }]);
    const service = await open();
    expect([await service.find(secret), await service.list()]).toEqual([undefined, []]);
    await service.endAll([]);
    expect(await store.fact("api.logins")).not.toContain(made.id);
  });
});

describe("a change of the logins", () => {
  it("is tried again when another one comes in between, and given up at some point", async () => {
    let refused = 3;
    const busy = {
      ...store,
      commit: (change: Parameters<Store["commit"]>[0]) =>
        refused-- > 0 ? Promise.resolve({ ok: false, reason: "x", at: 0 } as never) : store.commit(change),
    };
    const service = await open({ ports: { ...ports, store: busy as Store } });
    const secret = await invite(await open());
    expect((await service.exchange(secret, "n", undefined))?.isRepeated).toBe(false);
    refused = Number.POSITIVE_INFINITY;
    const [{ id = "" } = {}] = await service.list();
    await expect(service.code(by)).rejects.toThrow(ConflictError);
    await expect(service.end(by, id)).rejects.toThrow(ConflictError);
    await expect(service.endAll(["ann"])).rejects.toThrow(ConflictError);
    // Nothing of these people is there, so nothing is to be changed.
    await service.endAll(["bob"]);
  });
});
