/** The OpenAPI document, built from the route table and the schemas of its routes. */
import { z } from "zod";
import type { Access } from "../auth/authorise.ts";
import type { Route } from "./route.ts";

export function openApiOf(routes: readonly Route[], version: string): object {
  const paths: Record<string, Record<string, object>> = {};
  for (const route of routes) {
    const path = route.path.replace(/:(\w+)/g, "{$1}");
    paths[path] ??= {};
    paths[path][route.method.toLowerCase()] = operationOf(route);
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Rookery",
      version,
      description: "Durable agents over HTTP. Every route needs a bearer token unless its `security` is empty.",
    },
    paths,
    components: {
      securitySchemes: { token: { type: "http", scheme: "bearer" } },
      schemas: {
        List: {
          type: "object",
          required: ["items", "next"],
          properties: {
            items: { type: "array" },
            next: { type: ["string", "number", "null"], description: "for the next page; null at the end" },
          },
        },
        Error: {
          type: "object",
          required: ["error"],
          properties: {
            error: {
              type: "object",
              required: ["message", "type", "param", "code", "retryable"],
              properties: {
                message: { type: "string" },
                type: { type: "string" },
                param: { type: ["string", "null"] },
                code: { type: "string" },
                hint: { type: "string" },
                retryable: { type: "boolean" },
              },
            },
          },
        },
      },
    },
  };
}

function operationOf(route: Route): object {
  const { method, path, access, answers, tag, summary } = route;
  const { status, holds, type = "application/json" } = answers;
  return {
    operationId: `${method.toLowerCase()}${path.replace(/[^A-Za-z0-9]+(\w)?/g, (_, next: string | undefined) => (next ?? "").toUpperCase())}`,
    tags: [tag],
    summary,
    "x-access": access,
    security: access === "anonymous" ? [] : [{ token: scopesOf(access) }],
    parameters: [
      ...parametersOf(route.params, "path"),
      ...parametersOf(route.query, "query"),
      ...(method === "POST"
        ? [{ name: "Idempotency-Key", in: "header", required: false, schema: { type: "string", maxLength: 255 } }]
        : []),
      ...(type === "text/event-stream"
        ? [{ name: "Last-Event-ID", in: "header", required: false, schema: { type: "string" } }]
        : []),
    ],
    requestBody: bodyOf(route),
    responses: {
      [status]: { description: holds, content: { [type]: answers.list ? LIST : {} } },
      default: {
        description: "What is wrong and what to do",
        content: { "application/json": { schema: { $ref: "#/components/schemas/Error" } } },
      },
    },
  };
}

const LIST = { schema: { $ref: "#/components/schemas/List" } } as const;

function bodyOf(route: Route): object | undefined {
  const { body, bodyType, describes = body, example } = route;
  if (bodyType !== undefined) return { required: true, content: { [bodyType]: {} } };
  if (!describes) return undefined;
  return { required: !route.bodyOptional, content: { "application/json": { schema: schemaOf(describes), example } } };
}

const scopesOf = (access: Access): readonly string[] => (access === "any" || access === "hook" ? [] : [access]);

function parametersOf(schema: z.ZodType | undefined, place: "path" | "query"): readonly object[] {
  if (!schema) return [];
  const { properties = {}, required = [] } = schemaOf(schema) as {
    properties?: Record<string, object>;
    required?: string[];
  };
  return Object.entries(properties).map(([name, one]) => ({
    name,
    in: place,
    required: place === "path" || required.includes(name),
    schema: one,
  }));
}

function schemaOf(schema: z.ZodType): Record<string, unknown> {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io: "input", unrepresentable: "any" }) as Record<
    string,
    unknown
  >;
  return rest;
}
