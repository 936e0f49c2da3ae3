/**
 * What a home consists of, what a backup does with each part, and what forgetting a person does with it. A feature that adds a file or a
 * directory to the home adds it here; a test fails for one that is missing, and another one for a trace that stays.
 */

interface HomePart {
  /** `copied` into a backup; the database is a `snapshot`; or why it is left out. */
  readonly backup: "copied" | "snapshot" | { readonly left: string };
  /** What happens to it when a person is forgotten. */
  readonly forget:
    | "nothing of people is in it"
    | "rows are removed"
    | "follows the database"
    | "the directory of the person is removed"
    | "blobs of the person are removed"
    | "directories of the person's agents are removed"
    | "changes of the person's files are removed"
    | "lines that name the person's files are removed"
    | "mentions are listed, not removed";
}

const FROM_DATABASE: HomePart = {
  backup: { left: "it is written again from the database" },
  forget: "follows the database",
};
const OF_THE_MACHINE: HomePart = {
  backup: { left: "it belongs to the machine" },
  forget: "nothing of people is in it",
};
const SETTINGS: HomePart = { backup: "copied", forget: "nothing of people is in it" };

export const HOME_PARTS: Readonly<Record<string, HomePart>> = {
  "rookery.db": { backup: "snapshot", forget: "rows are removed" },
  "rookery.db-wal": { backup: { left: "the snapshot contains it" }, forget: "rows are removed" },
  "rookery.db-shm": { backup: { left: "the snapshot needs none" }, forget: "nothing of people is in it" },
  "rookery.json5": { backup: "copied", forget: "mentions are listed, not removed" },
  "rookery.edit.json5": {
    backup: { left: "it is not the configuration yet" },
    forget: "mentions are listed, not removed",
  },
  "auth.json": SETTINGS,
  secrets: SETTINGS,
  token: SETTINGS,
  "tokens.json": { backup: "copied", forget: "rows are removed" },
  "remotes.json": SETTINGS,
  "service.env": OF_THE_MACHINE,
  files: { backup: "copied", forget: "blobs of the person are removed" },
  workspace: { backup: "copied", forget: "mentions are listed, not removed" },
  people: { backup: "copied", forget: "the directory of the person is removed" },
  "search.db": { backup: { left: "the index is made again from the history" }, forget: "rows are removed" },
  "search.db-wal": { backup: { left: "the index is made again from the history" }, forget: "rows are removed" },
  "search.db-shm": OF_THE_MACHINE,
  "logins.json": SETTINGS,
  mcp: { backup: "copied", forget: "mentions are listed, not removed" },
  "mcp-auth.json": SETTINGS,
  skills: SETTINGS,
  "skills.json": SETTINGS,
  "skill-versions": SETTINGS,
  changes: { backup: "copied", forget: "changes of the person's files are removed" },
  // A backup that is made while a command runs has what the command made: the lease says that it does not count.
  writers: { backup: "copied", forget: "changes of the person's files are removed" },
  "untrusted-files.jsonl": { backup: "copied", forget: "lines that name the person's files are removed" },
  "shared-before.txt": { backup: "copied", forget: "mentions are listed, not removed" },
  "chat-history.jsonl": { backup: "copied", forget: "mentions are listed, not removed" },
  "agents-aside": { backup: "copied", forget: "directories of the person's agents are removed" },
  agents: FROM_DATABASE,
  subagents: FROM_DATABASE,
  cron: FROM_DATABASE,
  swarms: FROM_DATABASE,
  "budgets.json": FROM_DATABASE,
  "people.json": FROM_DATABASE,
  "files.json": FROM_DATABASE,
  "mirror.json": FROM_DATABASE,
  logs: { backup: { left: "it is not needed to go on" }, forget: "mentions are listed, not removed" },
  backups: { backup: { left: "a backup does not contain others" }, forget: "mentions are listed, not removed" },
  processes: {
    backup: { left: "it belongs to the machine" },
    forget: "directories of the person's agents are removed",
  },
  packages: { backup: { left: "they are installed again when they are needed" }, forget: "nothing of people is in it" },
  "ended-by-watchdog.json": OF_THE_MACHINE,
  "rookery.lock": OF_THE_MACHINE,
  "rookery.lock-journal": OF_THE_MACHINE,
  "rookery.pid": OF_THE_MACHINE,
  "control.sock": OF_THE_MACHINE,
  "control.path": OF_THE_MACHINE,
};

/** Whether a part is copied into a backup. What no one has listed is copied: better too much than too little. */
export function isCopied(name: string): boolean {
  const part = Object.hasOwn(HOME_PARTS, name) ? HOME_PARTS[name] : undefined;
  // Leftovers of an interrupted write, and of a look at the database.
  if (part === undefined)
    return !name.startsWith(".rookery-") && !name.endsWith(".tmp") && !name.startsWith("rookery.db");
  return part.backup === "copied";
}
