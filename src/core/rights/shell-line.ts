/**
 * Splits a shell line into its simple commands, so that each of them is judged by itself (L13). A line whose commands cannot be
 * known without running it is not split: it says why, and the gate asks. It reads the line once, and never guesses.
 */
import { type ShellToken, shellTokens } from "./shell-words.ts";

interface ShellRedirect {
  readonly access: "read" | "write";
  /** As written: relative to the directory of the command. */
  readonly path: string;
}

/** Each part is one command with its arguments. Redirects that only join streams or use `/dev/null` are left out. */
interface ShellParts {
  readonly parts: readonly (readonly string[])[];
  readonly redirects: readonly ShellRedirect[];
}

type SplitLine = ShellParts | { readonly unparsed: string };

const MAX_LINE = 32_000;
const MAX_PARTS = 100;

/** Signs that people do not see, or that look like a space. */
const INVISIBLE = /[^\P{Cc}\t\n]|[\p{Cf}\p{Cs}\p{Zl}\p{Zp}]|[^\P{Zs} ]/u;
const ASSIGNMENT = /^\w+(?:\[[^\]]*\])?\+?=/u;

const RESERVED = new Set(
  "! [[ ]] { } case coproc do done elif else esac fi for function if in select then time until while".split(" "),
);
/** Commands that run or change other commands of the line: what they do is in their arguments, in other words. */
const WRAPPERS = new Set(
  [
    ". alias batch builtin command declare enable eval exec export getopts hash let local mapfile read readarray readonly",
    "set shopt source trap typeset unalias unset",
    "at bwrap busybox caffeinate chroot chrt crontab dbus-run-session doas entr env expect fakeroot faketime firejail",
    "flock gdb ionice ltrace nice nohup nsenter parallel pkexec proxychains proxychains4 rlwrap runuser script setarch",
    "setpriv setsid start-stop-daemon stdbuf strace su sudo systemd-run taskset timeout torify torsocks toybox unbuffer",
    "unshare watch xargs xvfb-run",
  ].flatMap((names) => names.split(" ")),
);
const SHELLS = new Set("ash bash cmd csh dash fish ksh mksh powershell pwsh sh tcsh yash zsh".split(" "));
const CHANGES_DIRECTORY = new Set(["cd", "chdir", "pushd", "popd"]);
const STREAMS = new Set(["/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr"]);

export function splitShellLine(line: string): SplitLine {
  if (line.length > MAX_LINE) return { unparsed: "it is too long" };
  if (INVISIBLE.test(line)) return { unparsed: "it has signs that cannot be seen" };
  const read = shellTokens(line);
  if ("unparsed" in read) return read;
  const parts: (readonly string[])[] = [];
  const redirects: ShellRedirect[] = [];
  for (const { operator, words, targets } of simpleCommands(read.tokens)) {
    const isEmpty = words.length === 0 && targets.length === 0;
    if (isEmpty && operator !== "\n") return { unparsed: `there is no command next to ${operator}` };
    const why = words.length === 0 ? undefined : whyNotPlain(words);
    if (why !== undefined) return { unparsed: why };
    for (const target of targets) {
      const found = redirectOf(target);
      if (found === undefined) return { unparsed: "the target of a redirect is not a plain path" };
      if (found !== "stream") redirects.push(found);
    }
    if (words.length > 0) parts.push(words.map(({ text }) => text));
    if (parts.length > MAX_PARTS) return { unparsed: "it has too many commands" };
  }
  if (parts.length === 0) return { unparsed: "it has no command" };
  const moved = movesAway(parts, redirects);
  return moved === undefined ? { parts, redirects } : { unparsed: moved };
}

type Word = Extract<ShellToken, { is: "word" }>;

interface SimpleCommand {
  /** What ends it; for a part that is empty, what needed it. */
  readonly operator: string;
  readonly words: readonly Word[];
  readonly targets: readonly { readonly sign: string; readonly word: Word | undefined }[];
}

/** Cuts at the operators. `&&`, `||` and `|` may be followed by a new line, as in the shell. */
function* simpleCommands(tokens: readonly ShellToken[]): Generator<SimpleCommand> {
  let words: Word[] = [];
  let targets: { sign: string; word: Word | undefined }[] = [];
  let needed: string | undefined;
  for (let at = 0; at < tokens.length; at++) {
    const token = tokens[at] as ShellToken;
    if (token.is === "word") words.push(token);
    else if (token.is === "redirect") {
      const next = tokens[at + 1];
      const word = next?.is === "word" ? next : undefined;
      if (word) at += 1;
      targets.push({ sign: token.text, word });
    } else {
      const isBreak = token.text === "\n" && words.length === 0 && targets.length === 0;
      if (isBreak) continue;
      yield { operator: token.text, words, targets };
      needed = token.text === ";" || token.text === "&" || token.text === "\n" ? undefined : token.text;
      words = [];
      targets = [];
    }
  }
  yield { operator: needed ?? "\n", words, targets };
}

/** Why the words are not one plain command; undefined if they are. */
function whyNotPlain([command, ...rest]: readonly Word[]): string | undefined {
  if (!command) return undefined;
  const { text, glob, tilde } = command;
  if (text === "" || glob || tilde || text.startsWith("=")) return "the name of a command is not plain";
  if (ASSIGNMENT.test(text)) return "it changes the environment of a command";
  if (RESERVED.has(text)) return `it uses ${text}, which is part of the shell's language`;
  return whyWrapper([text, ...rest.map((word) => word.text)]);
}

/** Why a command hides what it runs: it runs other commands, which stand in its arguments or come from elsewhere. */
export function whyWrapper([program = "", ...args]: readonly string[]): string | undefined {
  const name = program.slice(program.lastIndexOf("/") + 1).toLowerCase();
  if (WRAPPERS.has(name)) return `${name} runs or changes other commands`;
  if (SHELLS.has(name) && !/^[^-+/]|^\/(?!dev\/|proc\/)/u.test(args[0] ?? "")) return `${name} runs other commands`;
  if (name === "find" && args.some((arg) => /^-(?:exec|ok)/u.test(arg))) return "find runs other commands";
  if (name === "printf" && args[0]?.startsWith("-v")) return "printf -v changes a variable";
  return undefined;
}

/** Undefined if its path is not plain; `stream` if it reaches no file. */
function redirectOf({ sign, word }: SimpleCommand["targets"][number]): ShellRedirect | "stream" | undefined {
  if (!word || word.text === "" || word.glob || word.tilde) return undefined;
  const { text: path } = word;
  if (sign.endsWith("&") && /^[\d-]$/u.test(path)) return "stream";
  // Shells read other words after these signs in several ways.
  if (sign.endsWith("&") || /^\/+dev\/+(?:tcp|udp)\b/u.test(path)) return undefined;
  if (STREAMS.has(path)) return "stream";
  return { access: sign === "<" ? "read" : "write", path };
}

/** After a change of the directory, a relative path means another file than the one that would be judged. */
function movesAway(parts: ShellParts["parts"], redirects: readonly ShellRedirect[]): string | undefined {
  if (!parts.some(([name = ""]) => CHANGES_DIRECTORY.has(name))) return undefined;
  const isRelative = (path: string): boolean => path.includes("/") && !path.startsWith("/");
  const runs = parts.some(([name = ""]) => isRelative(name));
  const writes = redirects.some(({ path }) => !path.startsWith("/"));
  return runs || writes ? "it changes the directory and then uses a relative path" : undefined;
}
