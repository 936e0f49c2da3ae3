/** Lists an agent's run, its waiting messages with what each will do, and messages that got no answer. Changes nothing. */
import type { Settings } from "../../config/settings.ts";
import { NotFoundError } from "../../core/errors.ts";
import type { AgentId } from "../../core/ids.ts";
import { type FailedTries, type Message, shownText, UNANSWERED_STATES } from "../../core/message/message.ts";
import { unansweredMessage } from "../../core/message/unanswered-message.ts";
import type { PersonId } from "../../core/people/person.ts";
import type { Ports } from "../../core/ports/ports.ts";
import type { WhatWaits } from "../../core/run/what-waits.ts";
import { summaryLine } from "../inbox/collect-prompt.ts";
import { type Choice, choose, onArrival, routeKey, type Waiting } from "../inbox/decide.ts";
import { queueSettingsFor } from "../inbox/queue-settings.ts";
import type { LiveRun } from "../runtime/live-run.ts";
import type { Actor } from "./actor/actor.ts";

const LISTED = 200;
const ENDED = 20;

export async function whatWaits(
  { store, clock }: Pick<Ports, "store" | "clock">,
  actor: Pick<Actor, "run" | "busyUntil"> | undefined,
  settings: Settings,
  agentId: AgentId,
): Promise<WhatWaits> {
  const agent = await store.agent(agentId);
  if (!agent) throw new NotFoundError(`There is no agent ${agentId}.`);
  const messages = await store.waiting(agentId, { limit: LISTED });
  const waiting = messages.map(
    (message): Waiting => ({ message, settings: queueSettingsFor(settings, message, agent.state) }),
  );
  const { run, busyUntil } = actor ?? {};
  const urgent = messages.filter(({ body }) => body.kind === "stop" || body.kind === "reset");
  const choice = choose({
    own: agent.person,
    now: clock.now(),
    waiting,
    urgent,
    busyUntil,
    dedupe: settings.queue.dedupe,
  });
  const dropped = await store.messages(agentId, { limit: ENDED, states: ["dropped"] });
  const unanswered = await store.messages(agentId, { limit: ENDED, states: UNANSWERED_STATES });
  return {
    agentId,
    run: run && { id: run.id, state: run.state },
    waiting: waiting.map((one) => ({
      seq: one.message.seq,
      kind: one.message.body.kind,
      text: summaryLine(shownText(one.message.body)),
      acceptedAt: one.message.acceptedAt,
      mode: one.settings.mode,
      will: one.message.tried
        ? failingWill(one.message.tried)
        : run
          ? duringRun(one, run, agent.person)
          : atRest(one.message, choice),
    })),
    dropped: dropped.map(({ seq, reason, body }) => ({
      seq,
      policy: reason ?? "",
      text: summaryLine(shownText(body)),
    })),
    unanswered: unanswered.flatMap((message) => unansweredMessage(message) ?? []),
  };
}

const failingWill = ({ times, reason, nextAt }: FailedTries): string =>
  `failed ${times} ${times === 1 ? "time" : "times"} (${reason}) and is tried again at ${new Date(nextAt).toISOString()}`;

function duringRun(one: Waiting, run: LiveRun, own: PersonId | undefined): string {
  const { state, body } = run;
  const active = {
    streaming: state === "streaming",
    compacting: state === "compacting",
    route: routeKey(body.delivery),
    person: body.behalf?.person,
    own,
    lastSeq: Math.max(...body.seqs),
  };
  switch (onArrival(one, active)) {
    case "steer":
      return "enters the run at its next step";
    case "end-interrupt":
      return "ends the run and runs next";
    case "end-reset":
    case "end-stop":
      return "ends the run";
    case "answer":
      return "is answered at the next step of the run";
    case "wait":
      return one.settings.mode === "collect"
        ? "waits for the run, then joins one prompt with its route"
        : "waits for the run, then runs in its turn";
  }
}

function atRest(message: Message, choice: Choice): string {
  const named =
    "messages" in choice ? choice.messages.includes(message) : "message" in choice && choice.message === message;
  if (choice.act === "wait")
    return `waits until it has been quiet, at the latest until ${new Date(choice.until).toISOString()}`;
  if (choice.act === "run" && choice.dropped.some((drop) => drop.message === message)) return "will be dropped";
  if (!named) return "waits its turn";
  return choice.act === "run"
    ? choice.collected
      ? "runs next, in one prompt with others"
      : "runs next"
    : `is handled next (${choice.act})`;
}
