import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { silentLog } from "../../../core/ports/log.ts";
import { systemClock } from "../../system/system-clock.ts";
import { type AuthServer, PLANTED, type Poll, startAuthServer } from "./auth-server.test-kit.ts";
import { logIn, logOut } from "./log-in.ts";
import { loginIn, readLogins } from "./login-file.ts";
import { LOGIN_PROVIDERS } from "./login-providers.ts";
import { Logins } from "./logins.ts";

const ALLOWED = Object.keys(LOGIN_PROVIDERS).filter((name) => LOGIN_PROVIDERS[name]?.load);
const WITH_CODES = ALLOWED.filter((name) => name !== "openrouter");

let home: string;
let server: AuthServer;
let waits: number[];

beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), "rookery-login-"));
  server = await startAuthServer();
  vi.stubGlobal("fetch", server.redirected);
  waits = [];
  const real = globalThis.setTimeout;
  // The library waits seconds between two polls. Other timers have arguments or other times.
  const isPoll = (ms: number, rest: readonly unknown[]): boolean =>
    rest.length === 0 && (ms === 5_000 || ms === 10_000);
  vi.stubGlobal("setTimeout", (callback: () => void, ms: number, ...rest: []) => {
    if (!isPoll(ms, rest)) return real(callback, ms, ...rest);
    waits.push(ms);
    return real(callback, 1);
  });
});
afterEach(async () => {
  vi.unstubAllGlobals();
  await server.close();
  rmSync(home, { recursive: true, force: true });
});

const file = (): string => join(home, "logins.json");

interface Said {
  readonly texts: string[];
  readonly problem?: Error;
}

async function login(
  provider: string,
  {
    paste,
    method = "code",
    yes = true,
  }: { paste?: (url: URL) => string; method?: "code" | "browser"; yes?: boolean } = {},
): Promise<Said> {
  const texts: string[] = [];
  try {
    await logIn(
      { file: file(), clock: systemClock, signal: new AbortController().signal },
      { provider, profile: "default", method },
      {
        say: (text) => void texts.push(text),
        async ask(question) {
          texts.push(question);
          const url = /https:\S+/u.exec(texts.findLast((text) => text.includes("https:")) ?? "")?.[0] ?? "https://none";
          return paste ? paste(new URL(url)) : "";
        },
        async confirm(notice) {
          texts.push(notice);
          return yes;
        },
      },
    );
    return { texts };
  } catch (error) {
    return { texts, problem: error as Error };
  }
}

const stored = (provider: string) => loginIn(readLogins(file()), provider, "default");
const pasted = (url: URL): string => `http://localhost/callback?code=abc&state=${url.searchParams.get("state")}`;

describe("a login", () => {
  it.each(ALLOWED)(
    "%s: says what the provider permits, then where to go, and stores the tokens for the owner only",
    async (provider) => {
      server.polls = ["pending", "ok"];
      if (provider === "openrouter") server.polls = ["ok"];
      const { texts, problem } = await login(provider, { paste: pasted });
      expect(problem).toBeUndefined();
      expect(texts[0]).toBe(LOGIN_PROVIDERS[provider]?.notice);
      expect(texts.join("\n")).toMatch(
        /Open this address in a browser, on this machine or on another one:\n\n {2}https:/u,
      );
      expect(texts.join("\n")).not.toContain(PLANTED);
      expect(statSync(file()).mode & 0o777).toBe(0o600);
      expect(readdirSync(home).sort()).toEqual(["logins.json", "logins.json.lock"]);
      expect(statSync(`${file()}.lock`).mode & 0o777).toBe(0o600);
      expect(JSON.stringify(stored(provider)?.auth)).toContain(PLANTED);
    },
  );

  it.each(WITH_CODES)(
    "%s: shows a code to enter, and polls more slowly when the server asks for it",
    async (provider) => {
      server.polls = ["pending", "slow_down", "pending", "ok"];
      const { texts, problem } = await login(provider);
      expect(problem).toBeUndefined();
      expect(texts.join("\n")).toMatch(/enter the code ABCD-1234 \(valid for 15 minutes\)/u);
      expect(waits).toContain(10_000);
    },
  );

  const faults: readonly (readonly [Poll, RegExp])[] = [
    ["denied", /denied|refused/u],
    ["expired", /not confirmed in time|refused/u],
    ["broken", /failed \(500\)|failed/u],
    ["garbage", /failed/u],
  ];
  it.each(ALLOWED.flatMap((provider) => faults.map((fault) => [provider, ...fault] as const)))(
    "%s: %s is an error in our own words, and nothing is stored",
    async (provider, poll, text) => {
      server.polls = [poll];
      const { problem } = await login(provider, { paste: pasted });
      expect(problem?.message).toMatch(text);
      expect(problem?.message).toContain("Nothing was changed.");
      expect(`${problem?.message} ${(problem as { hint?: string }).hint}`).not.toContain(PLANTED);
      expect((problem as { hint?: string }).hint).toContain(`rookery models login ${provider}`);
      expect(readdirSync(home)).toEqual([]);
    },
  );

  it("openai-codex: a code pasted from a browser on another machine works, one of another login does not", async () => {
    const ok = await login("openai-codex", { method: "browser", paste: pasted });
    expect(ok.problem).toBeUndefined();
    const id = stored("openai-codex")?.id;
    const wrong = await login("openai-codex", { method: "browser", paste: () => "http://x/?code=abc&state=other" });
    expect(wrong.problem?.message).toContain("failed");
    expect(stored("openai-codex")?.id).toBe(id);
  });

  it("is refused where the provider does not permit it, and says what works instead", async () => {
    for (const provider of ["anthropic", "github-copilot"]) {
      const { texts, problem } = await login(provider);
      expect(problem?.message).toMatch(/permit/u);
      expect(problem?.message).toMatch(/key|program/u);
      expect(texts).toEqual([]);
    }
    expect(server.asked).toEqual([]);
  });

  it("is not made if the person says no", async () => {
    const { problem } = await login("xai", { yes: false });
    expect(problem?.message).toBe("Nothing was changed.");
    expect(server.asked).toEqual([]);
  });

  it("of an unknown provider names the closest one", async () => {
    const { problem } = await login("openrooter");
    expect(problem?.message).toBe('There is no login for "openrooter". Did you mean "openrouter"?');
  });

  it("can be ended: the tokens are gone", async () => {
    await login("xai");
    await logOut({ file: file(), clock: systemClock }, "xai", "default");
    expect(readFileSync(file(), "utf8")).not.toContain(PLANTED);
    expect(await logOut({ file: file(), clock: systemClock }, "xai", "default")).toBe(false);
  });

  it("is usable at once, and every provider's tokens can be refreshed", async () => {
    for (const provider of ALLOWED) {
      server.lifetime = 100;
      expect((await login(provider, { paste: pasted })).problem).toBeUndefined();
      const before = stored(provider);
      server.lifetime = 3600;
      const logins = new Logins({ file: file(), clock: systemClock, log: silentLog });
      // Meta's key lives a day, OpenRouter's for ever.
      const moved = provider === "meta" ? { ...systemClock, now: () => Date.now() + 90_000_000 } : systemClock;
      const due = new Logins({ file: file(), clock: moved, log: silentLog });
      expect(await (provider === "meta" ? due : logins).refresh(provider)).toEqual([]);
      const after = stored(provider);
      expect(after?.renewals).toBe(provider === "openrouter" ? 0 : 1);
      if (provider !== "openrouter") expect(after?.credential.access).not.toBe(before?.credential.access);
    }
  });
});
