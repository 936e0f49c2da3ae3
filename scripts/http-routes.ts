/** `npm run tool -- http --write`: writes docs/reference/http.md from the route table. Without `--write` it says whether the page is current. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROUTES } from "../src/app/gateway/route-table.ts";
import { isList } from "../src/app/gateway/routing/output.ts";
import type { Route } from "../src/app/gateway/routing/route.ts";

const FILE = join(import.meta.dirname, "../docs/reference/http.md");

const HEAD = `# The routes of the gateway

\`npm run tool -- http --write\` writes this page from the route table. [The gateway](../gateway.md) explains how they belong together, and
\`/openapi.json\` of a running engine has the schema of every request and response, and an example of every body.

The last column says who may call a route: a token with this [scope](../access.md); \`any\`: every token, which sees what its scopes allow;
\`anonymous\`: nobody needs a token; \`hook\`: the route checks a secret of its own. \`own\`: the token of a person or an application may call it
too, for what belongs to that person.
`;

const rowOf = ({ method, path, summary, access, own, output }: Route): string => {
  const name = path.replace(/:(\w+)/g, "{$1}");
  const text = summary.replaceAll("|", "\\|");
  return `| \`${method} ${name}\` | ${text}${isList(output) ? "; a list" : ""} | ${access}${own ? ", own" : ""} |`;
};

export function routesPage(): string {
  const tags = [...new Set(ROUTES.map(({ tag }) => tag))];
  const parts = tags.map((tag) => {
    const rows = ROUTES.filter((route) => route.tag === tag).map(rowOf);
    return [`## ${tag}`, "", "| route | what it does | access |", "| --- | --- | --- |", ...rows, ""].join("\n");
  });
  return `${HEAD}\n${parts.join("\n")}`;
}

export const readPage = (): string => readFileSync(FILE, "utf8");

if (import.meta.main) {
  if (process.argv.includes("--write")) writeFileSync(FILE, routesPage());
  else if (readPage() !== routesPage()) {
    process.stderr.write("docs/reference/http.md differs from the route table; run npm run tool -- http --write\n");
    process.exitCode = 1;
  }
}
