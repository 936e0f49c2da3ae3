/** A change of `session.dmScope`: what it leaves behind is named, and can be carried over. Killed before and after the commit. */
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Config, configSchema } from "../../config/config-schema.ts";
import { homePaths } from "../../config/paths.ts";
import type { DmScope } from "../../core/agent/session-key.ts";
import type { AgentId } from "../../core/ids.ts";
import type { Connector, ConnectorHost } from "../../core/ports/connector.ts";
import { carryOver, carryPlan, leaveBehind } from "../../engine/people/carry-over.ts";
import { CHECKS } from "../operations/doctor/all-checks.ts";
import { examine } from "../operations/doctor/examine.ts";
import { openNode, type RookeryNode } from "./open-node.ts";

const BY = { person: "owner", surface: "test" } as const;
const root = mkdtempSync(join(tmpdir(), "rookery-carry-over-"));
const open: RookeryNode[] = [];
afterAll(async () => {
  await Promise.all(open.map((node) => node.close()));
  rmSync(root, { recursive: true, force: true });
});

const configOf = (dmScope: DmScope): Config =>
  configSchema.parse({
    session: { dmScope },
    people: { records: { ann: { accounts: ["phone:a1", "desk:a2"] }, bob: { accounts: ["phone:b1"] } } },
  });

interface Home {
  readonly node: RookeryNode;
  readonly warnings: string[];
  readonly sent: { readonly to: string; readonly text: string }[];
  /** A person writes. Resolves with the agent that got it. */
  say(connector: string, userId: string, text: string): Promise<string>;
}

let ids = 0;

async function start(name: string, dmScope: DmScope, answers = (_: string): Promise<void> | void => {}): Promise<Home> {
  const hosts = new Map<string, ConnectorHost>();
  const warnings: string[] = [];
  const sent: Home["sent"] = [];
  const channel = (called: string): Connector => ({
    name: called,
    sendingClass: "idempotent",
    capabilities: { sendText: true },
    start: async (host) => void hosts.set(called, host),
    stop: async () => {},
    health: () => ({ ok: true, detail: "" }),
    send: async ({ target, payload }) => {
      sent.push({ to: `${target.channel}:${target.to}`, text: payload.text ?? "" });
      return { status: "sent" };
    },
  });
  const node = await openNode({
    paths: homePaths(join(root, name)),
    config: configOf(dmScope),
    connectors: [channel("phone"), channel("desk")],
    stays: true,
    log: { debug() {}, info() {}, error() {}, warn: (text) => void warnings.push(text) },
    model: {
      async call({ messages }) {
        const said = JSON.stringify(messages.at(-1)?.content);
        await answers(said);
        const text = `${messages.filter(({ role }) => role === "user").length} heard`;
        return { content: [{ type: "text", text }], stopReason: "stop", api: "a", provider: "p", model: "m" };
      },
    },
    onFatal(error) {
      throw error;
    },
  });
  open.push(node);
  return {
    ...{ node, warnings, sent },
    async say(connector, userId, text) {
      const host = hosts.get(connector);
      const messageId = `m${++ids}`;
      const delivery = { channel: connector, to: userId };
      const accepted = await host?.accept({ connector, userId, channelId: userId, messageId, text, delivery });
      return (accepted as { agentId: string }).agentId;
    },
  };
}

const copy = (from: string, to: string): void => cpSync(join(root, from), join(root, to), { recursive: true });
const agents = async ({ node }: Home) =>
  (await node.ports.store.agentsOfKind("user", { limit: 99 })).map(({ id }) => id);

let annPhone: string;
let annDesk: string;
let bob: string;

beforeAll(async () => {
  const slow = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const first = await start("first", "per-channel-peer", (said) => {
    if (!said.includes("slow")) return;
    begun.resolve();
    return slow.promise;
  });
  annDesk = await first.say("desk", "a2", "from the desk");
  bob = await first.say("phone", "b1", "bob here");
  annPhone = await first.say("phone", "a1", "hello");
  await first.node.agents.settled();
  // Open work: a run that has begun when the process is killed.
  await first.say("phone", "a1", "slow question");
  await begun.promise;
  copy("first", "killed");
  slow.resolve();
});

describe("a change of session.dmScope", () => {
  it("warns at the start, in doctor, and names what can be carried over", async () => {
    copy("killed", "warned");
    const home = await start("warned", "per-peer");
    expect(home.warnings).toEqual([
      expect.stringContaining(
        'session.dmScope "per-peer" leaves 3 conversations behind: the next message of each person',
      ),
    ]);
    expect(home.warnings[0]).toContain("2 can be carried over, 1 cannot");
    const { items } = await carryPlan(home.node.ports, home.node.settings.current);
    expect(items.map(({ from, to, stays }) => [from, to, stays])).toEqual([
      ["agent:main:phone:dm:a1", "agent:main:dm:ann", undefined],
      ["agent:main:phone:dm:b1", "agent:main:dm:bob", undefined],
      ["agent:main:desk:dm:a2", "agent:main:dm:ann", "older"],
    ]);
    const check = CHECKS.filter(({ id }) => id === "conversations");
    const facts = {
      paths: homePaths(root),
      env: {},
      now: 0,
      config: configOf("per-peer"),
      store: home.node.ports.store,
    };
    const found = await examine(check, facts);
    expect(found).toMatchObject({
      notices: 1,
      items: [{ help: expect.stringContaining("rookery sessions carry-over") }],
    });
  });

  it("keeps everything through a kill before and after the commit that carries over", async () => {
    copy("killed", "deciding");
    const slow = Promise.withResolvers<void>();
    const deciding = await start("deciding", "per-peer", (said) => (said.includes("slow") ? slow.promise : undefined));
    copy("deciding", "before");
    const carried = await carryOver(deciding.node.ports, deciding.node.settings.current, {}, BY);
    expect(carried.map(({ agentId }) => agentId)).toEqual([annPhone, bob]);
    // Killed before the engine has put it in force.
    copy("deciding", "after");
    slow.resolve();
    const before = await start("before", "per-peer");
    expect((await carryPlan(before.node.ports, before.node.settings.current)).items).toHaveLength(3);

    const after = await start("after", "per-peer");
    // The run that was open goes on in its conversation and answers once.
    await after.node.agents.settled();
    expect(after.sent.filter(({ to }) => to === "phone:a1")).toEqual([{ to: "phone:a1", text: "2 heard" }]);
    expect(await after.say("desk", "a2", "now from the desk")).toBe(annPhone);
    expect(await after.say("phone", "b1", "me again")).toBe(bob);
    await after.node.agents.settled();
    expect(after.sent.at(-1)?.text).toBe("2 heard");
    expect(new Set(await agents(after))).toEqual(new Set([annPhone, annDesk, bob]));
    expect((await carryPlan(after.node.ports, after.node.settings.current)).items).toEqual([]);
    // Nobody asks again at the next start.
    expect(after.warnings.join()).not.toContain("behind");
  });

  it("is in force at once in the process that carries over, and a change back leads to the same conversations", async () => {
    copy("killed", "live");
    const home = await start("live", "per-channel-peer");
    expect(home.warnings).toEqual([]);
    await home.node.reload(configOf("per-peer"), ["session.dmScope"]);
    expect(home.warnings).toEqual([expect.stringContaining("leaves 3 conversations behind")]);
    await carryOver(home.node.ports, home.node.settings.current, {}, BY);
    await home.node.agents.pairing.reread();
    expect(await home.say("desk", "a2", "one")).toBe(annPhone);
    await home.node.reload(configOf("per-channel-peer"), ["session.dmScope"]);
    expect(await home.say("desk", "a2", "two")).toBe(annDesk);
    expect(await home.say("phone", "a1", "three")).toBe(annPhone);
  });

  it("never takes a newer conversation away unless it is told to, and is quiet about what is left", async () => {
    copy("killed", "begun");
    const home = await start("begun", "per-peer");
    const newer = await home.say("phone", "a1", "a new one");
    expect((await home.node.ports.store.agent(newer as AgentId))?.sessionKey).toBe("agent:main:dm:ann");
    const stays = async () =>
      (await carryPlan(home.node.ports, home.node.settings.current)).items.map((one) => one.stays);
    expect(await stays()).toEqual(["begun", undefined, "older"]);
    expect(await carryOver(home.node.ports, home.node.settings.current, {}, BY)).toHaveLength(1);
    await home.node.agents.pairing.reread();
    expect(await home.say("phone", "a1", "still there")).toBe(newer);
    // Decided: it is not offered again.
    expect(await stays()).toEqual([]);
  });

  it("replaces a newer conversation if the owner says so", async () => {
    copy("killed", "replaced");
    const home = await start("replaced", "per-peer");
    await home.say("phone", "a1", "a new one");
    await carryOver(home.node.ports, home.node.settings.current, { replace: true }, BY);
    await home.node.agents.pairing.reread();
    expect(await home.say("phone", "a1", "where was I?")).toBe(annPhone);
  });

  it("is decided before the configuration changes, or not at all", async () => {
    copy("killed", "ahead");
    const home = await start("ahead", "per-channel-peer");
    expect(
      (await carryPlan(home.node.ports, home.node.settings.current, "main")).items.map(({ stays }) => stays),
    ).toEqual(["shared", "shared", "shared"]);
    expect(await carryOver(home.node.ports, home.node.settings.current, { scope: "main" }, BY)).toEqual([]);
    await carryOver(home.node.ports, home.node.settings.current, { scope: "per-peer" }, BY);
    await home.node.agents.pairing.reread();
    expect(await home.say("desk", "a2", "not yet")).toBe(annDesk);
    await home.node.reload(configOf("per-peer"), ["session.dmScope"]);
    expect(await home.say("desk", "a2", "now")).toBe(annPhone);
  });

  it("is left for good if the owner wants that", async () => {
    copy("killed", "left");
    const home = await start("left", "per-peer");
    await leaveBehind(home.node.ports, home.node.settings.current, BY);
    expect((await carryPlan(home.node.ports, home.node.settings.current)).items).toEqual([]);
    expect(await home.say("phone", "b1", "hi")).not.toBe(bob);
  });
});
