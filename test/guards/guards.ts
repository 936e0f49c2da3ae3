/**
 * The guards against hostile input, each with an edit that disables it and the test that must fail then. `npm run tool -- guards` tries
 * them. A new guard is an entry here.
 */
export interface Guard {
  readonly name: string;
  readonly file: string;
  /** Text that is in the file exactly once. */
  readonly search: string;
  /** Instead of it: the guard is off. */
  readonly replace: string;
  readonly test: string;
  /** The titles of the tests that count: those that contain this. */
  readonly title: string;
}

const PLANTED = "test/hostile/planted-programs.test.ts";
const QUESTIONS = "test/hostile/questions.test.ts";
const PANEL = "src/app/cli/chat/approval-panel.test.ts";
const PREVIEWS = "test/channels/link-previews.test.ts";
const FOREIGN = "test/e2e/foreign-backup.test.ts";
const BACKUP = "src/app/operations/backup";

export const GUARDS: readonly Guard[] = [
  {
    name: "git asks",
    file: "src/core/rights/safe-commands.ts",
    search: "if (ANY_ARGUMENTS.has(program)) return true;",
    replace: 'if (ANY_ARGUMENTS.has(program) || program === "git") return true;',
    test: PLANTED,
    title: "runs no program of",
  },
  {
    name: "an option that starts a program asks",
    file: "src/core/rights/safe-commands.ts",
    search: "return args.every((arg) => !/^-./u.test(arg) || isListed(arg, listed));",
    replace: "return isListed === undefined || listed !== undefined;",
    test: PLANTED,
    title: "executes and writes nothing by",
  },
  {
    name: "files that git obeys ask",
    file: "src/core/rights/git-files.ts",
    search: 'return repository || names.some(isGitName) || names.at(-1) === "head";',
    replace: "return repository && names.some(isGitName);",
    test: PLANTED,
    title: "changes nothing without a yes",
  },
  {
    name: "a question shows hidden characters",
    file: "src/core/visible-text.ts",
    search: ".replace(HIDDEN, escaped)",
    replace: "",
    test: QUESTIONS,
    title: "is shown as it is in Telegram",
  },
  {
    name: "a question cannot end its code",
    file: "src/engine/approvals/question.ts",
    search: '(ticks) => "<U+0060>".repeat(ticks.length)',
    replace: "(ticks) => ticks",
    test: QUESTIONS,
    title: "is shown as it is in Telegram",
  },
  {
    name: "a question that does not fit has no yes",
    file: "src/engine/approvals/question.ts",
    search: "if (fits(whole, max)) return",
    replace: "if (whole.length + max > 0) return",
    test: QUESTIONS,
    title: "is shown as it is in Telegram",
  },
  {
    name: "a question shows validated arguments",
    file: "src/engine/approvals/question.ts",
    search: "argumentLines(judged.input ?? call.arguments)",
    replace: "argumentLines(call.arguments)",
    test: QUESTIONS,
    title: "is shown as it is in Telegram",
  },
  {
    name: "keys that are typed answer no question",
    file: "src/app/cli/chat/approval-panel.ts",
    search: "if (isKeyRelease(data) || this.#options.isTyping()) return false;",
    replace: "if (isKeyRelease(data)) return false;",
    test: PANEL,
    title: "to the input, Enter and arrows too",
  },
  {
    name: "a letter is no answer",
    file: "src/app/cli/chat/approval-panel.ts",
    search: "if (step === undefined && !isEnter && !isEscape) return false;",
    replace:
      'if (data === "y") this.#options.answer("yes");\n    if (step === undefined && !isEnter && !isEscape) return false;',
    test: PANEL,
    title: "to the input, Enter and arrows too",
  },
  {
    name: "a question that has just appeared takes no key",
    file: "src/app/cli/chat/approval-panel.ts",
    search: "return this.#now() - this.#shownAt < QUIET_MS;",
    replace: "return this.#now() - this.#shownAt < 0;",
    test: PANEL,
    title: "takes no key and shows no answers when it has just appeared",
  },
  {
    name: "Telegram makes no link previews",
    file: "src/adapters/connectors/telegram/bot-api.ts",
    search: "is_disabled: !linkPreviews",
    replace: "is_disabled: false && linkPreviews",
    test: PREVIEWS,
    title: "are not made by Telegram",
  },
  {
    name: "WhatsApp makes no link previews",
    file: "src/adapters/connectors/whatsapp/graph-api.ts",
    search: "preview_url: linkPreviews",
    replace: "preview_url: true || linkPreviews",
    test: PREVIEWS,
    title: "are not made by WhatsApp",
  },
  {
    name: "WhatsApp Web fetches no link previews",
    file: "src/adapters/connectors/whatsapp-web/open-baileys.ts",
    search: "{ ...content, linkPreview: null }",
    replace: "{ ...content }",
    test: PREVIEWS,
    title: "are never made by WhatsApp Web",
  },
  {
    name: "descriptions of MCP tools are compared at each call",
    file: "src/adapters/tools/mcp/mcp-tool.ts",
    search: "if ((await deps.changed(session)).has(tool))",
    replace: "if ((await deps.changed(session)).has(tool) && tool === undefined)",
    test: "test/mcp/client.test.ts",
    title: "does not call a tool whose description changes while the server runs",
  },
  {
    name: "a login reaches public addresses only",
    file: "src/adapters/tools/mcp/login-requests.ts",
    search: "const outgoing = { allowed: () => new AllowedAddresses(allowPrivate) };",
    replace: 'const outgoing = { allowed: () => new AllowedAddresses([...allowPrivate, "127.0.0.1"]) };',
    test: "test/mcp/login.test.ts",
    title: "does not reach a private address",
  },
  {
    name: "a login sends no header of the MCP server elsewhere",
    file: "src/adapters/tools/mcp/login-requests.ts",
    search: ".filter(([name, value]) => new Headers(own).get(name) !== value)",
    replace: ".filter(() => own !== undefined)",
    test: "test/mcp/login.test.ts",
    title: "sends no header of the MCP server to a login server",
  },
  {
    name: "an update runs no scripts of packages",
    file: "src/app/operations/update/update-program.ts",
    search: 'const how = ["--ignore-scripts", ',
    replace: "const how = [",
    test: "src/app/operations/update/update.test.ts",
    title: "changes nothing if npm finds no such version, and installs one that works",
  },
  {
    name: "a link of a backup with an absolute target is left out",
    file: `${BACKUP}/archive-links.ts`,
    search: " || posix.isAbsolute(target)) return undefined;",
    replace: ') return undefined;\n    if (posix.isAbsolute(target)) return "workspace/x";',
    test: FOREIGN,
    title: "leaves out a link with an absolute target",
  },
  {
    name: "a link of a backup does not leave the home",
    file: `${BACKUP}/archive-links.ts`,
    search: "if (at.pop() === undefined) return undefined;",
    replace: 'if (at.pop() === undefined) return "workspace/x";',
    test: FOREIGN,
    title: "leaves out a link with a target above the home",
  },
  {
    name: "a link of a backup does not leave the home through others",
    file: `${BACKUP}/archive-links.ts`,
    search: 'const target = links.get(at.join("/"));',
    replace: 'const target = at.length > 1 && at.join("/") === path ? links.get(path) : undefined;',
    test: FOREIGN,
    title: "leaves out a link with a chain",
  },
  {
    name: "a circle of links in a backup ends",
    file: `${BACKUP}/archive-links.ts`,
    search: "if (hops > MAX_HOPS || ",
    replace: 'if (hops > MAX_HOPS) return "workspace/x";\n    if (',
    test: FOREIGN,
    title: "leaves out a link with a circle",
  },
  {
    name: "a link of a backup stays among the files of agents",
    file: `${BACKUP}/archive-links.ts`,
    search: "OPEN_PARTS.includes(to) ||",
    replace: "to !== undefined ||",
    test: FOREIGN,
    title: "leaves out a link with a key of the home as target",
  },
  {
    name: "a link of a backup does not replace a file of the home",
    file: `${BACKUP}/archive-links.ts`,
    search: 'if (end === undefined || parts.length < (parts[0] === "mcp" ? 3 : 2)) return false;',
    replace: "if (end === undefined) return false;",
    test: FOREIGN,
    title: "leaves out a link in the place of",
  },
  {
    name: "a hard link in a backup is refused",
    file: `${BACKUP}/tar-read.ts`,
    search: '"2": "link" };',
    replace: '"2": "link", "1": "link" };',
    test: FOREIGN,
    title: "refuses an archive with a hard link",
  },
  {
    name: "parts of a home that no backup has are refused",
    file: `${BACKUP}/read-backup.ts`,
    search: "if (part !== DATABASE && !isCopied(part))",
    replace: "if (part === DATABASE && !isCopied(part) && path !== part)",
    test: FOREIGN,
    title: "which no backup contains",
  },
  {
    name: "unknown parts of a backup need a yes",
    file: `${BACKUP}/started-programs.ts`,
    search: "    ...(await unknownParts(at)),\n",
    replace: "    ...(await unknownParts(at)).slice(0, 0),\n",
    test: FOREIGN,
    title: "restores files that the program does not know only after a yes",
  },
  {
    name: "a backup is unpacked up to a limit",
    file: `${BACKUP}/read-backup.ts`,
    search: "if (bytes > limit) throw tooLarge(limit);",
    replace: "if (bytes < 0) throw tooLarge(limit);",
    test: FOREIGN,
    title: "stops unpacking at the limit",
  },
  {
    name: "MCP tools of a backup count as not reviewed",
    file: "src/adapters/tools/mcp/pinned-tools.ts",
    search: "if (pins?.reviewed) writePins(",
    replace: "if (pins === null) writePins(",
    test: FOREIGN,
    title: "counts tools of MCP servers as not reviewed",
  },
  {
    name: "what a backup starts needs a yes",
    file: `${BACKUP}/restore-backup.ts`,
    search: "if (programs.length === 0 || (await mayStart(programs))) return;",
    replace: "if (programs.length >= 0 || (await mayStart(programs))) return;",
    test: FOREIGN,
    title: "asks before it restores",
  },
  {
    name: "no program of a backup starts without a yes",
    file: `${BACKUP}/restore-backup.ts`,
    search: "if (programs.length === 0 || (await mayStart(programs))) return;",
    replace: "if (programs.length >= 0 || (await mayStart(programs))) return;",
    test: FOREIGN,
    title: "starts a program of the archive at the first message only if a person said yes",
  },
  {
    name: "without a terminal a yes must be a flag",
    file: "src/app/cli/confirm.ts",
    search: "if (context.json || !context.stdin().isTTY)",
    replace: "if (!context.json && !context.stdin().isTTY) return true;\n  if (context.json)",
    test: FOREIGN,
    title: "asks before it restores",
  },
  {
    name: "rules of a copied database need a yes",
    file: "src/app/cli/commands/backup-restore.ts",
    search: "if (programs.length > 0 && !(await agreed(context, programs)))",
    replace: "if (programs.length < 0 && !(await agreed(context, programs)))",
    test: FOREIGN,
    title: "asks before a copy of a database replaces one",
  },
  {
    name: "an adopted agent keeps no wide rights",
    file: "src/adapters/store/files/adopt.ts",
    search: "const counts = restoreAgent(context, { ...agent, state });",
    replace: "const counts = restoreAgent(context, state === undefined ? agent : { ...agent });",
    test: "src/adapters/store/files/adopt.test.ts",
    title: "takes over no setting that widens rights",
  },
];
