/**
 * The exported functions that read a text, each with the arguments it needs besides the text, and the exceptions with their
 * reasons. A new function appears here by itself; if it needs more arguments, the test asks for them. Functions that get
 * their text inside an object are listed at the end.
 */
import { AnswerCollector } from "../../src/adapters/models/openai-completions/collect-answer.ts";
import { eventReader } from "../../src/adapters/models/sse.ts";
import { StreamedText } from "../../src/app/gateway/openai/streamed-text.ts";
import type { ModelMessage } from "../../src/core/ports/model.ts";
import { textSize } from "../../src/core/text-limits.ts";
import { carriedAlong } from "../../src/engine/context/compaction/carried-along.ts";
import { estimateMessages } from "../../src/engine/context/compaction/estimate-tokens.ts";
import { conversationChunks } from "../../src/engine/context/compaction/serialise.ts";
import { callEntry, wrapUserMessage } from "../../src/engine/context/entries.ts";
import { buildCollectPrompt } from "../../src/engine/inbox/collect-prompt.ts";
import { fillTemplate } from "../../src/engine/triggers/webhooks/fill-template.ts";
import type { FoundFunction } from "./find-text-functions.ts";

/** Parameters that are names of this machine's files: their length is limited by the system. */
const PATHS = ["file", "path", "home", "directory", "workspace", "databasePath", "root", "written", "said"];

const CONFIGURED = "a name of the configuration or of this program";
const ERRORS = "puts a name into an error, and reads nothing of it";
const STORED = "JSON that this program wrote; its texts were limited before";
const COMMAND = "prints what a command shows, in a process of its own";
const FILES = "a whole file, read by a command or by a rebuild before the engine starts";
const NETWORK = "opens a connection to an address of the configuration";

/** Functions whose first parameter is not a text from outside, or whose text is short, and why. */
const EXCEPTIONS: Readonly<Record<string, string>> = {
  "src/adapters/models/catalogue.ts#catalogueOf": CONFIGURED,
  "src/adapters/models/catalogue.ts#inCatalogue": CONFIGURED,
  "src/adapters/models/detect.ts#listensOn": NETWORK,
  "src/adapters/sandbox/bwrap-sandbox.ts#hasSizes": "starts a program that the configuration names",
  "src/adapters/tools/mcp/input-asked.ts#inputAsked": CONFIGURED,
  "src/adapters/models/router-errors.ts#failure": ERRORS,
  "src/adapters/models/router-errors.ts#unknownModel": ERRORS,
  "src/adapters/models/router-errors.ts#noKey": ERRORS,
  "src/adapters/models/router-errors.ts#limitReached": ERRORS,
  "src/adapters/models/router-errors.ts#keysRejected": ERRORS,
  "src/app/cli/chat/attachments.ts#attachmentsOf": COMMAND,
  "src/app/cli/confirm.ts#askYesNo": "asks a person at the terminal",
  "src/adapters/store/copy/postgres-end.ts#postgresEnd": NETWORK,
  "src/adapters/connectors/accounts/supervise.ts#supervise": CONFIGURED,
  "src/adapters/connectors/chat/fetch-files.ts#downloadUrl":
    "opens a connection to an address that the channel's own server names",
  "src/adapters/connectors/webhook/signed-post.ts#signatureOf": CONFIGURED,
  "src/adapters/connectors/whatsapp/receive-events.ts#signatureOf": CONFIGURED,
  "src/config/connector-kinds.ts#kindOfAccount": CONFIGURED,
  "src/adapters/connectors/whatsapp-web/stored-auth.ts#authPrefix": CONFIGURED,
  "src/core/qr-code.ts#qrRows": "a code of a login, at most 858 bytes",
  "src/adapters/system/fast-imports.ts#ownFile": CONFIGURED,
  "src/app/client/ask-object.ts#askObject": "hands the text to an agent and reads nothing of it",
  "src/app/cli/choose-action.ts#actionsOf": CONFIGURED,
  "src/app/cli/choose-action.ts#chooseAction": CONFIGURED,
  "src/app/cli/choose-action.ts#loadCommand": "loads the file of a command; meantCommand reads the text",
  "src/app/cli/help-text.ts#commandHelp": CONFIGURED,
  "src/app/cli/help-text.ts#actionHelp": CONFIGURED,
  "src/app/library/ai-sdk-tool.ts#toolOf": CONFIGURED,
  "src/app/gateway/auth/minting-bounds.ts#assertMayMint": "the id of a token that this program made",
  "src/app/gateway/auth/minting-bounds.ts#lineageOf": "the id of a token that this program made",
  "src/app/gateway/auth/request-policy.ts#assertSecureBind": CONFIGURED,
  "src/adapters/store/rows.ts#storedJson": STORED,
  "src/core/history/entry.ts#readEntry": STORED,
  "src/app/cli/plain-text.ts#oneLine": COMMAND,
  "src/app/cli/here.ts#here": COMMAND,
  "src/app/cli/number-flag.ts#numberFlag": COMMAND,
  "src/core/closest-word.ts#editDistance": "compares two words of the configuration; closestWord limits their length",
  "src/core/agent/person.ts#keysOfPerson": CONFIGURED,
  "src/core/budget/budget.ts#reachedText": CONFIGURED,
  "src/engine/context/transcript/archive-transcript.ts#archiveTranscript": FILES,
  "src/engine/context/transcript/read-transcript.ts#readTranscript": FILES,
  "src/adapters/store/files/mirror-job-runs.ts#slotsIn": FILES,
  "src/engine/rights/denied-text.ts#deniedText": ERRORS,
  "src/engine/triggers/webhooks/seen-calls.ts#seenOf": CONFIGURED,
  "src/engine/triggers/cron/job-changes.ts#addedJob": "an id that this program made",
};

/** Why a function is not measured; undefined if it is. */
export const exceptionOf = ({ key, parameter }: FoundFunction): string | undefined =>
  EXCEPTIONS[key] ?? (PATHS.includes(parameter) ? "a path of this machine" : undefined);

export const EXCEPTION_KEYS: readonly string[] = Object.keys(EXCEPTIONS);

const CARRIED = { readFiles: ["a"], modifiedFiles: ["b"], identifiers: ["c".repeat(40)], references: ["d/e"] };

const CONFIG_FILE = { length: 100_000, why: "a name or a file that the owner writes" } as const;
const TASK_FILE = { length: 256 * 1_024, why: "files of the workspace are read up to 256 KiB" } as const;
const ADDRESS = {
  length: 100_000,
  why: "addresses are limited where messages enter, and keys where they are read",
} as const;

/** Functions that get shorter texts than a message may be, and what limits them. Default: 1,000,000. */
const LIMITS: Readonly<Record<string, { readonly length: number; readonly why: string }>> = {
  "src/adapters/models/overflow.ts#saysTooLong": { length: 1_000, why: "the text of an error is cut before" },
  "src/adapters/models/provider-error.ts#parse": { length: 500_000, why: "an event of a stream is not longer" },
  "src/adapters/store/files/read-agent-files.ts#parseStateFile": CONFIG_FILE,
  "src/adapters/store/files/read-agent-files.ts#parsePendingFile": CONFIG_FILE,
  "src/adapters/store/files/read-agent-files.ts#parseJson": CONFIG_FILE,
  "src/app/gateway/auth/token-file.ts#parseTokens": CONFIG_FILE,
  "src/core/run/watchdog-note.ts#parseWatchdogNote": CONFIG_FILE,
  "src/config/json5-tokens.ts#tokenise": CONFIG_FILE,
  "src/config/locate.ts#locatorFor": CONFIG_FILE,
  "src/core/delivery/target-key.ts#targetKeysOf": CONFIG_FILE,
  "src/core/agent/session-key.ts#permanentKey": ADDRESS,
  "src/core/agent/key-shape.ts#readSessionKey": ADDRESS,
  "src/core/agent/key-shape.ts#sessionKeyCandidates": ADDRESS,
  "src/core/agent/session-key.ts#exactPart": ADDRESS,
  "src/core/agent/session-key.ts#keyPart": ADDRESS,
  "src/core/agent/session-key.ts#readPart": ADDRESS,
  "src/app/gateway/auth/request-policy.ts#tokenInUrl": { length: 8_192, why: "a longer URL is refused" },
  "src/engine/triggers/files/front-matter.ts#readFrontMatter": TASK_FILE,
  "src/engine/triggers/files/task-file.ts#readCronTask": TASK_FILE,
  "src/engine/triggers/heartbeat/heartbeat-tasks.ts#isHeartbeatContentEffectivelyEmpty": TASK_FILE,
  "src/engine/triggers/webhooks/fill-template.ts#fillTemplate": CONFIG_FILE,
  "AnswerCollector, in pieces": { length: 64_000, why: "reads one chunk of the network at a time" },
  "eventReader, in pieces": { length: 64_000, why: "reads one chunk of the network at a time" },
  "fillTemplate, the body": { length: 256 * 1_024, why: "a longer call of a webhook is refused" },
};

export const limitOf = (name: string): number => LIMITS[name]?.length ?? 1_000_000;
export const LIMIT_KEYS: readonly string[] = Object.keys(LIMITS);

/** The arguments after the text. Default: none. */
const MORE_ARGUMENTS: Readonly<Record<string, readonly unknown[]>> = {
  "src/app/operations/backup/stored-programs.ts#ruleLines": [["exec(git *)"]],
  "src/app/operations/backup/stored-programs.ts#execLine": [{ execHost: "gateway" }],
  "src/core/known-name.ts#suggestName": [["model", "tools"]],
  "src/engine/triggers/cron/read-time.ts#leadingTime": [{ now: 0, zone: "UTC" }],
  "src/core/known-keys.ts#unknownKeyText": [["model", "tools"]],
  "src/adapters/tools/exec/output-secrets.ts#secretSpans": [/#/g, true, { KEY: "aaaaaaab", OTHER: "abab" }],
  "src/adapters/tools/mcp/input-asked.ts#forgetInput": [{ inputs: [], now: 0 }, "ref"],
  "src/core/rights/git-files.ts#namesGitFile": [{ kind: "path", path: "/work/.git/config" }],
  "src/core/rights/exec-settings.ts#isNode": ["mars pid 7"],
  "src/core/rights/standing-yes.ts#standingYes": ["3fa9c1d2e4f5a6b7"],
  "src/app/gateway/openai/resolve-conversation.ts#modelNotFound": [["main", "work"]],
  "src/config/parse-config.ts#notesAt": ["file", [{ path: ["a"], message: "m" }]],
  "src/adapters/connectors/whatsapp/message-body.ts#choicesBody": [[{ label: "Yes", token: "y" }]],
  "src/adapters/connectors/whatsapp/message-body.ts#textBody": ["plain"],
  "src/adapters/connectors/whatsapp/message-body.ts#mediaKindOf": [10],
  "src/adapters/connectors/whatsapp/message-body.ts#reactionBody": ["👍"],
  "src/core/people/person.ts#groupOf": ["group", "42"],
  "src/core/people/person.ts#appUser": ["ann"],
  "src/core/known-name.ts#unknownName": ["wrok", ["main", "work"]],
  "src/app/operations/service/service-files.ts#environmentText": [{ KEY: "value" }],
  "src/config/set-value.ts#keyIn": [[], 0, "name"],
  "src/config/set-value.ts#withValue": [["gateway", "port"], "1"],
  "src/adapters/system/json-log.ts#maskSecrets": [],
  "src/app/cli/argument-kinds.ts#argumentKind": [0],
  "src/app/cli/other-names.ts#meantCommand": [["agents", "config"]],
  "src/app/cli/known-secrets.ts#withoutSecrets": [["a secret of this home"]],
  "src/engine/people/open-question.ts#choiceButtons": [{ choices: ["Tea", "Coffee"], askedAt: 0 }],
  "src/adapters/models/offline-phrases.ts#phraseIn": [["read", "cron", "start_background_agent", "write"]],
  "src/adapters/models/offline-phrases.ts#namedTool": [
    [{ name: "weather", description: "", parameters: { properties: { city: { type: "string" } } } }],
  ],
  "src/core/typed-name.ts#severalNamed": [[{ id: "k3x9", name: "Research" }]],
  "src/adapters/models/overflow.ts#saysTooLong": ["openai"],
  "src/core/search/rank.ts#rankText": [[{ term: { words: ["a", "b"], prefix: false, required: false }, weight: 1 }], 0],
  "src/core/search/rank.ts#snippetOf": [{ matches: [{ start: 0, end: 1, weight: 1 }] }],
  "src/adapters/models/redact-keys.ts#redactKeys": ["sk-secret"],
  "src/adapters/tools/files/apply-hunks.ts#patched": [[{ before: ["a", "b"], now: ["c"] }], "note.txt"],
  "src/adapters/tools/agents/long-text.ts#isMarkedName": ["agent:main:main"],
  "src/adapters/tools/schedules/job-effects.ts#effectOnJob": [
    { id: "j" },
    { agent: { sessionKey: "agent:main:main", descriptor: { type: "user" } } },
  ],
  "src/core/line-diff.ts#unifiedDiff": ["one\ntwo\nthree\n", "note.txt"],
  "src/adapters/tools/memory/note-change.ts#changedNote": [{ text: "new", replaces: "old" }, "MEMORY.md"],
  "src/adapters/tools/memory/note-change.ts#notePathOf": [1_750_000_000_000, "UTC"],
  "src/core/history/file-block.ts#fileBlock": [{ id: "f", name: "n", mimeType: "text/plain", size: 1, as: "text" }],
  "src/app/cli/chat/highlight.ts#highlight": ["ts", { hasColor: false }],
  "src/app/gateway/auth/token.ts#secretOf": [Buffer.alloc(9), Buffer.alloc(32)],
  "src/app/gateway/auth/login-records.ts#loginSecret": ["nonce"],
  "src/core/closest-word.ts#closestWord": [["gateway", "models"]],
  "src/config/live-keys.ts#isUnder": ["gateway"],
  "src/config/locate.ts#lineAndColumn": [1_000_000],
  "src/core/agent/key-shape.ts#sessionKeyCandidates": [{ agentId: "main", mainKey: "main" }],
  "src/core/agent/session-key.ts#withThread": ["t"],
  "src/core/agent/shard-address.ts#shardAddress": [["other"]],
  "src/core/cut-text.ts#cutText": [2_000],
  "src/core/cut-text.ts#shortened": [2_000],
  "src/engine/triggers/cron/job-rights.ts#effectsOfJob": [{ payload: { kind: "systemEvent", text: "x" } }],
  "src/engine/triggers/webhooks/check-signature.ts#sameText": ["other"],
  "src/core/rights/call-text.ts#commandEffects": [{ workspace: "/workspace", home: "/home/you" }],
  "src/core/trim-chars.ts#trimChars": ["-/ "],
  "src/core/trim-chars.ts#trimCharsEnd": ["-/ "],
  "src/core/people/person.ts#accountOf": ["id"],
  "src/engine/context/compaction/carried-along.ts#carriedText": [CARRIED],
  "src/engine/context/compaction/measures.ts#cutText": [2_000],
  "src/engine/context/compaction/summary-prompt.ts#isSummary": ["history"],
  "src/engine/context/entries.ts#promptEntry": [[], 0, "r"],
  "src/engine/context/entries.ts#wrapSystemMessage": ["origin"],
  "src/engine/inbox/user-input.ts#parseResetCommand": [["/new", "/reset"], ["@rook"]],
  "src/engine/inbox/user-input.ts#withoutMention": [["@rook"]],
  "src/engine/commands/read-chat-command.ts#readChatCommand": [{ resetTriggers: ["/new"], names: ["@rook"] }],
  "src/engine/commands/read-chat-command.ts#readTyped": [{ resetTriggers: ["/new"], names: ["@rook"] }],
  "src/engine/outbox/backoff.ts#backoffMs": [3],
  "src/engine/outbox/split-text.ts#splitText": [4_096],
  "src/engine/triggers/files/task-file.ts#readHeartbeatTask": ["text"],
  "src/engine/triggers/heartbeat/last-heartbeat.ts#sameWords": ["all is well"],
  "src/engine/triggers/heartbeat/strip-heartbeat-token.ts#stripHeartbeatToken": [{ mode: "heartbeat" }],
  "src/engine/triggers/webhooks/fill-template.ts#fillTemplate": [{ body: { a: "b" }, name: "hook" }],
};

export const argumentsOf = ({ key }: FoundFunction): readonly unknown[] => MORE_ARGUMENTS[key] ?? [];
export const ARGUMENT_KEYS: readonly string[] = Object.keys(MORE_ARGUMENTS);

export interface TextCase {
  readonly name: string;
  run(text: string): unknown;
}

const message = (role: ModelMessage["role"], text: string): ModelMessage => ({
  role,
  content: [{ type: "text", text }],
});
const encoder = new TextEncoder();
/** How a server or a model hands over a text. */
const pieces = (text: string, length: number): readonly string[] =>
  Array.from({ length: Math.ceil(text.length / length) }, (_, n) => text.slice(n * length, (n + 1) * length));

/** Functions that get their text inside of something else, or in pieces. */
export const MORE_CASES: readonly TextCase[] = [
  { name: "carriedAlong", run: (text) => carriedAlong([message("user", text), message("tool", text)]) },
  {
    name: "conversationChunks",
    run: (text) => conversationChunks([message("user", text), message("tool", text)], 80_000),
  },
  { name: "estimateMessages", run: (text) => estimateMessages([message("user", text)]) },
  {
    name: "callEntry",
    run: (text) =>
      callEntry(
        { callId: "c", name: "t", arguments: {}, replay: "safe", state: "asked" },
        { content: message("tool", text).content },
        0,
        "r" as never,
      ),
  },
  {
    name: "wrapUserMessage, the file",
    run: (text) => wrapUserMessage("", [{ id: "f", name: text, mimeType: text, size: 1, path: "p" } as never]),
  },
  { name: "buildCollectPrompt", run: (text) => buildCollectPrompt({ title: "t", texts: [text, text] }) },
  { name: "fillTemplate, the body", run: (text) => fillTemplate("{{a}} {{body}}", { body: { a: text }, name: "n" }) },
  { name: "textSize", run: (text) => textSize({ text, list: [text] }) },
  {
    name: "eventReader, in pieces",
    run(text) {
      const reader = eventReader(() => {});
      for (const piece of pieces(text, 1_000)) reader.take(encoder.encode(piece));
      reader.end();
    },
  },
  {
    name: "AnswerCollector, in pieces",
    run(text) {
      const collector = new AnswerCollector({ input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }, () => {});
      for (const content of pieces(text, 1_000)) collector.take(JSON.stringify({ choices: [{ delta: { content } }] }));
      return collector.answer();
    },
  },
  {
    name: "StreamedText, started again",
    run(text) {
      const streamed = new StreamedText();
      const position = { agentId: "a", runId: "r", attempt: 1, step: 1, seq: 1 } as never as object;
      const say = (): void => {
        for (const piece of pieces(text, 16)) {
          streamed.onEvent({ ...position, type: "delta", stream: "text", text: piece } as never);
        }
      };
      say();
      streamed.onEvent({ ...position, type: "restart", attempt: 2 } as never);
      say();
      streamed.onEnd(text);
    },
  },
];
