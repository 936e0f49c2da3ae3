/**
 * The table of commands that only read, so that a sandbox may run them without a question. If a program can also write a file or
 * run a program, the table lists the options it may be given; every other option asks. Programs that obey files they find are missing
 * on purpose: `git status` runs what a planted `.git/config` names (`core.fsmonitor`, `filter.*.clean`), and no option prevents that.
 */

/** None of their options and arguments writes a file or runs a program. */
const ANY_ARGUMENTS = new Set(
  [
    "basename cal cat cksum cmp comm cut df dirname du echo egrep expand expr false fgrep fmt fold grep head id jq join ls",
    "md5sum nl nproc od paste printenv pwd readlink realpath rev seq sha1sum sha256sum stat strings tac tail tr true tsort",
    "uname unexpand wc which whoami",
  ].flatMap((names) => names.split(" ")),
);

interface Options {
  /** Letters that may be joined. In the word of one before `:`, the rest is its value. */
  readonly letters?: string;
  /** Long options without their dashes. */
  readonly words?: string;
  /** The words have one dash, and letters cannot be joined. */
  readonly oneDash?: true;
}

const TEST: Options = {
  // Without -v and -R: the shell executes a substitution in the name of the variable.
  words: "a b c d e f g h k n o p r s t u w x z G L N O S eq ne lt le gt ge nt ot ef",
  oneDash: true,
};

const LISTED: Readonly<Record<string, Options>> = {
  "[": TEST,
  test: TEST,
  date: { letters: "uRI:d:r:", words: "utc universal date iso-8601 rfc-3339 rfc-email reference" },
  diff: {
    letters: "abBcdeEinNpqrstTuwyC:U:W:x:I:F:X:S:",
    words: [
      "brief recursive unified context side-by-side ignore-case ignore-all-space ignore-space-change ignore-blank-lines",
      "new-file text exclude report-identical-files width color minimal suppress-common-lines strip-trailing-cr normal",
    ].join(" "),
  },
  file: { letters: "bhikLNrs0", words: "brief mime mime-type mime-encoding dereference no-dereference extension raw" },
  find: {
    words: [
      "H L P O1 O2 O3 a amin and anewer atime cmin cnewer ctime daystart depth empty executable false follow fstype gid group",
      "ignore_readdir_race ilname iname inum ipath iregex iwholename links lname ls maxdepth mindepth mmin mount mtime name",
      "newer newerat newerct newermt nogroup noleaf not nouser o or path perm print print0 printf prune quit readable regex",
      "regextype samefile size true type uid used user wholename writable xdev xtype",
    ].join(" "),
    oneDash: true,
  },
  rg: {
    letters: "abcFHhiIlLnNoPqsSUuvVwxpA:B:C:e:f:g:j:m:M:r:t:T:",
    words: [
      "after-context before-context case-sensitive color column context count count-matches crlf files files-with-matches",
      "files-without-match fixed-strings follow glob heading hidden iglob ignore-case invert-match json line-number line-regexp",
      "max-columns max-count max-depth max-filesize multiline multiline-dotall no-config no-filename no-heading no-ignore",
      "no-line-number no-messages null only-matching passthru pcre2 pretty quiet regexp replace smart-case sort sortr stats",
      "text trim type type-list type-not version vimgrep with-filename word-regexp",
    ].join(" "),
  },
  sort: {
    letters: "bcCdfghiMmnRrsuVzk:t:S:",
    words: [
      "ignore-leading-blanks dictionary-order ignore-case general-numeric-sort human-numeric-sort month-sort numeric-sort",
      "random-sort reverse version-sort check key merge stable field-separator unique zero-terminated parallel",
    ].join(" "),
  },
  tree: {
    letters: "adfxinpsughDFCLJXPI",
    words: "noreport charset filelimit dirsfirst prune matchdirs du si inodes sort",
  },
};

/** Whether one simple command only reads. */
export function isSafeCommand([program = "", ...args]: readonly string[]): boolean {
  if (ANY_ARGUMENTS.has(program)) return true;
  if (program === "printf") return !args[0]?.startsWith("-v");
  if (!Object.hasOwn(LISTED, program)) return false;
  const listed = LISTED[program] as Options;
  // Every word is looked at: `--` or a word that looks like a value may be the value of another option.
  return args.every((arg) => !/^-./u.test(arg) || isListed(arg, listed));
}

/** Without abbreviations, which differ between versions. */
function isListed(arg: string, { letters = "", words = "", oneDash }: Options): boolean {
  const names = words.split(" ");
  if (oneDash) return names.includes(arg.slice(1)) || /^-\d+[a-zA-Z]?$/u.test(arg);
  if (arg.startsWith("--")) return arg === "--" || names.includes(arg.slice(2).split("=", 1)[0] ?? "");
  for (const letter of arg.slice(1)) {
    const at = letter === ":" ? -1 : letters.indexOf(letter);
    if (at === -1) return false;
    if (letters[at + 1] === ":") return true;
  }
  return true;
}
