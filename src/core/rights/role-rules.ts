/** What each role may do without a grant. The owner may do everything; a stranger nothing. */
import type { Verdict } from "../people/grant.ts";
import type { Role } from "../people/person.ts";
import type { Effect } from "./decide.ts";
import { CONTACT_TOOLS } from "./kind-rules.ts";

/** A person's own words and the answers to them. */
const MESSAGE = "message";

const CONTACT_ACTIONS: readonly string[] = [...CONTACT_TOOLS, MESSAGE];

interface RoleVerdict {
  readonly verdict: Verdict;
  readonly reason: string;
}

const ALLOW: RoleVerdict = { verdict: "allow", reason: "" };
const deny = (reason: string): RoleVerdict => ({ verdict: "deny", reason });

/** Everything of the installation as a whole. */
const OWNERS: readonly { readonly action: RegExp; readonly reason: string }[] = [
  { action: /^heartbeat/u, reason: "the heartbeat belongs to the owner" },
  { action: /^gate$/u, reason: "gates run on the owner's machine and belong to the owner" },
  {
    action: /^(?:create|remove)_(?:permanent_agent|swarm)$/u,
    reason: "permanent agents and swarms belong to the owner",
  },
  { action: /^diagnose$/u, reason: "it shows the whole installation" },
  { action: /^approve$/u, reason: "only the owner approves" },
  { action: /^chat_(?:elevated|send)$/u, reason: "only the owner changes it" },
  { action: /^gateway$/u, reason: "the gateway belongs to the owner" },
  { action: /^manage\./u, reason: "it belongs to the installation, which is the owner's" },
];

export function roleVerdict(role: Role, { action, rights, target }: Effect): RoleVerdict {
  switch (role) {
    case "owner":
      return ALLOW;
    case "guest": {
      const owners = OWNERS.find((rule) => rule.action.test(action));
      if (owners) return deny(owners.reason);
      if (rights.includes("exec")) return deny("commands on this machine need a grant");
      if (target !== undefined) return deny(`${target} belongs to another person`);
      return ALLOW;
    }
    case "contact":
      return CONTACT_ACTIONS.includes(action) && target === undefined ? ALLOW : deny("a contact only talks to a swarm");
    default:
      return deny("not known here");
  }
}
