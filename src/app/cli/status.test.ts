import { describe, expect, it } from "vitest";
import { configSchema } from "../../config/config-schema.ts";
import type { SessionKey } from "../../core/ids.ts";
import type { PersonId } from "../../core/people/person.ts";
import type { StoreReader } from "../../core/store/store.ts";
import { readStatusParts } from "../gateway/reads/status-parts.ts";
import { cliHome } from "./cli.test-kit.ts";
import { printsDocumentsOf } from "./command-document.test-kit.ts";
import { statusLines } from "./status-parts.ts";

const home = cliHome();
const config = configSchema.parse({});

describe("rookery status", () => {
  it("shows the next schedules and what failed in a day", async () => {
    await home.run("schedules", "add", "--name", "tea", "--every", "30m", "--message", "tea");
    const { out, code } = await home.run("status");
    expect(code).toBe(0);
    expect(out).toContain("Failed    nothing today");
    expect(out).toMatch(/^Next {6}in (?:29|30) min: tea$/m);
    const facts = JSON.parse((await home.run("status", "--json")).out);
    expect(facts).toMatchObject({ isRunning: false, failed: 0, schedules: [{ name: "tea", at: expect.any(Number) }] });
  });

  it("leaves out a part that cannot be read", async () => {
    const store = { nextJobs: () => Promise.reject(new Error("away")), fact: async () => undefined };
    const sources = { store: store as unknown as StoreReader, now: 1, config, connectors: new Map() };
    const parts = await readStatusParts(sources, { busy: 0, undelivered: 0, failed: 2 });
    expect(parts).toEqual({
      failed: 2,
      failing: null,
      heldBack: null,
      schedules: null,
      channels: [],
      leftBehind: null,
    });
    expect(statusLines(parts, 1)).toEqual([expect.stringContaining("2 messages in a day")]);
  });

  it("shows schedules in the order of their times, also behind many others", async () => {
    for (const minutes of [...Array(25).keys()]) {
      const name = `job ${minutes}`;
      await home.run("schedules", "add", "--name", name, "--every", `${90 - minutes}m`, "--message", "tea");
    }
    const facts = JSON.parse((await home.run("status", "--json")).out);
    expect(facts.schedules.map(({ name }: { name: string }) => name)).toEqual(["job 24", "job 23", "job 22"]);
  });
});

describe("rookery sessions carry-over", () => {
  const guest = (userId: string) => ({ type: "user", connector: "telegram", userId, channelId: userId }) as const;
  const begin = async (): Promise<void> => {
    await home.run("config", "set", "people.records.ann.accounts", '["telegram:42"]');
    const sessionKey = "agent:main:telegram:dm:42" as SessionKey;
    await home.make(guest("42"), { sessionKey, person: "ann" as PersonId });
  };
  const WARNING = 'session.dmScope "per-peer" leaves 1 conversation behind';

  it("is offered by every command that sees the change, and done by one", async () => {
    await begin();
    expect((await home.run("sessions", "carry-over")).out).toBe("No conversation is left behind.\n");
    expect((await home.run("sessions", "carry-over", "--to", "per-peer")).out).toContain("can be carried over");
    const set = await home.run("config", "set", "session.dmScope", "per-peer");
    expect(set.out).toContain(`warning: ${WARNING}`);
    expect(set.out).toContain("`rookery sessions carry-over --to per-peer` carries them over.");
    const check = await home.run("config", "check");
    expect(check.code).toBe(0);
    expect(check.out).toMatch(
      /^warning: .*rookery\.json5:\d+:\d+: session\.dmScope: session\.dmScope "per-peer" leaves 1/m,
    );
    expect((await home.run("status")).out).toContain(`Left      ${WARNING}`);
    expect((await home.run("doctor")).out).toContain(WARNING);
    const done = await home.run("sessions", "carry-over", "--yes");
    expect(done.out).toBe("1 carried over. New messages of these people go on there.\n");
    for (const command of [["status"], ["config", "check"]]) {
      expect((await home.run(...command)).out).not.toContain("conversation behind");
    }
    expect((await home.run("sessions", "carry-over", "--to", "nobody")).code).toBe(2);
  });

  it("leaves them if that is what you want", async () => {
    await begin();
    await home.run("config", "set", "session.dmScope", "per-account-channel-peer");
    expect(JSON.parse((await home.run("sessions", "carry-over", "--json")).out)).toMatchObject({ total: 1 });
    await home.run("sessions", "carry-over", "--leave");
    expect((await home.run("status")).out).not.toContain("Left ");
  });
});

describe("held-back runs in rookery status", () => {
  it("says how many runs wait for their trial, and nothing if none does", () => {
    const heldBack = (count: number) =>
      statusLines({ failed: 0, failing: [], heldBack: count, schedules: [], channels: [], leftBehind: null }, 0).join(
        "\n",
      );
    expect(heldBack(3)).toContain("Held back 3 runs wait for their trial after crashes: `rookery doctor`");
    expect(heldBack(0)).not.toContain("Held back");
  });
});

describe("channels in rookery status", () => {
  it("names an account that fails, with the reason, and none that works", () => {
    const channels = [
      { channel: "telegram", name: "telegram", state: "running", detail: "" },
      { channel: "telegram", name: "work", state: "failing", detail: "401: the token is refused" },
    ] as const;
    const parts = { failed: 0, failing: [], heldBack: 0, schedules: [], channels: [...channels], leftBehind: null };
    const lines = statusLines(parts, 0);
    expect(lines).toContain("Channels  work fails: 401: the token is refused");
    expect(lines.join("\n")).not.toContain("telegram fails");
  });
});

printsDocumentsOf("sessions carry-over");
