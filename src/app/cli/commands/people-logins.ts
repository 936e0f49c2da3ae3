/** `rookery people invite` and what invitations opened: the sessions of browsers. */
import { withApi } from "../client/with-api.ts";
import { defineAction } from "../command.ts";
import { oneLine, timeText } from "../plain-text.ts";
import { printList, printResult } from "../print.ts";

export interface Invited {
  readonly person: string;
  readonly link: string;
  readonly expiresAt: number;
}

export interface Login {
  readonly id: string;
  readonly person: string;
  readonly createdAt: number;
  readonly expiresAt: number;
  readonly browser?: string;
}

export const invite = defineAction({
  summary: "print a link that signs a person in once, within 24 hours; makes a guest if there is no record",
  usage: "<person id>",
  arguments: { min: 1, max: 1 },
  async run(context) {
    const path = `/api/people/${encodeURIComponent(context.args[0] ?? "")}/invitations`;
    const invited = (await withApi(context, (api) => api.ask({ method: "POST", path, body: {} }))) as Invited;
    const until = timeText(invited.expiresAt);
    if (!context.json) context.stderr.write(`Send it to ${invited.person} only. It works once, until ${until}.\n`);
    return printResult(context, invited, invited.link);
  },
});

export const sessions = defineAction({
  summary: "list the browsers that are signed in, of one person or of all",
  usage: "[person id]",
  arguments: { min: 0, max: 1 },
  async run(context) {
    const [id] = context.args;
    const path = `/api/logins${id === undefined ? "" : `?person=${encodeURIComponent(id)}`}`;
    const { items } = (await withApi(context, (api) => api.ask({ method: "GET", path }), { reads: true })) as {
      items: Login[];
    };
    return printList(context, { items, line, empty: "No one is signed in." });
  },
});

const line = ({ id, person, createdAt, expiresAt, browser }: Login): string =>
  `${id}  ${person.padEnd(16)}  since ${timeText(createdAt)}  until ${timeText(expiresAt)}${browser ? `  ${oneLine(browser, 60)}` : ""}`;

export const signOut = defineAction({
  summary: "end a session of a browser; its streams end too",
  usage: "<session>",
  arguments: { min: 1, max: 1 },
  async run(context) {
    const path = `/api/logins/${encodeURIComponent(context.args[0] ?? "")}`;
    const ended = (await withApi(context, (api) => api.ask({ method: "DELETE", path }))) as { person: string };
    return printResult(context, ended, `${ended.person} is signed out there.`);
  },
});
