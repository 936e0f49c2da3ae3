import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openTestGateway, type TestGateway } from "../gateway.test-kit.ts";
import { ROUTES } from "../route-table.ts";
import { NamedSchemas } from "./open-api.ts";
import { isSchema, outputsByStatus } from "./output.ts";

interface Operation {
  readonly "x-access": string;
  readonly security: readonly object[];
  readonly parameters: readonly { readonly name: string; readonly in: string; readonly required: boolean }[];
  readonly requestBody?: {
    readonly content: Record<string, { readonly schema: { readonly properties?: object }; readonly example?: object }>;
  };
  readonly responses: Readonly<Record<string, object>>;
  readonly operationId: string;
}
type Described = Record<string, Record<string, Operation>>;

let kit: TestGateway;
let paths: Described;
beforeAll(async () => {
  kit = await openTestGateway();
  const { json } = await kit.ask({ path: "/openapi.json" });
  expect(json.openapi).toBe("3.1.0");
  paths = json.paths as Described;
});
afterAll(() => kit.close());

describe("the OpenAPI document", () => {
  it("has every route, and no other", () => {
    const described = Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path.replace(/\{(\w+)\}/g, ":$1")}`),
    );
    expect(described.sort()).toEqual(ROUTES.map(({ method, path }) => `${method} ${path}`).sort());
  });

  it("has the access, path parameters and body of each route", () => {
    const ids = new Set<string>();
    for (const route of ROUTES) {
      const operation = paths[route.path.replace(/:(\w+)/g, "{$1}")]?.[route.method.toLowerCase()];
      expect(operation?.["x-access"]).toBe(route.access);
      expect(operation?.security.length).toBe(route.access === "anonymous" ? 0 : 1);
      const places = [...route.path.matchAll(/:(\w+)/g)].map(([, name]) => name);
      const described = operation?.parameters.filter((one) => one.in === "path").map(({ name }) => name);
      expect(described, route.path).toEqual(places);
      expect(operation?.requestBody !== undefined).toBe(route.body !== undefined || route.bodyType !== undefined);
      expect(Object.keys(operation?.responses ?? {})).toEqual([
        ...new Set([
          ...outputsByStatus(route.output).map(({ status }) => String(status)),
          ...Object.keys(route.errors ?? {}),
        ]),
        "default",
      ]);
      ids.add(operation?.operationId ?? "");
    }
    expect(ids.size).toBe(ROUTES.length);
  });

  it("has a schema for every JSON response, and every reference leads to one", async () => {
    const { json } = await kit.ask({ path: "/openapi.json" });
    const { schemas } = json.components as { schemas: Record<string, object> };
    const references = [...JSON.stringify(json).matchAll(/"\$ref":"([^"]+)"/g)].map(([, to = ""]) => to);
    expect(new Set(references)).toEqual(new Set(Object.keys(schemas).map((name) => `#/components/schemas/${name}`)));
    for (const { name, output } of ROUTES) {
      for (const { contents } of outputsByStatus(output)) {
        for (const schema of contents.filter(isSchema)) {
          expect(Object.keys(new NamedSchemas().answer(schema)), name).not.toEqual([]);
        }
      }
    }
  });

  it.each(ROUTES.filter(({ body }) => body))(
    "has an example of the body of $method $path, which it accepts",
    (route) => {
      const path = route.path.replace(/:(\w+)/g, "{$1}");
      const content = paths[path]?.[route.method.toLowerCase()]?.requestBody?.content["application/json"];
      expect(content?.example).toBeDefined();
      expect(Object.keys(content?.schema.properties ?? {}), "the schema names no field").not.toEqual([]);
      for (const schema of [route.body, route.describes]) schema?.parse(content?.example);
    },
  );

  it("is served by a router that decodes path parameters", async () => {
    const key = encodeURIComponent("agent:main:api:dm:ann b");
    await kit.ask({
      method: "POST",
      path: "/v1/chat/completions",
      body: { model: "main", user: "ann b", messages: [{ role: "user", content: "hi" }] },
    });
    const { json } = await kit.ask({ path: `/api/agents/${encodeURIComponent("agent:main:api:dm:ann%20b")}` });
    expect(json.sessionKey).toBe("agent:main:api:dm:ann%20b");
    expect((await kit.ask({ path: `/api/agents/${key}` })).status).toBe(404);
    expect((await kit.ask({ path: "/api/agents/%E0%A4%A" })).json.error?.code).toBe("bad_url");
  });
});
