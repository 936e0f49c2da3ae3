/** What a command in a chat reads and changes: the conversation it was typed in, by the rights of the person who typed it. */
import type { AgentRecord } from "../../core/agent/agent.ts";
import type { Message } from "../../core/message/message.ts";
import { everyone } from "../../core/people/behalf.ts";
import { OWNER, type PersonId } from "../../core/people/person.ts";
import type { Ports } from "../../core/ports/ports.ts";
import { ALLOWED, decide } from "../../core/rights/decide.ts";
import type { WhatWaits } from "../../core/run/what-waits.ts";
import { offerLines } from "../approvals/always-rules.ts";
import type { Approvals } from "../approvals/approvals.ts";
import { spentSince } from "../budgets/budget-book.ts";
import type { CommandContext } from "../commands/chat-command.ts";
import { runChatCommand } from "../commands/run-chat-command.ts";
import { turnMemory } from "../context/turn-memory.ts";
import { queueSettingsFor } from "../inbox/queue-settings.ts";
import { unconfirmedAnswers } from "../outbox/around-reply.ts";
import type { Directory } from "../people/directory.ts";
import { situationOf } from "../rights/gate.ts";
import type { People } from "../runtime/people.ts";
import type { AnsweredCommand } from "../runtime/run-ports.ts";
import type { AgentSystemOptions } from "./agent-system-options.ts";

export interface CommandHost {
  readonly directory: Directory;
  readonly people: Pick<People, "personOf">;
  readonly approvals: Pick<Approvals, "list" | "get" | "decide" | "offers">;
  readonly pairing?: CommandContext["pairing"];
  whatWaits(agentId: AgentRecord["id"]): Promise<WhatWaits>;
}

const MAX_QUESTIONS = 50;

export async function answerCommand(
  ports: Pick<Ports, "store" | "clock">,
  options: AgentSystemOptions,
  host: CommandHost,
  agent: AgentRecord,
  message: Message,
): Promise<AnsweredCommand> {
  const { body } = message;
  const settings = options.settings.current;
  if (body.kind !== "command") return { text: "" };
  const own = agent.person ?? ((await host.people.personOf(agent)) as PersonId | undefined);
  const way = message.behalf ? everyone(message.behalf) : [own ?? OWNER];
  const now = await host.directory.now();
  const people = way.map(now.standing);
  const person = people[0]?.person ?? OWNER;
  // Lists of tools in a profile say nothing about what a person types.
  const situation = {
    ...situationOf({}, agent, { behalf: message.behalf }, people),
    untrusted: false,
    headless: false,
  };
  const context: CommandContext = {
    ...{ agent: { ...agent, person: own && now.personOf(own) }, person, now: ports.clock.now() },
    parts: options.commands ?? {},
    pairing: host.pairing,
    decide: (effect) =>
      options.rights ? decide({ ...effect, of: effect.of && now.personOf(effect.of) }, situation) : ALLOWED,
    queue: () => queueSettingsFor(settings, message, agent.state),
    contextWindow: async () => (await options.contextLimits?.(agent, undefined, undefined, settings))?.contextWindow,
    turn: () => turnMemory(ports.store, agent),
    spentSince: async (at) => spentSince(ports, at, (one) => one?.id === agent.id),
    waits: async () => waitsOf(await host.whatWaits(agent.id), message),
    unconfirmed: async () => (message.delivery ? unconfirmedAnswers(ports.store, message.delivery) : []),
    approvals: {
      pending: async () => {
        const filter = { limit: MAX_QUESTIONS, states: ["pending"] as const };
        return host.approvals.list(person === OWNER ? filter : { ...filter, person }, person);
      },
      get: (id) => host.approvals.get(id, person),
      choice: async (id) => offerLines(await host.approvals.offers(await host.approvals.get(id, person))),
      decide: (id, answer) =>
        host.approvals.decide(id, answer, { person, surface: message.source?.connector ?? "chat" }),
    },
  };
  const { text, patch, ops } = await runChatCommand(body, context);
  // A change is made only by the rights it was decided by (L13).
  const rights = options.rights && (patch ?? ops) ? now.revision : undefined;
  return { text, patch, ops, rights };
}

function waitsOf({ run, waiting }: WhatWaits, message: Message): Awaited<ReturnType<CommandContext["waits"]>> {
  return {
    run: run?.state,
    waiting: waiting
      .filter(({ seq }) => seq !== message.seq)
      .map(({ kind, text, will }) => ({ what: text === "" ? kind : `"${text}"`, why: will })),
  };
}
