/**
 * Commands that only read, so that a sandbox may run them without a question. An option that writes a file or runs a program is
 * not among them. The list is short on purpose: what is missing asks once, and "always" stores a rule.
 */

interface Safe {
  /** Options that make it do more than read, also as a beginning (`--output=x`). */
  readonly not?: readonly string[];
  /** The only first arguments with which it reads. */
  readonly only?: readonly string[];
}

const READS: readonly string[] = [
  "[ basename cal cat cksum cmp comm cut df diff dirname du echo egrep expand expr false fgrep fmt fold",
  "grep head id jq join ls md5sum nl nproc od paste printenv printf pwd readlink realpath rev seq sha1sum sha256sum",
  "stat strings tac tail test tr true tsort uname unexpand wc which whoami",
].flatMap((names) => names.split(" "));

const GIT_NOT = ["--output", "--ext-diff", "--textconv", "-O", "--open-files-in-pager", "--exec"];

const LIMITED: Readonly<Record<string, Safe>> = {
  date: { not: ["-s", "--set"] },
  file: { not: ["-C", "--compile"] },
  find: { not: ["-delete", "-exec", "-ok", "-fprint", "-fls"] },
  git: { only: ["status", "log", "diff", "show", "blame", "rev-parse", "ls-files", "describe"], not: GIT_NOT },
  rg: { not: ["--pre", "--hostname-bin", "--search-zip", "-z"] },
  sort: { not: ["-o", "--output", "--compress-program", "-T", "--temporary-directory"] },
  tree: { not: ["-o"] },
};

/** Whether one simple command only reads, whatever its other arguments are. */
export function isSafeCommand(argv: readonly string[]): boolean {
  const [program = "", ...args] = argv;
  if (READS.includes(program)) return program !== "printf" || !args[0]?.startsWith("-v");
  if (!Object.hasOwn(LIMITED, program)) return false;
  const { not = [], only } = LIMITED[program] as Safe;
  if (only && !only.includes(args[0] ?? "")) return false;
  return !args.some((arg) => not.some((option) => isOption(arg, option)));
}

/** Long options may be shortened (`--out`), short ones joined (`-no`). */
function isOption(arg: string, option: string): boolean {
  if (!arg.startsWith("-")) return false;
  if (option.length === 2) return !arg.startsWith("--") && arg.slice(1).includes(option.slice(1));
  if (!option.startsWith("--")) return arg.startsWith(option);
  const name = arg.split("=", 1)[0] ?? "";
  return name.length > 2 && (option.startsWith(name) || name.startsWith(option));
}
