/** Whose agent it is, and where a person is reached: a stranger's message never redirects what is meant for someone else. */
import { describe, expect, test } from "vitest";
import type { AgentRecord } from "../../core/agent/agent.ts";
import type { PeopleSettings } from "../../core/agent/person.ts";
import { OWNER_MAILBOX } from "../../core/delivery/route.ts";
import { OWNER_READS, type PeopleReader, peopleOf, personOf } from "./people.ts";

interface Given {
  readonly agents?: readonly Partial<AgentRecord>[];
  readonly people?: readonly { readonly id: string; readonly accounts: readonly string[] }[];
  readonly jobs?: Readonly<Record<string, { readonly sessionKey?: string }>>;
  readonly facts?: readonly string[];
  readonly settings?: PeopleSettings;
}

const OWN: PeopleSettings = { ownerAccounts: ["telegram:1"] };

function world({ agents = [], people = [], jobs = {}, facts = [], settings = OWN }: Given) {
  const all = agents.map((agent) => ({ profile: "main", state: {}, ...agent })) as AgentRecord[];
  const store = {
    agent: async (id: string) => all.find((agent) => agent.id === id),
    agentByKey: async (key: string) => all.find((agent) => agent.sessionKey === key),
    job: async (id: string) => jobs[id],
    fact: async (key: string) => (facts.includes(key) ? 1 : undefined),
    recentForeground: async ({ limit }: { limit: number }) =>
      all.filter((agent) => agent.lastHumanAt !== undefined).slice(0, limit),
    people: async () => people.map((one) => ({ role: "member", grants: [], ...one })),
    rightsRevision: async () => 1,
  } as unknown as PeopleReader;
  const found = peopleOf(store, { current: { identity: settings } });
  return { store, settings, people: found, byId: (id: string) => all.find((agent) => agent.id === id) as AgentRecord };
}

/** A direct conversation of an account. */
const direct = (
  id: string,
  connector: string,
  userId: string,
  more: Partial<AgentRecord> = {},
): Partial<AgentRecord> => ({
  id: id as never,
  sessionKey: `agent:main:${connector}:dm:${userId}` as never,
  descriptor: { type: "user", connector, userId, channelId: userId } as never,
  lastHumanAt: 10,
  ...more,
});
const main = (more: Partial<AgentRecord> = {}): Partial<AgentRecord> =>
  direct("main", "telegram", "1", { sessionKey: "agent:main:main" as never, ...more });
const at = (to: string, channel = "telegram") => ({ deliveryContext: { channel, to } }) as never;

describe("the person of an agent", () => {
  const given: Given = {
    agents: [
      main(),
      direct("ann", "telegram", "2"),
      { id: "child" as never, descriptor: { type: "subagent", parentAgentId: "ann" } as never },
      { id: "grandchild" as never, descriptor: { type: "subagent", parentAgentId: "child" } as never },
      { id: "orphan" as never, descriptor: { type: "subagent", parentAgentId: "gone" } as never },
      { id: "swarm" as never, descriptor: { type: "swarm", contact: "ann" } as never },
      { id: "annsJob" as never, descriptor: { type: "cron", id: "of ann" } as never },
      { id: "ownersJob" as never, descriptor: { type: "cron", id: "of nobody" } as never },
      { id: "lostJob" as never, descriptor: { type: "cron", id: "of a conversation that is gone" } as never },
      { id: "loop" as never, descriptor: { type: "subagent", parentAgentId: "loop" } as never },
      { id: "system" as never, descriptor: { type: "system", tag: "x" } as never },
    ],
    jobs: {
      "of ann": { sessionKey: "agent:main:telegram:dm:2" },
      "of nobody": {},
      "of a conversation that is gone": { sessionKey: "agent:main:telegram:dm:99" },
    },
  };

  test.each([
    ["main", "owner"],
    ["ann", "telegram:2"],
    ["child", "telegram:2"],
    ["grandchild", "telegram:2"],
    ["orphan", undefined],
    ["swarm", "telegram:2"],
    ["annsJob", "telegram:2"],
    ["ownersJob", "owner"],
    ["lostJob", undefined],
    ["loop", undefined],
    ["system", "owner"],
  ])("%s is %s", async (id, wanted) => {
    const { people, byId } = world(given);
    expect(await people.personOf(byId(id))).toBe(wanted);
  });

  test("is the one it was made for, if that was stored", async () => {
    const { people, byId } = world(given);
    expect(await people.personOf({ ...byId("child"), person: "owner" as never })).toBe("owner");
  });

  test("needs no settings: without an owner's account every direct conversation is of its own", async () => {
    const { store, byId } = world(given);
    const people = peopleOf(store);
    expect(await people.personOf(byId("ann"))).toBe("telegram:2");
    expect(await people.personOf(byId("main"))).toBe("telegram:1");
    expect(people.routeOf(byId("ann"))).toMatchObject({ channel: "telegram", to: "2" });
  });

  test("a swarm's agent has the rights of no one, and a child those of its parent", async () => {
    const { store, settings, byId } = world(given);
    expect(await personOf(store, settings, byId("swarm"), { rights: true })).toBeUndefined();
    expect(await personOf(store, settings, byId("child"), { rights: true })).toBe("telegram:2");
  });
});

describe("the person of a new agent", () => {
  const of = async (descriptor: object, behalf?: string, sessionKey = "agent:main:x"): Promise<string | undefined> => {
    const { people } = world({
      agents: [direct("ann", "telegram", "2", { person: "ann" as never })],
      people: [{ id: "ann", accounts: ["telegram:2"] }],
    });
    const made = { descriptor: descriptor as never, profile: "main", sessionKey: sessionKey as never };
    return people.personOfNew(made, behalf === undefined ? undefined : { person: behalf as never });
  };
  const user = (more: object = {}) => ({ type: "user", connector: "telegram", userId: "2", channelId: "2", ...more });

  test("is the record of the account that writes, else the account, else whoever the message is for", async () => {
    expect(await of(user())).toBe("ann");
    expect(await of(user({ userId: "3" }))).toBe("telegram:3");
    expect(await of(user({ userId: "1" }))).toBe("owner");
    expect(await of(user(), "bob")).toBe("bob");
  });

  test("is the group in a group, whoever writes, and the owner in a main conversation", async () => {
    expect(await of(user({ peerKind: "group", channelId: "-100" }), "bob")).toBe("telegram:group:-100");
    expect(await of(user(), "bob", "agent:main:main")).toBe("owner");
    expect(await of(user(), "bob", "agent:main:main:thread:5")).toBe("owner");
  });

  test("of a swarm is its contact's, else the one of the message", async () => {
    expect(await of({ type: "swarm", contact: "ann" }, "bob")).toBe("ann");
    expect(await of({ type: "swarm", contact: "gone" }, "bob")).toBe("bob");
    expect(await of({ type: "swarm", contact: "gone" })).toBeUndefined();
  });
});

describe("the conversation a person wrote to last", () => {
  test("is the latest of those that are the person's, by key or among the recent ones", async () => {
    const { people } = world({
      agents: [
        direct("old", "telegram", "2", { lastHumanAt: 5 }),
        direct("new", "whatsapp", "22", { lastHumanAt: 9 }),
        direct("removed", "webhook", "222", { lastHumanAt: 20, stopped: { removed: true } as never }),
        direct("stopped", "matrix", "2222", { lastHumanAt: 8, stopped: { at: 1 } as never }),
        direct("someone", "telegram", "7", { lastHumanAt: 30 }),
        { id: "job" as never, descriptor: { type: "cron", id: "j" } as never, lastHumanAt: 40, person: "ann" as never },
      ],
      people: [{ id: "ann", accounts: ["telegram:2", "whatsapp:22", "webhook:222", "matrix:2222"] }],
    });
    expect((await people.foregroundOf("ann"))?.id).toBe("new");
    expect((await people.foregroundOf("telegram:2"))?.id).toBe("new");
    expect((await people.foregroundOf("telegram:7"))?.id).toBe("someone");
    expect(await people.foregroundOf("telegram:8")).toBeUndefined();
    expect(await people.foregroundOf("owner")).toBeUndefined();
  });

  test("of the owner is the main one, also if a stranger began it, and never a stranger's", async () => {
    const shared = main({ descriptor: { type: "user", connector: "telegram", userId: "5", channelId: "5" } as never });
    const { people } = world({ agents: [shared, direct("other", "telegram", "5", { lastHumanAt: 99 })] });
    expect((await people.foregroundOf("owner"))?.id).toBe("main");
    expect((await people.foregroundOf("telegram:5"))?.id).toBe("other");
  });

  test("of two that were written to at the same moment is the one that is known by its key", async () => {
    const known = direct("known", "telegram", "2", { lastHumanAt: 5 });
    const other = direct("other", "matrix", "2222", { sessionKey: "agent:main:elsewhere" as never, lastHumanAt: 5 });
    const records = [{ id: "ann", accounts: ["telegram:2", "matrix:2222"] }];
    for (const agents of [
      [known, other],
      [other, known],
    ]) {
      const { people } = world({ agents, people: records });
      expect((await people.foregroundOf("ann"))?.id).toBe("known");
    }
  });

  test("is searched by key and among the fifty latest ones", async () => {
    const others = Array.from({ length: 49 }, (_, n) => direct(`o${n}`, "telegram", `${100 + n}`));
    const group = { sessionKey: "agent:main:elsewhere" as never, lastHumanAt: 3 };
    const byAccount = { people: [{ id: "ann", accounts: ["telegram:2"] }] };
    const last = world({ ...byAccount, agents: [...others, direct("ann", "telegram", "2", group)] });
    expect((await last.people.foregroundOf("ann"))?.id).toBe("ann");
    const more = [...others, direct("o49", "telegram", "149")];
    const beyond = world({ ...byAccount, agents: [...more, direct("ann", "telegram", "2", group)] });
    expect(await beyond.people.foregroundOf("ann")).toBeUndefined();
    const byKey = world({ ...byAccount, agents: [...more, direct("ann", "telegram", "2", { lastHumanAt: 3 })] });
    expect((await byKey.people.foregroundOf("ann"))?.id).toBe("ann");
  });
});

describe("the route to a person", () => {
  test("is where the person wrote last, else where the conversation began", async () => {
    const began = world({ agents: [direct("ann", "telegram", "2")] });
    expect(await began.people.routeTo("telegram:2")).toMatchObject({ channel: "telegram", to: "2" });
    const people = [{ id: "ann", accounts: ["telegram:2"] }];
    const recorded = world({ agents: [direct("ann", "telegram", "2")], people });
    for (const name of ["ann", "telegram:2"]) {
      expect(await recorded.people.routeTo(name)).toMatchObject({ channel: "telegram", to: "2" });
    }
    const moved = world({ agents: [direct("ann", "telegram", "2", { state: at("22", "whatsapp") })] });
    expect(await moved.people.routeTo("telegram:2")).toEqual({ channel: "whatsapp", to: "22" });
  });

  test("of the owner in a main conversation that a stranger began exists only after the owner wrote there", async () => {
    const stranger = { type: "user", connector: "telegram", userId: "5", channelId: "5" } as never;
    const before = world({ agents: [main({ descriptor: stranger })] });
    expect(await before.people.routeTo("owner")).toBeUndefined();
    expect(await before.people.addressOf("owner")).toEqual({ channel: "person", to: "owner" });
    expect(before.people.routeOf(before.byId("main"))).toBeUndefined();
    const after = world({ agents: [main({ descriptor: stranger, state: at("1") })] });
    expect(await after.people.routeTo("owner")).toEqual({ channel: "telegram", to: "1" });
    expect(after.people.routeOf(after.byId("main"))).toEqual({ channel: "telegram", to: "1" });
    const own = world({ agents: [main()] });
    expect(await own.people.routeTo("owner")).toMatchObject({ channel: "telegram", to: "1" });
    expect(own.people.routeOf(own.byId("main"))).toMatchObject({ channel: "telegram", to: "1" });
  });

  test("of the owner without a conversation is the mailbox once it was opened", async () => {
    expect(await world({}).people.routeTo("owner")).toBeUndefined();
    expect(await world({ facts: [OWNER_READS] }).people.routeTo("owner")).toEqual(OWNER_MAILBOX);
  });

  test("of users of the API is their mailbox from the start; others have none", async () => {
    const { people } = world({ people: [{ id: "ann", accounts: ["telegram:2", "api:annie"] }] });
    expect(await people.routeTo("api:bob")).toEqual({ channel: "api", to: "bob" });
    expect(await people.routeTo("app:shop/bob")).toEqual({ channel: "api", to: "app:shop/bob" });
    expect(await people.routeTo("ann")).toEqual({ channel: "api", to: "annie" });
    expect(await people.routeTo("telegram:9")).toBeUndefined();
    expect(await people.addressOf("telegram:9")).toEqual({ channel: "person", to: "telegram:9" });
  });

  test("of a conversation is its own, and that of a main one the owner's", async () => {
    const { people } = world({
      agents: [direct("ann", "telegram", "2"), main({ state: at("1") })],
      facts: [OWNER_READS],
    });
    const ann = { channel: "telegram", to: "2" };
    expect(await people.routeTo("agent:main:telegram:dm:2")).toMatchObject(ann);
    expect(await people.addressOfConversation("agent:main:telegram:dm:2" as never)).toMatchObject(ann);
    expect(await people.addressOfConversation("agent:main:main" as never)).toEqual({ channel: "telegram", to: "1" });
    expect(await people.routeTo("agent:main:gone")).toBeUndefined();
    expect(await people.addressOfConversation("agent:main:gone" as never)).toEqual({
      channel: "person",
      to: "agent:main:gone",
    });
    const empty = world({ facts: [OWNER_READS] });
    expect(await empty.people.addressOfConversation("agent:main:main" as never)).toEqual(OWNER_MAILBOX);
  });

  test("of what no person writes to does not exist", () => {
    const { people } = world({});
    const cron = { profile: "main", sessionKey: "k", descriptor: { type: "cron", id: "j" }, state: at("1") };
    expect(people.routeOf(cron as never)).toBeUndefined();
  });
});
