/** Names the test of each attack that `docs/permissions.md` lists, and fails if a test or an attack of the page is missing. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";

const EXEC = "src/adapters/tools/exec/exec-tool.test.ts";
const FILES = "src/adapters/tools/files/file-tools.test.ts";
const WEB = "src/adapters/tools/web/web-tools.test.ts";
const PLANTED = "test/hostile/planted-programs.test.ts";
const OTHER_PORT = "test/web/other-port.test.ts";

const ATTACKS = [
  ["path", EXEC, "refuses a directory outside, also through a link"],
  ["symlink", FILES, "by a link in the middle of the path is denied"],
  ["hard link", FILES, "does not change a file outside that shares its content by a hard link"],
  ["race", FILES, "by a link that exists only while the file is opened is denied"],
  ["/proc", EXEC, "sees no process of the machine and cannot end any"],
  ["argument", EXEC, "passes a list of arguments on as it is: a shell never reads it"],
  ["environment", EXEC, "gives a clean environment: no variable of this process but the usual ones"],
  ["SSRF by DNS", WEB, "denies a name that leads to a private address at the second request of a redirect"],
  ["SSRF by redirect", WEB, "does not follow a redirect to another host: each host is judged by the gate"],
  ["planted program", PLANTED, "runs no program of %s"],
  ["planted repository", PLANTED, "changes nothing without a yes: %s"],
  ["planted PATH", EXEC, "finds no program in a directory that commands can write, also through a link"],
  [
    "attachment",
    "src/engine/agents/message-ingress.test.ts",
    "mark every file of a message with %s as untrusted, even a file that an agent made",
  ],
  ["quote or forward", "src/engine/agents/connector-host.test.ts", "marks %s as untrusted text"],
  [
    "planted skill",
    EXEC,
    "leaves skills as they are while untrusted text is in context or in the background, and writes them otherwise",
  ],
  ["cookie to another port", OTHER_PORT, "receives nothing that reads a history or stores a rule"],
  ["planted cookie", OTHER_PORT, "cannot make the owner's page a guest's with a cookie or a link"],
  [
    "planted invitation",
    OTHER_PORT,
    "cannot use an invitation unseen: the page asks, and other tabs stay as they were",
  ],
  ["command splitting", "src/core/rights/shell-line.test.ts", "hides nothing that the shell does"],
] as const;

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");

describe("the attacks of docs/permissions.md", () => {
  it("are those that have a test", () => {
    const [, section = ""] = read("docs/permissions.md").split("## Attacks that are tried\n");
    const listed = [...section.matchAll(/^- \*\*.*?\*\*: (.*)$/gm)].flatMap(([, line = ""]) =>
      line.split(", ").map((attack) => attack.replaceAll("`", "")),
    );
    expect(listed.sort()).toEqual(ATTACKS.map(([attack]) => attack).sort());
  });

  it.each(ATTACKS)("include %s, denied in %s", (_, file, title) => {
    expect(read(file)).toContain(`("${title}"`);
  });
});
