/** The guards of questions and of "always": what a yes covers, what is stored, and where there is no yes. */
import type { Guard } from "./guards.ts";

const ALWAYS = "test/e2e/always.test.ts";
const APPROVALS = "src/engine/approvals/approvals.test.ts";
const MCP_TOOL = "src/adapters/tools/mcp/mcp-tool.test.ts";
const ANSWERS = "src/app/cli/answers.test.ts";
const QUESTIONS = "test/e2e/questions.test.ts";
const DIGEST = "src/engine/approvals/call-digest.ts";
const RULES = "src/engine/approvals/always-rules.ts";
const COMMAND = "src/app/cli/commands/approvals.ts";
const COVERED = "const around = { definition, directory, environment: environment?.toSorted(), files, preview };";

export const APPROVAL_GUARDS: readonly Guard[] = [
  {
    name: "a yes covers the script that a command names",
    file: "src/adapters/workspace/call-surroundings.ts",
    search: "if (hash !== undefined) files[name] = hash;",
    replace: 'if (hash === "") files[name] = hash;',
    test: ALWAYS,
    title: "allows exactly that call, until its script changes",
  },
  {
    name: "a yes covers the arguments of a call",
    file: DIGEST,
    search: "const whole = { tool: name, arguments: given, ...around };",
    replace: "const whole = { tool: name, arguments: typeof given, ...around };",
    test: ALWAYS,
    title: "allows an inline program without allowing its interpreter",
  },
  {
    name: "a yes covers the contents of files",
    file: DIGEST,
    search: COVERED,
    replace: "const around = { definition, directory, environment: environment?.toSorted(), preview };",
    test: APPROVALS,
    title: "asks again when a script that it names has changed",
  },
  {
    name: "a yes covers the directory",
    file: DIGEST,
    search: COVERED,
    replace: "const around = { definition, environment: environment?.toSorted(), files, preview };",
    test: APPROVALS,
    title: "asks again when its directory has changed",
  },
  {
    name: "a yes covers the names of the environment",
    file: DIGEST,
    search: COVERED,
    replace: "const around = { definition, directory, files, preview };",
    test: APPROVALS,
    title: "asks again when the names of its environment has changed",
  },
  {
    name: "a yes covers the definition of the tool",
    file: DIGEST,
    search: COVERED,
    replace: "const around = { directory, environment: environment?.toSorted(), files, preview };",
    test: APPROVALS,
    title: "asks again when its tool has changed",
  },
  {
    name: "always stores exactly one call",
    file: RULES,
    search: 'scope === "call" ? standingYes(tool, digest) : patternOf(own)',
    replace: 'scope === "call" && digest === "" ? standingYes(tool, digest) : (patternOf(own) ?? tool)',
    test: APPROVALS,
    title: "to exactly this call is stored for its person",
  },
  {
    name: "always stores no pattern for a command",
    file: RULES,
    search: "if (allow === undefined) throw noRule(UNNAMED, person);",
    replace: "if (allow === undefined) return { person, allow: tool };",
    test: APPROVALS,
    title: "to a pattern is refused if there is none",
  },
  {
    name: "a yes for always answers no denial",
    file: "src/core/rights/decide.ts",
    search: 'yes !== undefined && asked.verdict === "ask"',
    replace: "yes !== undefined",
    test: APPROVALS,
    title: "never allows what the rights of now deny",
  },
  {
    name: "arguments of an MCP tool follow its pinned schema",
    file: "src/adapters/tools/mcp/pinned-input.ts",
    search: "if (read.success) return anything.parse(read.data);",
    replace: "if (read.success || given) return given;",
    test: MCP_TOOL,
    title: "takes only arguments of its pinned schema",
  },
  {
    name: "arguments of an MCP tool have the order of an unreadable schema",
    file: "src/adapters/tools/mcp/pinned-input.ts",
    search: "return { ...Object.fromEntries(known), ...given };",
    replace: "return known.length < 0 ? {} : given;",
    test: MCP_TOOL,
    title: "takes only arguments of its pinned schema",
  },
  {
    name: "a yes without a terminal names the call that was read",
    file: COMMAND,
    search: "if (context.json || !isTTY ||",
    replace: "if (!isTTY) return true;\n  if (context.json ||",
    test: ANSWERS,
    title: "print the call as it is decided",
  },
  {
    name: "a yes for another call does not count",
    file: COMMAND,
    search: "digest !== shortDigest(shown.digest) && digest !== shown.digest",
    replace: "digest.length > 1_000",
    test: ANSWERS,
    title: "print the call as it is decided",
  },
  {
    name: "a question on the page has no yes before its end was seen",
    file: "web/src/ui/approval-row.tsx",
    search: "const [isSeen, setSeen] = useState(false);",
    replace: "const [isSeen, setSeen] = useState(true);",
    test: QUESTIONS,
    title: "offers no yes until its end was on the screen",
  },
  {
    name: "a question beyond the limit is not asked",
    file: "src/engine/approvals/question.ts",
    search: "if (length <= MAX_PROMPT) return undefined;",
    replace: "if (length > 0) return undefined;",
    test: QUESTIONS,
    title: "is not asked beyond 20,000 characters",
  },
];
