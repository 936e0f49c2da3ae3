/** When tokens are refreshed, who does it, and what happens if several nodes have the same login. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { virtualClock } from "../../../../test/kit/clock.ts";
import { silentLog } from "../../../core/ports/log.ts";
import { type Login, loginIn, readLogins, writeLogin } from "./login-file.ts";
import type { LoginFlow } from "./login-providers.ts";
import { Logins } from "./logins.ts";
import type { SharedLogins } from "./shared-logins.ts";

let home: string;
let file: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "rookery-refresh-"));
  file = join(home, "logins.json");
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const clock = virtualClock();
const loginWith = (more: Partial<Login> = {}, expiresInMs = 0): Login => ({
  ...{ id: "one", seal: "c2VhbA==", loggedInAt: 1, renewals: 3, auth: { apiKey: "old" } },
  credential: { access: "old", refresh: "r", expires: clock.now() + expiresInMs },
  ...more,
});
const stored = (): Login | undefined => loginIn(readLogins(file), "xai", "default");

/** `order`: what happened, in its order. */
function world(login: Login, more: Partial<SharedLogins> | undefined, refresh?: () => void, flow = true) {
  writeLogin(file, "xai", "default", login);
  const order: string[] = [];
  const made = {
    refresh: async () => {
      order.push("refresh");
      refresh?.();
      return { type: "oauth", access: "new", refresh: "r2", expires: clock.now() + 3_600_000 };
    },
    toAuth: async ({ access }: { access: string }) => ({ apiKey: access }),
  } as unknown as LoginFlow;
  const shared: SharedLogins | undefined = more && {
    hold: async () => {
      order.push("hold");
      return async () => void order.push("release");
    },
    newer: async () => undefined,
    put: async ({ renewals }) => void order.push(`put ${renewals}, on the disk ${stored()?.renewals}`),
    ...more,
  };
  const flowOf = async () => (flow ? made : undefined);
  return { logins: new Logins({ file, clock, log: silentLog, shared, flowOf }), order };
}
const refused = (): never => {
  throw new TypeError("invalid_grant");
};

describe("a token", () => {
  test.each([
    [300_000, 0],
    [299_999, 1],
    [-1, 1],
  ])("that expires in %i ms is refreshed %i times", async (left, times) => {
    const { logins, order } = world(loginWith({}, left), undefined);
    expect(await logins.refresh("xai")).toEqual([]);
    expect(order).toEqual(Array(times).fill("refresh"));
    expect(stored()?.renewals).toBe(3 + times);
  });

  test("is refreshed under the lock, and handed to the others before it is stored and used", async () => {
    const { logins, order } = world(loginWith(), {});
    await logins.refresh("xai");
    expect(order).toEqual(["hold", "refresh", "put 4, on the disk 3", "release"]);
    expect(stored()).toMatchObject({ renewals: 4, credential: { access: "new" }, auth: { apiKey: "new" } });
  });

  test("that another node has refreshed is taken from there, and the provider is not asked", async () => {
    const newer = loginWith({ renewals: 5, ended: { at: 1, why: "" } }, 3_600_000);
    const { logins, order } = world(loginWith(), { newer: async () => newer });
    expect(await logins.refresh("xai")).toEqual([]);
    expect(order).toEqual(["hold", "release"]);
    expect(stored()).toMatchObject({ renewals: 5 });
    expect(stored()?.ended).toBeUndefined();
  });

  test("that the store cannot take is used here, and offered again after a while", async () => {
    let isAway = true;
    const put = async (): Promise<void> => {
      if (isAway) throw new TypeError("away");
    };
    const { logins, order } = world(loginWith(), { put });
    expect(await logins.refresh("xai")).toEqual([]);
    expect(stored()?.renewals).toBe(4);
    await logins.refresh("xai");
    expect(order).toEqual(["hold", "refresh", "release"]);
    isAway = false;
    await clock.advance(30_001);
    await logins.refresh("xai");
    await clock.advance(30_001);
    await logins.refresh("xai");
    expect(order).toEqual(["hold", "refresh", "release", "hold", "release"]);
  });

  test("is not refreshed if the lock is not to be had, and a later try may work", async () => {
    const { logins, order } = world(loginWith(), { hold: () => Promise.reject(new TypeError("503")) });
    const message = "The login of xai could not be refreshed (503).";
    expect(await logins.refresh("xai")).toEqual([{ profile: "default", again: false, message }]);
    expect(order).toEqual([]);
    expect(stored()?.ended).toBeUndefined();
  });
});

describe("a login that the provider refuses", () => {
  test("has ended, and is not refreshed again", async () => {
    const { logins, order } = world(loginWith(), undefined, refused);
    expect(await logins.refresh("xai")).toMatchObject([{ again: true }]);
    expect(stored()).toMatchObject({ ended: { why: "invalid_grant" }, renewals: 3, credential: { access: "old" } });
    expect(await logins.refresh("xai")).toEqual([]);
    expect(order).toEqual(["refresh"]);
  });

  test("is refreshed again after growing pauses if the provider named no reason but a status", async () => {
    let isRefused = true;
    const { logins, order } = world(loginWith(), undefined, () => {
      if (isRefused) throw new TypeError("HTTP 403: blocked");
    });
    for (const [minutes, calls] of [
      [0, 1],
      [0.9, 1],
      [0.1, 2],
      [1.9, 2],
      [0.1, 3],
    ] as const) {
      await clock.advance(minutes * 60_000);
      await logins.refresh("xai");
      expect(order).toHaveLength(calls);
    }
    isRefused = false;
    await clock.advance(4 * 60_000);
    expect(await logins.refresh("xai")).toEqual([]);
    expect(stored()).toMatchObject({ renewals: 4, credential: { access: "new" } });
    expect(stored()?.ended).toBeUndefined();
  });

  test.each([
    [5, true],
    [3, false],
  ])("lives if another node refreshed it meanwhile (%i renewals): %s", async (renewals, lives) => {
    let asked = 0;
    const newer = async () => (asked++ === 0 ? undefined : loginWith({ renewals }, 3_600_000));
    const { logins } = world(loginWith(), { newer }, refused);
    expect(await logins.refresh("xai")).toHaveLength(lives ? 0 : 1);
    expect(stored()?.ended === undefined).toBe(lives);
  });

  test("is looked up again after a while, if nodes share it", async () => {
    const ended = { at: 1, why: "" };
    let asked = 0;
    const newer = async () => (asked++ === 0 ? undefined : loginWith({ renewals: 9 }, 3_600_000));
    const { logins, order } = world(loginWith({ ended }), { newer });
    expect(await logins.refresh("xai")).toMatchObject([{ again: true }]);
    await clock.advance(30_000);
    expect([await logins.refresh("xai"), asked]).toEqual([[], 1]);
    await clock.advance(1);
    expect([await logins.refresh("xai"), asked]).toEqual([[], 2]);
    expect(stored()).toMatchObject({ renewals: 9 });
    expect(order).not.toContain("refresh");
  });

  test("of a provider that has no login any more must be made again", async () => {
    const { logins } = world(loginWith(), undefined, undefined, false);
    expect(await logins.refresh("xai")).toMatchObject([{ again: true }]);
  });
});

describe("a token that was refused before its time", () => {
  test.each<[string, Partial<Login>, string, boolean, number]>([
    ["is replaced", {}, "old", true, 1],
    ["was replaced already", {}, "older", true, 0],
    ["is not replaced if the login has ended", { ended: { at: 1, why: "" } }, "old", false, 0],
  ])("%s", async (_, more, token, isReplaced, times) => {
    const { logins, order } = world(loginWith(more, 3_600_000), undefined);
    expect(await logins.replace("xai", "default", token)).toBe(isReplaced);
    expect(order).toHaveLength(times);
  });

  test("is not replaced if the provider is away, or there is no such login", async () => {
    const { logins } = world(loginWith({}, 3_600_000), undefined, () => {
      throw new TypeError("502");
    });
    expect(await logins.replace("xai", "default", "old")).toBe(false);
    expect(await logins.replace("xai", "none", "old")).toBe(false);
    expect(stored()?.ended).toBeUndefined();
  });
});
