/** `rookery channels outbox`: lists deliveries, retries one that failed, and drops one that waits. */

import { type Delivery, type DeliveryState, deliveryStateSchema } from "../../../core/delivery/delivery.ts";
import { UsageError } from "../../../core/errors.ts";
import { shortId } from "../../../core/ids.ts";
import { reading, withApi } from "../client/with-api.ts";
import { defineAction, type Group } from "../command.ts";
import { limitFlag, numberFlag } from "../number-flag.ts";
import { oneLine } from "../plain-text.ts";
import { printList, printResult } from "../print.ts";
import { relativeTime } from "../relative-time.ts";
import { upTo } from "../up-to.ts";

const LIMIT = 100;

const list = defineAction({
  summary: "list open deliveries, or those in a state",
  options: {
    state: { type: "string", value: "STATE", multiple: true, description: "only deliveries in this state" },
    after: { type: "string", value: "N", description: "only deliveries after this number" },
    limit: { type: "string", value: "N", description: `how many at most (default: ${LIMIT})` },
  },
  async run(context) {
    const { flags } = context;
    const states = (flags.state ?? []).map(stateOf);
    const limit = limitFlag(flags.limit, LIMIT);
    const after = numberFlag(flags.after, "--after");
    const state = states.length > 0 ? states : undefined;
    const page = await reading(context, ({ outbox }) =>
      upTo(limit, after, (count, from) => outbox.list({ limit: count, after: from, state })),
    );
    return printList(context, { ...page, line, empty: "No deliveries." });
  },
});

const show = defineAction({
  summary: "show one delivery: where it goes, its state and its text",
  usage: "<delivery id>",
  arguments: { min: 1, max: 1 },
  async run(context) {
    const path = `/api/outbox/${encodeURIComponent(context.args[0] ?? "")}`;
    const delivery = (await withApi(context, (api) => api.ask({ method: "GET", path }), {
      reads: true,
    })) as NamedDelivery;
    const { createdAt, endedAt, payload } = delivery;
    const now = Date.now();
    const times = `made ${relativeTime(createdAt, now)}${endedAt === undefined ? "" : `, ended ${relativeTime(endedAt, now)}`}`;
    return printResult(context, delivery, [line(delivery), times, payload.text ?? ""].join("\n"));
  },
});

const change = (summary: string, what: "retry" | "drop") =>
  defineAction({
    summary,
    usage: "<delivery id>",
    arguments: { min: 1, max: 1 },
    async run(context) {
      const path = `/api/outbox/${encodeURIComponent(context.args[0] ?? "")}/${what}`;
      const delivery = (await withApi(context, (api) => api.ask({ method: "POST", path }))) as Delivery;
      return printResult(context, delivery, `Delivery ${shortId(delivery.id)} is ${delivery.state}.`);
    },
  });

export const outboxGroup: Group = {
  summary: "list, show, retry and drop deliveries",
  description: "A delivery is sent, or it stays listed here with the reason. No delivery disappears silently.",
  actions: {
    list,
    show,
    retry: change("send an ended delivery again", "retry"),
    drop: change("give up a delivery that waits: for a retry, its reader or a route", "drop"),
  },
  fallback: "list",
};

function stateOf(text: string): DeliveryState {
  const parsed = deliveryStateSchema.safeParse(text);
  if (parsed.success) return parsed.data;
  throw new UsageError(`"${text}" is not a delivery state.`, {
    hint: `States: ${deliveryStateSchema.options.join(", ")}.`,
  });
}

export interface NamedDelivery extends Delivery {
  readonly agentName?: string;
  /** The recipient. */
  readonly personName?: string;
}

function line({ id, state, target, attempts, payload, reason, personName, agentName }: NamedDelivery): string {
  const where = oneLine(personName ?? target.channel ?? "nobody", 60);
  const from = agentName === undefined ? "" : ` from ${oneLine(agentName, 60)}`;
  const short = oneLine(payload.text ?? "", 60);
  return `${shortId(id)}  ${state.padEnd(14)} to ${where}${from}  tries ${attempts}  ${short}${reason ? ` (${reason})` : ""}`;
}
