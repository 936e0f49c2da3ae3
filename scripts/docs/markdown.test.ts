import { describe, expect, it } from "vitest";
import { commandsIn, problemsOf, routeProblems } from "./commands.ts";
import { anchorOf, readPage } from "./markdown.ts";

describe("readPage", () => {
  it("finds links, anchors, code blocks and code spans with their lines", () => {
    const page = readPage(
      ["# A page", "", "See [it](x.md#y) and `[not](this)`.", "```sh", "# no heading", "ls", "```", "## A page"].join(
        "\n",
      ),
    );
    expect([...page.anchors]).toEqual(["a-page", "a-page-1"]);
    expect(page.links).toEqual([{ line: 3, target: "x.md#y" }]);
    expect(page.blocks).toEqual([{ line: 4, language: "sh", text: "# no heading\nls" }]);
    expect(page.spans).toEqual([{ line: 3, text: "[not](this)" }]);
  });

  it("builds the same anchors as GitHub", () => {
    expect(anchorOf("What it *cannot* show: `files`, [links](x.md) & more")).toBe(
      "what-it-cannot-show-files-links--more",
    );
  });
});

describe("the check of commands", () => {
  it("finds commands in shell and console blocks", () => {
    expect(commandsIn("sh", "# a comment\nnpm ci   # installs\ncurl x \\\n  -d y")).toEqual([
      "npm ci",
      "curl x    -d y",
    ]);
    expect(commandsIn("console", "$ rookery config paths\nhome /x\n$ ls")).toEqual(["rookery config paths", "ls"]);
  });

  it.each([
    "rookery agents list --json",
    "ROOKERY_STORE=postgres://x rookery serve --port 1",
    "echo hi | npm start",
    "npm ci && npm run sim -- --seeds 1000",
    "npx vitest run scripts",
    "npx rookery agents inbox --home data",
    "curl http://127.0.0.1:7717/api/agents/main/history",
    "curl http://127.0.0.1:7717/v1/chat/completions -d '{}'",
    "cat file",
  ])("accepts %s", async (line) => {
    expect(await problemsOf(line)).toEqual([]);
  });

  it.each([
    ["rookery dance", 'rookery dance: rookery: Unknown command "dance".'],
    ["rookery agents dance", 'rookery agents dance: rookery: Unknown action "dance" of agents.'],
    ["npm start -- serve --prot 1", "rookery serve --prot 1: rookery: Unknown flag --prot."],
    ["npx rookery dance", 'rookery dance: rookery: Unknown command "dance".'],
    ["npm run dance", 'npm has no script "dance"'],
    ["npx vitest run src/nowhere", "src/nowhere does not exist"],
    ["curl http://127.0.0.1:7717/api/nowhere", "the gateway has no route GET /api/nowhere"],
    ["curl http://127.0.0.1:7717/v1/chat/completions", "the gateway has no route GET /v1/chat/completions"],
  ])("refuses %s", async (line, problem) => {
    expect(await problemsOf(line)).toEqual([problem]);
  });

  it("accepts placeholders in paths", () => {
    expect(routeProblems("POST", "/api/agents/{agent}/messages")).toEqual([]);
    expect(routeProblems(undefined, "/api/agents/{agent}/message")).toHaveLength(1);
  });
});
