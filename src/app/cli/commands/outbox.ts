/** `rookery outbox`: lists deliveries, retries one that failed, and drops one that waits. */
import { type Delivery, type DeliveryState, deliveryStateSchema } from "../../../core/delivery/delivery.ts";
import { InvalidInputError } from "../../../core/errors.ts";
import { withApi } from "../client/with-api.ts";
import { defineAction, type Group } from "../command.ts";
import { readHome } from "../read-home.ts";

const LIMIT = 100;

const list = defineAction({
  summary: "list open deliveries, or those in a state",
  options: {
    state: { type: "string", value: "STATE", multiple: true, description: "only deliveries in this state" },
    limit: { type: "string", value: "N", description: `how many at most (default: ${LIMIT})` },
  },
  async run({ flags, paths, json, stdout }) {
    const states = (flags.state ?? []).map(stateOf);
    const limit = Number(flags.limit ?? LIMIT);
    if (!Number.isInteger(limit) || limit < 1) throw new InvalidInputError("--limit takes a whole number above 0.");
    const deliveries = await readHome(paths, (store) =>
      store.deliveries({ limit, states: states.length > 0 ? states : undefined }),
    );
    if (json) stdout.write(`${JSON.stringify(deliveries)}\n`);
    else stdout.write(deliveries.length === 0 ? "No deliveries.\n" : `${deliveries.map(line).join("\n")}\n`);
    return undefined;
  },
});

const change = (summary: string, what: "retry" | "drop") =>
  defineAction({
    summary,
    usage: "<delivery id>",
    arguments: { min: 1, max: 1 },
    async run(context) {
      const { args, json, stdout } = context;
      const path = `/api/outbox/${encodeURIComponent(args[0] ?? "")}/${what}`;
      const delivery = (await withApi(context, (api) => api.ask({ method: "POST", path }))) as Delivery;
      stdout.write(json ? `${JSON.stringify(delivery)}\n` : `${delivery.id} is ${delivery.state}.\n`);
      return undefined;
    },
  });

export const outboxCommand: Group = {
  summary: "list, retry and drop deliveries",
  description: "A delivery is sent, or it stays listed here with the reason. No delivery disappears silently.",
  actions: {
    list,
    retry: change("send an ended delivery again", "retry"),
    drop: change("give up a delivery that waits: for a retry, its reader or a route", "drop"),
  },
  fallback: "list",
};

function stateOf(text: string): DeliveryState {
  const parsed = deliveryStateSchema.safeParse(text);
  if (parsed.success) return parsed.data;
  throw new InvalidInputError(`"${text}" is not a delivery state.`, {
    hint: `States: ${deliveryStateSchema.options.join(", ")}.`,
  });
}

function line({ id, state, target, attempts, payload, reason }: Delivery): string {
  const where = [target.channel, target.to, target.threadId].filter((part) => part !== undefined).join(":");
  const short = (payload.text ?? "").replaceAll(/\s+/g, " ").slice(0, 60);
  return `${id}  ${state.padEnd(14)} to ${where}  tries ${attempts}  ${short}${reason ? ` (${reason})` : ""}`;
}
