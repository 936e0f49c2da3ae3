/**
 * Reads the settings of a repository as git does, and says which of them can make a git command that only reads start a program. An
 * unknown setting counts as dangerous.
 */
export interface GitSetting {
  /** Section and name in lower case, with the part between them as it is: `filter.LFS.clean`. */
  readonly key: string;
  /** A name without a value means true. */
  readonly value: string;
}

/** Undefined if git refuses the text, or if it has a sign that ends a text for git. */
export function readGitSettings(text: string): readonly GitSetting[] | undefined {
  if (text.includes("\0")) return undefined;
  const source = text.replace(/^\uFEFF/u, "").replaceAll("\r\n", "\n");
  const found: GitSetting[] = [];
  let section = "";
  let at = 0;
  while (at < source.length) {
    const sign = source[at] ?? "";
    if (isSpace(sign)) at += 1;
    else if (sign === "#" || sign === ";") at = lineEnd(source, at);
    else if (sign === "[") {
      const read = sectionAt(source, at);
      if (!read) return undefined;
      section = read.name;
      at = read.end;
    } else {
      const read = settingAt(source, at);
      if (!read) return undefined;
      found.push({ key: section === "" ? read.name : `${section}.${read.name}`, value: read.value });
      at = read.end;
    }
  }
  return found;
}

const isSpace = (sign: string): boolean => sign !== "" && " \t\n\r".includes(sign);

function lineEnd(text: string, from: number): number {
  const at = text.indexOf("\n", from);
  return at === -1 ? text.length : at;
}

interface Read {
  readonly name: string;
  readonly end: number;
}

const SECTION = /\[([A-Za-z0-9.-]+)(?:[ \t\r]+"((?:[^"\\\n]|\\[^\n])*)")?\]/uy;

function sectionAt(text: string, at: number): Read | undefined {
  SECTION.lastIndex = at;
  const match = SECTION.exec(text);
  if (!match) return undefined;
  const [whole, section = "", part] = match;
  const name = section.toLowerCase();
  return {
    name: part === undefined ? name : `${name}.${part.replaceAll(/\\(.)/gu, "$1")}`,
    end: at + whole.length,
  };
}

const NAME = /([A-Za-z][A-Za-z0-9-]*)[ \t]*/uy;

function settingAt(text: string, at: number): (Read & { readonly value: string }) | undefined {
  NAME.lastIndex = at;
  const match = NAME.exec(text);
  if (!match) return undefined;
  const name = (match[1] ?? "").toLowerCase();
  const after = at + match[0].length;
  if (after >= text.length || text[after] === "\n") return { name, value: "true", end: after };
  const read = text[after] === "=" ? valueAt(text, after + 1) : undefined;
  return read && { name, ...read };
}

const ESCAPES: Readonly<Record<string, string>> = { t: "\t", b: "\b", n: "\n", "\\": "\\", '"': '"', "\n": "" };

/** A value ends with its line, unless the line ends with `\`. */
function valueAt(text: string, from: number): { readonly value: string; readonly end: number } | undefined {
  let value = "";
  let spaces = "";
  let isQuoted = false;
  let at = from;
  for (; at < text.length && text[at] !== "\n"; at += 1) {
    const sign = text[at] ?? "";
    if (!isQuoted && isSpace(sign)) {
      if (value !== "") spaces += " ";
    } else if (!isQuoted && (sign === "#" || sign === ";")) {
      return { value, end: lineEnd(text, at) };
    } else if (sign === '"') isQuoted = !isQuoted;
    else {
      if (sign === "\\") at += 1;
      const plain = sign === "\\" ? ESCAPES[text[at] ?? "\n"] : sign;
      if (plain === undefined) return undefined;
      value += spaces + plain;
      spaces = "";
    }
  }
  return isQuoted ? undefined : { value, end: at };
}

/** The power of a setting over a git command that only reads. */
type GitSettingPower =
  | { readonly is: "harmless" }
  /** It starts a program, unless the command gets these settings instead. */
  | { readonly is: "overridden"; readonly by: readonly GitSetting[] }
  | { readonly is: "starts" };

const words = (...lines: readonly string[]): ReadonlySet<string> => new Set(lines.flatMap((line) => line.split(" ")));

/** No setting of these sections makes a command that reads start a program. */
const HARMLESS_SECTIONS = words(
  "advice alias apply author blame branch clean color column commit committer credential fetch format gc gitflow gui help http",
  "index init lfs mergetool notes pack pager pull push rebase receive rerere stash status submodule svn tag url user",
);
/** Single settings of other sections. The programs of `core` need a connection, which reading makes only in a partial clone. */
const HARMLESS = words(
  "core.abbrev core.askpass core.autocrlf core.bare core.checkstat core.commentchar core.compression core.editor core.eol",
  "core.excludesfile core.filemode core.gitproxy core.ignorecase core.ignorestat core.logallrefupdates core.longpaths core.pager",
  "core.precomposeunicode core.preloadindex core.protecthfs core.protectntfs core.quotepath core.repositoryformatversion",
  "core.safecrlf core.sharedrepository core.sparsecheckout core.sparsecheckoutcone core.splitindex core.sshcommand core.symlinks",
  "core.trustctime core.untrackedcache core.whitespace core.worktree",
  "diff.algorithm diff.colormoved diff.colormovedws diff.context diff.indentheuristic diff.interhunkcontext diff.mnemonicprefix",
  "diff.noprefix diff.relative diff.renamelimit diff.renames diff.statgraphwidth diff.submodule diff.suppressblankempty",
  "diff.*.binary diff.*.cachetextconv diff.*.funcname diff.*.wordregex diff.*.xfuncname",
  "extensions.compatobjectformat extensions.noop extensions.objectformat extensions.preciousobjects extensions.refstorage",
  "extensions.relativeworktrees extensions.worktreeconfig",
  "log.abbrevcommit log.date log.decorate log.follow log.mailmap log.showroot",
  "merge.branchdesc merge.conflictstyle merge.ff merge.log merge.renames merge.stat merge.tool",
  "remote.pushdefault remote.*.fetch remote.*.gh-resolved remote.*.mirror remote.*.prune remote.*.prunetags remote.*.push",
  "remote.*.pushurl remote.*.skipdefaultupdate remote.*.skipfetchall remote.*.tagopt remote.*.url",
);
/** The engine's settings for every reading command say something else. */
const ALWAYS_OVERRIDDEN = words(
  "core.attributesfile core.fsmonitor core.hookspath gpg.program gpg.*.program log.showsignature",
);
/** These values start nothing. */
const BOOLEANS = words("true false yes no on off 1 0");
const FILTERS = words("clean smudge process required");

export function gitSettingPower({ key, value }: GitSetting): GitSettingPower {
  const [first, last] = [key.indexOf("."), key.lastIndexOf(".")];
  const [section, name] = [key.slice(0, first), key.slice(last + 1)];
  const plain = first === last ? key : `${section}.*.${name}`;
  if (HARMLESS_SECTIONS.has(section) || HARMLESS.has(plain)) return { is: "harmless" };
  if (plain === "core.fsmonitor" && BOOLEANS.has(value)) return { is: "harmless" };
  if (ALWAYS_OVERRIDDEN.has(plain)) return { is: "overridden", by: [] };
  if (plain === "diff.*.textconv") return { is: "overridden", by: [{ key, value: "cat" }] };
  if (section !== "filter" || first === last || !FILTERS.has(name)) return { is: "starts" };
  const off = ["clean", "smudge", "process"].map((one) => ({ key: `${key.slice(0, last)}.${one}`, value: "" }));
  return { is: "overridden", by: [...off, { key: `${key.slice(0, last)}.required`, value: "false" }] };
}
