/** Every route of our own refuses keys that it does not know, in its query and at every depth of its body, with and without a token. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openTestGateway, type TestGateway } from "./gateway.test-kit.ts";
import { ROUTES } from "./route-table.ts";
import { openApi } from "./routing/open-api.ts";
import { isLenient, type Route } from "./routing/route.ts";

let kit: TestGateway;
beforeAll(async () => {
  kit = await openTestGateway();
  const job = { name: "n", schedule: "0 3 * * *", payload: { kind: "agentTurn", message: "m" } };
  VALUES.job = (await kit.ask({ method: "POST", path: "/api/cron", body: job })).json.id as string;
});
afterAll(() => kit.close());

const OWN = ROUTES.filter((route) => !isLenient(route));
const nameOf = ({ method, path }: Route): string => `${method} ${path}`;

/** Values that every path schema takes. */
const VALUES: Record<string, string> = {
  run: "01890000-0000-7000-8000-000000000000",
  seq: "1",
  change: "1",
  agent: "aaaaaaaaaaaaaaaaaaaaaaaa",
  token: "aaaaaaaaaaaa",
  login: "aaaaaaaaaaaa",
};
const pathOf = ({ path }: Route): string => path.replace(/:(\w+)/g, (_, name: string) => VALUES[name] ?? "x");

it("ignores unknown keys only where others decide what is sent", () => {
  expect(ROUTES.filter(isLenient).map(nameOf)).toEqual([
    "POST /v1/chat/completions",
    "POST /v1/responses",
    "POST /api/chat",
    "GET /api/chat/:chat/stream",
    "GET /v1/models",
    "GET /v1/models/:model",
    "GET /channels/:account",
    "POST /channels/:account",
    "POST /mcp",
    "POST /hooks/:hook",
    "GET /",
    "GET /assets/:file",
  ]);
});

describe("an unknown key", () => {
  it.each(OWN.map((route) => [nameOf(route), route] as const))("in the query of %s is refused", async (_, route) => {
    const { method, example } = route;
    const { status, json } = await kit.ask({ method, path: `${pathOf(route)}?limti=1`, body: example });
    expect([status, json.error?.code, json.error?.message]).toEqual([
      400,
      "invalid_input",
      expect.stringContaining('Unknown key "limti".'),
    ]);
  });

  const changing = OWN.filter(
    ({ method, bodyType }) => (method === "POST" || method === "PATCH") && bodyType === undefined,
  );
  it.each(changing.map((route) => [nameOf(route), route] as const))(
    "in the body of %s is refused",
    async (_, route) => {
      const { method, example } = route;
      const { status, json } = await kit.ask({ method, path: pathOf(route), body: { ...example, zzz: 1 } });
      expect([status, json.error?.code, json.error?.message]).toEqual([
        400,
        "invalid_input",
        expect.stringContaining('Unknown key "zzz".'),
      ]);
    },
  );

  it.each([
    ["POST", "/api/cron", { name: "n", schedule: { kind: "cron", expr: "0 3 * * *", tzz: "UTC" } }, "tzz"],
    ["POST", "/api/cron", { name: "n", schedule: "0 3 * * *", sesionTarget: "main" }, "sesionTarget"],
    ["POST", "/api/logins", { coed: "k7mzq2k7mz" }, "coed"],
    ["POST", "/api/logins", { invitaton: "k7mzq2k7mz" }, "invitaton"],
    ["PATCH", "/api/cron/:job", { enabeld: false }, "enabeld"],
    ["PATCH", "/api/cron/:job", { schedule: { kind: "every", everyMs: 60_000, anchroMs: 1 } }, "anchroMs"],
    ["PATCH", "/api/cron/:job", { payload: { kind: "agentTurn", mesage: "m" } }, "mesage"],
    ["POST", "/api/agents/aaaaaaaaaaaaaaaaaaaaaaaa/messages", { text: "a", queue: { mdoe: "queue" } }, "mdoe"],
    ["POST", "/api/people", { id: "bob", grants: [{ alow: "*" }] }, "alow"],
    ["POST", "/api/tokens", { name: "n", scopes: ["read"], limits: { requestPerMinute: 1 } }, "requestPerMinute"],
  ])("deeper in %s %s is refused with a suggestion", async (method, path, body, key) => {
    const payload = path === "/api/cron" ? { payload: { kind: "agentTurn", message: "m" } } : {};
    const { status, json } = await kit.ask({
      ...{ method, path: path.replace(":job", VALUES.job ?? ""), body: { ...payload, ...body } },
    });
    expect(status).toBe(400);
    expect(json.error?.message).toMatch(new RegExp(`Unknown key "${key}"\\. Did you mean "\\w+"\\?`));
  });
});

it("describes every object that our own routes take as closed", () => {
  const { paths } = openApi(OWN, "0.0.0") as { paths: Record<string, Record<string, { requestBody?: object }>> };
  const open = Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).flatMap(([method, { requestBody = {} }]) =>
      openObjects(requestBody).map((at) => `${method} ${path} ${at}`),
    ),
  );
  expect(open).toEqual([]);
});

/** Where a JSON Schema has an object with named properties that takes others too. */
function openObjects(schema: unknown, at = ""): readonly string[] {
  if (typeof schema !== "object" || schema === null) return [];
  const { properties, additionalProperties } = schema as { properties?: object; additionalProperties?: unknown };
  const isOpen = typeof properties === "object" && additionalProperties !== false;
  const inner = Object.entries(schema).flatMap(([key, value]) =>
    key === "example" ? [] : openObjects(value, `${at}/${key}`),
  );
  return isOpen ? [at, ...inner] : inner;
}
