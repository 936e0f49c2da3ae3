/** `npm run tool -- channels`: compares the table in docs/channels.md with what the connectors declare. With `--write` it writes the table. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ChannelNotes } from "../src/adapters/connectors/accounts/connector-kind.ts";
import { stdinConnector } from "../src/adapters/connectors/stdin/stdin-connector.ts";
import { webhookConnector } from "../src/adapters/connectors/webhook/webhook-connector.ts";
import { KINDS } from "../src/app/node/configured-connectors.ts";
import { type Connector, DEFAULT_REPLAY_HORIZON_MS } from "../src/core/ports/connector.ts";

const FILE = join(import.meta.dirname, "../docs/channels.md");
const BEGIN = "<!-- channels: written by npm run tool -- channels -->\n";
const END = "<!-- end of channels -->";
const DAY_MS = 24 * 3600_000;

type Declared = Pick<Connector, "capabilities" | "sendingClass" | "replayHorizonMs">;

const unused = { write: () => true };
const terminal = stdinConnector({
  ...{ input: (async function* () {})(), output: unused, errors: unused, user: "owner", lines: true },
});
terminal.finished.catch(() => undefined);
const mailbox = webhookConnector({
  ...{ clock: { now: () => 0 }, targets: () => new Map() },
  post: () => Promise.reject(new TypeError("not sent")),
});

/** Those that no entry of the configuration names. */
const OTHERS: readonly (readonly [ChannelNotes, Declared])[] = [
  [
    {
      title: "a pipe of `rookery send`",
      drafts: "–",
      crash: { in: "a line that was not read", out: "a line under way is listed as `unconfirmed`" },
    },
    terminal as Declared,
  ],
  [
    {
      title: "a webhook of a mailbox",
      drafts: "–",
      crash: { in: "–", out: "nothing: it is sent again under the same id" },
    },
    mailbox,
  ],
];

const yes = (has: boolean | undefined): string => (has ? "yes" : "–");

function rowOf(notes: ChannelNotes, { capabilities, sendingClass, replayHorizonMs }: Declared): string {
  const { sendText, sendFiles, edits, reactions, buttons, maxTextLength } = capabilities;
  const days = Math.round((replayHorizonMs ?? DEFAULT_REPLAY_HORIZON_MS) / DAY_MS);
  const cells = [
    notes.title,
    sendText ? (maxTextLength === undefined ? "yes" : `${maxTextLength.toLocaleString("en")} characters`) : "–",
    sendFiles ? sendFiles.modes.join(", ") : "named",
    yes(edits),
    yes(reactions),
    notes.drafts,
    buttons ? "yes" : "a list",
    notes.threads ?? "–",
    sendingClass,
    `${days} days`,
    notes.crash.in,
    notes.crash.out,
  ];
  return `| ${cells.join(" | ")} |`;
}

export function channelTable(): string {
  const heads =
    "channel|text|files|edits|reactions|while a run works|buttons|threads|sending class|again|a crash costs, in|a crash costs, out".split(
      "|",
    );
  const rows = [...Object.values(KINDS).map(({ notes, traits }) => [notes, traits] as const), ...OTHERS];
  const lines = [heads.join(" | "), heads.map(() => "---").join(" | ")].map((line) => `| ${line} |`);
  return [...lines, ...rows.map(([notes, traits]) => rowOf(notes, traits)), ""].join("\n");
}

/** The page with the table of now. */
export function withTable(page: string): string {
  const from = page.indexOf(BEGIN) + BEGIN.length;
  return `${page.slice(0, from)}${channelTable()}${page.slice(page.indexOf(END))}`;
}

export const readPage = (): string => readFileSync(FILE, "utf8");

if (import.meta.main) {
  const page = readPage();
  const now = withTable(page);
  if (process.argv.includes("--write")) writeFileSync(FILE, now);
  else if (now !== page) {
    process.stderr.write(
      "docs/channels.md differs from what the connectors declare; run npm run tool -- channels --write\n",
    );
    process.exitCode = 1;
  }
}
