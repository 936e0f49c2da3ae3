/** Commands that only the terminal has: they show or open something, and send nothing to the agent. */
import { writeFileSync } from "node:fs";
import { resolve } from "node:path";
import type { AgentTree } from "../../../core/agent/agent-tree.ts";
import { pathOf } from "../../client/engine-api.ts";
import { drawTree } from "../draw-tree.ts";
import type { ChatSession } from "./chat-session.ts";
import { cleanLine } from "./clean-text.ts";
import type { CompletedCommand } from "./completion.ts";
import { exportMarkdown } from "./export-markdown.ts";

/** What commands do beyond showing text. */
export interface ChatActions {
  readonly session: ChatSession;
  readonly cwd: string;
  pickAgent(): Promise<void>;
  open(name: string): void;
  goBack(): void;
  search(): void;
  leave(): void;
}

/** Said to a guest. */
export const ONLY_THE_OWNER = "Only the owner of this engine can do that.";

interface LocalCommand extends CompletedCommand {
  readonly isOwners?: true;
  run(rest: string, actions: ChatActions): Promise<void> | void;
}

export const LOCAL_COMMANDS: readonly LocalCommand[] = [
  { name: "agents", help: "choose another conversation or agent", run: (_, actions) => actions.pickAgent() },
  {
    ...{ name: "open", usage: "NAME", help: "open a conversation of yours by its name, or begin one" },
    run: (name, actions) => (name === "" ? actions.pickAgent() : actions.open(name)),
  },
  { name: "tree", isOwners: true, help: "show which agent started which", run: (_, actions) => showTree(actions) },
  { name: "inbox", help: "show the latest messages and what became of each", run: (_, actions) => showInbox(actions) },
  {
    ...{ name: "outbox", isOwners: true, help: "show what is still to be delivered, and why" },
    run: (_, actions) => showOutbox(actions),
  },
  { name: "branch", help: "go back to an earlier message and edit it", run: (_, actions) => actions.goBack() },
  {
    ...{ name: "export", usage: "[FILE]", help: "write this conversation into a Markdown file" },
    run: (file, actions) => exportTo(file, actions),
  },
  { name: "search", help: "search in the conversation (Ctrl+F)", run: (_, actions) => actions.search() },
  { name: "keys", help: "show the keys", run: (_, { session }) => session.notice(KEYS_TEXT, { title: "keys" }) },
  { name: "quit", help: "leave the chat; what runs goes on with the engine", run: (_, actions) => actions.leave() },
];

const KEYS_TEXT = [
  "- **Enter** sends, **Shift+Enter** or **Ctrl+J** begins a new line",
  "- **Esc** stops the run; **Esc Esc** goes back to an earlier message",
  "- **Page Up / Page Down** or the mouse wheel scroll, **Ctrl+End** returns to the end",
  "- **Ctrl+F** searches, **Ctrl+T** chooses another conversation",
  "- **Up** and **Down** in an empty input show what you typed before",
  "- **@** completes files and sends them, **/** completes commands",
  "- **Ctrl+C** clears the input, twice it leaves; **Ctrl+D** leaves",
].join("\n");

/** Undefined if the text is not one of these commands. */
export function localCommand(text: string): ((actions: ChatActions) => Promise<void> | void) | undefined {
  const [, name, rest = ""] = /^\/([a-z]{1,16})(?:\s([^\n]{0,500}))?$/u.exec(text) ?? [];
  const command = LOCAL_COMMANDS.find((one) => one.name === (name === "exit" ? "quit" : name));
  return (
    command &&
    ((actions) => {
      const isGuest = actions.session.info?.terminal === null;
      return command.isOwners && isGuest ? actions.session.notice(ONLY_THE_OWNER) : command.run(rest.trim(), actions);
    })
  );
}

async function showTree({ session }: ChatActions): Promise<void> {
  const tree = await session.api.get<AgentTree>("/api/tree", { limit: 100 });
  const lines = drawTree(tree);
  session.notice(lines.length === 0 ? "No agents yet." : inCode(lines), { title: "agents" });
}

interface InboxMessage {
  readonly seq: number;
  readonly state: string;
  readonly reason?: string;
  readonly body: { readonly kind: string; readonly text?: string };
}

async function showInbox({ session }: ChatActions): Promise<void> {
  const agent = session.agentId;
  if (agent === undefined) {
    session.notice("No messages yet.", { title: "inbox" });
    return;
  }
  const path = pathOf("api", "agents", agent);
  const { waiting } = await session.api.get<{ waiting: readonly { seq: number; text: string; will: string }[] }>(
    `${path}/inbox`,
  );
  const { items } = await session.api.get<{ items: readonly InboxMessage[] }>(`${path}/messages`, { limit: 12 });
  const lines = [
    ...waiting.map(({ seq, text, will }) => `${seq}  waits     ${cleanLine(text, 50)}  (${cleanLine(will, 80)})`),
    ...items
      .filter(({ seq }) => !waiting.some((one) => one.seq === seq))
      .map(({ seq, state, body, reason }) => {
        const why = reason ? `  (${cleanLine(reason, 60)})` : "";
        return `${seq}  ${cleanLine(state, 9).padEnd(9)} ${cleanLine(body.text ?? body.kind, 50)}${why}`;
      }),
  ];
  session.notice(lines.length === 0 ? "No messages yet." : inCode(lines), { title: "inbox, newest first" });
}

interface OpenDelivery {
  readonly id: string;
  readonly state: string;
  readonly reason?: string;
  readonly target: { readonly channel?: string; readonly to?: string };
  readonly payload: { readonly text?: string };
}

async function showOutbox({ session }: ChatActions): Promise<void> {
  const { items } = await session.api.get<{ items: readonly OpenDelivery[] }>("/api/outbox", { limit: 30 });
  const lines = items.map(({ state, reason, target, payload }) => {
    const to = cleanLine([target.channel, target.to].filter(Boolean).join(":"), 30);
    return `${cleanLine(state, 14).padEnd(14)} ${to}  ${cleanLine(payload.text ?? "", 50)}${reason ? `  (${cleanLine(reason, 60)})` : ""}`;
  });
  session.notice(lines.length === 0 ? "Everything is delivered." : inCode(lines), { title: "outbox" });
}

const inCode = (lines: readonly string[]): string => `\`\`\`\n${lines.join("\n").replaceAll("```", "'''")}\n\`\`\``;

async function exportTo(file: string, { session, cwd }: ChatActions): Promise<void> {
  const agent = session.agentId;
  if (agent === undefined) {
    session.notice("There is nothing to export yet.");
    return;
  }
  const day = new Date().toISOString().slice(0, 10);
  const path = resolve(cwd, file === "" ? `rookery-${day}-${Date.now().toString(36)}.md` : file);
  const text = await exportMarkdown(session.api, agent);
  // Never over a file that exists.
  writeFileSync(path, text, { flag: "wx", mode: 0o600 });
  session.notice(`The conversation is in ${path}.`);
}
