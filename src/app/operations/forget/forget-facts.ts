/**
 * Facts that name a forgotten person: requests to be let in, link codes, carried conversations, open questions, calls that wait for input, traces of refused
 * messages, notes about runs. Logins and tokens have owners of their own (`Access`).
 */
import { keyPart } from "../../../core/agent/session-key.ts";
import { CONVERSATIONS_FACT, type Op } from "../../../core/store/change.ts";
import type { StoreEraser } from "../../../core/store/store.ts";
import { NOTICED_FACTS } from "../../../engine/outbox/around-reply.ts";
import type { ForgetPlan } from "./forget-plan.ts";

/** `null`: the fact is removed. `undefined`: nothing in it is about the person. */
type Rule = (value: unknown, plan: ForgetPlan) => unknown;

interface Named {
  readonly account?: unknown;
  readonly person?: unknown;
}

const isOf = (plan: ForgetPlan, one: unknown): boolean => typeof one === "string" && plan.people.includes(one);

/** Of an agent of the person, or about one of the person's chats. */
const ofAgent: Rule = (value, plan) =>
  plan.agents.includes(String((value as { agentId?: string }).agentId)) ? null : undefined;

const pairing: Rule = (value, plan) => {
  const pages = value as { requests?: Named[]; links?: Named[]; blocked?: string[] };
  return {
    ...pages,
    requests: pages.requests?.filter(({ account }) => !isOf(plan, account)),
    links: pages.links?.filter(({ person }) => !isOf(plan, person)),
    blocked: pages.blocked?.filter((account) => !isOf(plan, account)),
  };
};

const refusedMessage: Rule = (value, plan) => {
  const { connector, channelId, userId } = ((value as { source?: Record<string, string> }).source ?? {}) as Record<
    string,
    string
  >;
  return [channelId, userId].some((id) => isOf(plan, `${connector}:${id}`)) ? null : undefined;
};

/** A key of a direct conversation with one of the person's names. */
const isKeyOf = (plan: ForgetPlan, key: string): boolean =>
  plan.people.some((name) => {
    const peer = `:dm:${keyPart(name.slice(name.indexOf(":") + 1))}`;
    return key.endsWith(peer) || key.includes(`${peer}:`);
  });

/** A conversation is the person's if both of its keys are. */
const conversations: Rule = (value, plan) => {
  const book = value as { carried?: Record<string, string> };
  const left = Object.entries(book.carried ?? {}).filter(([to, from]) => !isKeyOf(plan, to) || !isKeyOf(plan, from));
  return { ...book, carried: Object.fromEntries(left) };
};

/** The ids of the person on WhatsApp Web: numbers, and LIDs with their ending. */
const webIds = (plan: ForgetPlan): ReadonlySet<string> =>
  new Set(plan.people.flatMap((name) => (name.startsWith(WEB) ? [name.slice(WEB.length)] : [])));
const WEB = "whatsapp-web:";

/** `491701:3@s.whatsapp.net` and `491701.0` are `491701`; `77@lid` stays. */
const webUser = (id: unknown): string =>
  typeof id !== "string" ? "" : id.endsWith("@lid") ? id.replace(/:\d+@/u, "@") : (/^[^.:@_]*/u.exec(id)?.[0] ?? "");

const webChats: Rule = (value, plan) => {
  const ids = webIds(plan);
  return (value as [string, { participant?: string }][]).filter(
    ([chat, { participant }]) => !ids.has(webUser(chat)) && !ids.has(webUser(participant)),
  );
};

const webLids: Rule = (value, plan) => {
  const ids = webIds(plan);
  return (value as [string, string][]).filter(([lid, phone]) => !ids.has(`${lid}@lid`) && !ids.has(phone));
};

/** Keys of chats are stored under the number or the LID of a person, alone or with a group. Those of the account itself are under numbers of their own. */
const webKeys: Rule = (value, plan) => {
  const ids = webIds(plan);
  const isTheirs = (text: string): boolean =>
    text.split(/[^\p{L}\p{N}]+/u).some((part) => ids.has(part) || ids.has(`${part}@lid`));
  const left = Object.entries(value as object).filter(
    ([id, one]) => !isTheirs(id) && !isTheirs(typeof one === "string" ? one : Object.keys(one ?? {}).join(" ")),
  );
  return left.length === 0 ? null : Object.fromEntries(left);
};
const WEB_KEYS = ["session", "sender-key", "identity-key", "device-list", "lid-mapping", "tctoken"];

/** By the beginning of the key. */
const RULES: readonly (readonly [prefix: string, rule: Rule])[] = [
  ["pairing", pairing],
  [CONVERSATIONS_FACT, conversations],
  ["question.", ofAgent],
  ["mcp-input:", ofAgent],
  ["stale:", refusedMessage],
  ["watchdog", ofAgent],
  [NOTICED_FACTS, ofAgent],
  ["whatsapp-web.chats.", webChats],
  ["whatsapp-web.lid.", webLids],
];

function ruleOf(key: string): Rule | undefined {
  const isKeys = key.startsWith("whatsapp-web.auth.") && WEB_KEYS.some((type) => key.includes(`.${type}`));
  return isKeys ? webKeys : RULES.find(([prefix]) => key.startsWith(prefix))?.[1];
}

const PAGE = 500;

export async function factOps(eraser: StoreEraser, plan: ForgetPlan): Promise<readonly Op[]> {
  const ops: Op[] = [];
  for (let after = ""; ; ) {
    const page = await eraser.facts({ limit: PAGE, after });
    for (const { key, value } of page) {
      const rule = ruleOf(key);
      const next = rule?.(JSON.parse(value), plan);
      if (next === undefined) continue;
      const text = next === null ? null : JSON.stringify(next);
      if (text !== value) ops.push({ op: "fact.put", key, value: text, expect: value });
    }
    if (page.length < PAGE) return ops;
    after = page.at(-1)?.key ?? "";
  }
}
