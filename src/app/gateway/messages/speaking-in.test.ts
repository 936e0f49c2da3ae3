import { describe, expect, it } from "vitest";
import type { AgentDescriptor } from "../../../core/agent/descriptor.ts";
import { OWNER, type PersonId } from "../../../core/people/person.ts";
import type { Standing } from "../../../core/rights/decide.ts";
import type { PeopleNow } from "../../../engine/people/directory.ts";
import type { Principal } from "../auth/principal.ts";
import { assertMayMessage, mayMessage, speakingIn } from "./speaking-in.ts";

const person = (id: string) => id as PersonId;

/** Ann and Bob are guests, and so are all users of applications. */
const people: PeopleNow = {
  revision: 1,
  standing: (id): Standing => ({
    person: id,
    role: ["ann", "bob"].includes(id) || id.startsWith("app:") ? "guest" : "stranger",
    grants: [],
  }),
  personOf: (id) => id,
  sender: () => person("ann"),
  record: () => undefined,
};
const asks = { effect: { action: "message", rights: ["write"] }, people } as const;

const token = (more: Partial<Principal>): Principal => ({
  ...{ id: "t", name: "t", kind: "old", scopes: ["chat"], asks },
  ...more,
});
const TOKENS = {
  owner: token({ kind: "owner", person: OWNER, scopes: ["admin"] }),
  ownersReader: token({ kind: "owner", person: OWNER, scopes: ["read"] }),
  oldOperator: token({ scopes: ["operate"] }),
  old: token({}),
  oldAnn: token({ user: "ann", person: person("api:ann") }),
  ann: token({ kind: "person", person: person("ann") }),
  annWithAll: token({ kind: "person", person: person("ann"), scopes: ["admin"] }),
  eve: token({ kind: "person", person: person("eve") }),
  shop: token({ kind: "application", app: "shop" }),
};
type TokenName = keyof typeof TOKENS;

const api = (userId: string): AgentDescriptor => ({ type: "user", connector: "api", userId, channelId: userId });
const AGENTS = {
  permanent: { descriptor: { type: "permanent", id: "p", name: "p", description: "d", systemPrompt: "s" } },
  namedAnn: { descriptor: api("ann") },
  namedBob: { descriptor: api("bob") },
  personAnn: { descriptor: api("person:ann") },
  personBob: { descriptor: api("person:bob") },
  shopAnn: { descriptor: api("app:shop/ann") },
  bankAnn: { descriptor: api("app:bank/ann") },
  telegram: { descriptor: { type: "user", connector: "telegram", userId: "ann", channelId: "ann" } },
  subagent: { descriptor: { type: "subagent", id: "s", parentAgentId: "a", name: "n" } },
  annsJob: { descriptor: { type: "cron", id: "j" }, person: person("ann") },
  shopsJob: { descriptor: { type: "cron", id: "j" }, person: person("app:shop/ann") },
} as const satisfies Record<string, { descriptor: AgentDescriptor; person?: PersonId }>;
type AgentName = keyof typeof AGENTS;
const ALL = Object.keys(AGENTS) as AgentName[];

const REACHED: readonly (readonly [TokenName, readonly AgentName[]])[] = [
  ["owner", ALL],
  ["oldOperator", ALL],
  ["ownersReader", ["permanent", "namedAnn", "namedBob"]],
  ["old", ["permanent", "namedAnn", "namedBob"]],
  ["oldAnn", ["permanent", "namedAnn"]],
  ["ann", ["personAnn", "annsJob"]],
  ["annWithAll", ["personAnn", "annsJob"]],
  ["eve", []],
  ["shop", ["shopAnn", "shopsJob"]],
];

describe("who may send a message to an agent", () => {
  it.each(REACHED)("lets the token %s reach %j and no other agent", (name, reached) => {
    expect(ALL.filter((agent) => mayMessage(TOKENS[name], AGENTS[agent]))).toEqual(reached);
    for (const agent of ALL) {
      const assert = () => assertMayMessage(TOKENS[name], AGENTS[agent]);
      if (reached.includes(agent)) assert();
      else expect(assert, agent).toThrow(expect.objectContaining({ status: 403, code: "denied" }));
    }
  });

  it.each(REACHED)("lets the token %s speak in %j and in no other agent, unnamed", (name, reached) => {
    for (const agent of ALL) {
      const speak = () => speakingIn(TOKENS[name], AGENTS[agent], undefined);
      if (reached.includes(agent)) speak();
      else expect(speak, agent).toThrow(expect.objectContaining({ status: 403, code: "denied" }));
    }
  });
});

const named = (id: string) => ({ person: person(id), isNamed: true });

describe("who speaks in a message to an agent", () => {
  it.each<[TokenName, AgentName, string | undefined, object]>([
    // A token that may operate says it itself; only the user of the conversation speaks as that user.
    ["owner", "namedAnn", "ann", { sender: { id: "ann", name: "Ann" }, behalf: { person: "api:ann" } }],
    ["owner", "namedAnn", "bob", { sender: { id: "bob", name: "Ann" } }],
    ["owner", "telegram", "ann", { sender: { id: "ann", name: "Ann" } }],
    ["owner", "shopAnn", "app:shop/ann", { sender: { id: "app:shop/ann", name: "Ann" } }],
    ["owner", "namedAnn", undefined, {}],
    ["oldOperator", "namedAnn", "ann", { sender: { id: "ann", name: "Ann" }, behalf: { person: "api:ann" } }],
    // Any other token speaks for its own people, without a name that it gives.
    ["old", "permanent", undefined, {}],
    ["old", "permanent", "ann", { sender: { id: "ann" }, speaker: named("api:ann") }],
    ["oldAnn", "permanent", undefined, { sender: { id: "ann" }, speaker: named("api:ann") }],
    ["ann", "personAnn", undefined, { sender: { id: "person:ann" }, speaker: named("ann") }],
    ["ann", "annsJob", "ann", { sender: { id: "person:ann" }, speaker: named("ann") }],
    ["shop", "shopAnn", "bob", { sender: { id: "app:shop/bob" }, speaker: named("app:shop/bob") }],
    // An application that names no one speaks for the person of the conversation.
    ["shop", "shopAnn", undefined, { sender: { id: "app:shop/ann" }, speaker: named("app:shop/ann") }],
    ["shop", "shopsJob", undefined, { speaker: named("app:shop/ann") }],
  ])("with the token %s in %s, named %s, is %j", (name, agent, id, expected) => {
    const sender = id === undefined ? undefined : { id, name: "Ann" };
    expect(speakingIn(TOKENS[name], AGENTS[agent], sender)).toEqual(expected);
  });

  it.each<[TokenName, AgentName, string]>([
    ["oldAnn", "namedAnn", "bob"],
    ["ann", "personAnn", "bob"],
    ["ann", "personAnn", "owner"],
  ])("cannot be another person with the token %s", (name, agent, id) => {
    expect(() => speakingIn(TOKENS[name], AGENTS[agent], { id })).toThrow(
      expect.objectContaining({ status: 403, param: "user" }),
    );
  });

  it("cannot be a user of an application with an old token", () => {
    expect(() => speakingIn(TOKENS.old, AGENTS.permanent, { id: "app:shop/ann" })).toThrow(
      expect.objectContaining({ status: 400, param: "user" }),
    );
  });

  it("is no one if an application may message an agent that belongs to no person", () => {
    // Only a grant lets it reach such an agent.
    const granted = { ...people, standing: (id: PersonId): Standing => ({ person: id, role: "owner", grants: [] }) };
    const shop = token({ kind: "application", app: "shop", asks: { ...asks, people: granted } });
    expect(mayMessage(shop, AGENTS.permanent)).toBe(true);
    expect(() => speakingIn(shop, AGENTS.permanent, undefined)).toThrow(expect.objectContaining({ status: 403 }));
    expect(speakingIn(shop, AGENTS.permanent, { id: "ann" })).toMatchObject({ sender: { id: "app:shop/ann" } });
  });
});
