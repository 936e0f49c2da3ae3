/** `rookery people requests`: people and groups who wait to be let in, and your answers to them. */
import { withApi } from "../client/with-api.ts";
import { type CommandContext, defineAction, type Group } from "../command.ts";
import { oneLine, timeText } from "../plain-text.ts";
import { printList, printResult } from "../print.ts";

export interface Waiting {
  readonly code: string;
  readonly account: string;
  readonly channel: string;
  readonly name?: string;
  readonly at: number;
}

const list = defineAction({
  summary: "list who waits to be let in",
  async run(context) {
    const { items } = (await withApi(context, (api) => api.ask({ method: "GET", path: "/api/pairings" }), {
      reads: true,
    })) as {
      items: readonly Waiting[];
    };
    return printList(context, { items, line, empty: "No one waits to be let in." });
  },
});

const line = ({ code, account, name, at }: Waiting): string =>
  `${code}  ${account.padEnd(28)}  ${timeText(at)}  ${oneLine(name ?? "", 60)}`.trimEnd();

const answering = (answer: "yes" | "no" | "block" | "forget", summary: string, done: string) =>
  defineAction({
    summary,
    usage: answer === "yes" || answer === "no" ? "<code>" : "<code or account>",
    arguments: { min: 1, max: 1 },
    options: answer === "yes" ? AS : undefined,
    run: (context) => decide(context, answer, done),
  });

const AS = {
  as: {
    type: "string",
    value: "ID",
    description: "the person it is: `owner`, or the id of a person (default: a new one)",
  },
} as const;

async function decide(context: CommandContext, answer: string, done: string): Promise<undefined> {
  const path = `/api/pairings/${encodeURIComponent(context.args[0] ?? "")}`;
  const as = (context.flags as { readonly as?: string }).as;
  const result = (await withApi(context, (api) => api.ask({ method: "POST", path, body: { answer, as } }))) as {
    account: string;
    person: string | null;
  };
  const person = result.person === null ? "" : ` as ${result.person}`;
  return printResult(context, result, `${result.account} ${done}${person}.`);
}

export const requestsGroup: Group = {
  summary: "let people and groups in who write to your bots",
  description: "Someone who is not known gets a code. Confirm it here, or with /pair in a chat of yours.",
  fallback: "list",
  actions: {
    list,
    yes: answering("yes", "let someone in", "is let in"),
    no: answering("no", "refuse someone; they may ask again", "was not let in"),
    block: answering("block", "read nothing of an account any more", "is blocked"),
    forget: answering("forget", "forget a request, and lift a block", "is forgotten"),
  },
};
