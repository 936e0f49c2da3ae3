/** The OpenAPI document, built from the route table: every request and every response with its schema. */
import { z } from "zod";
import type { Access } from "../auth/authorise.ts";
import { errorBodySchema } from "../schemas/error.ts";
import { nameRecords } from "../schemas/name-records.ts";
import { isSchema, isStream, outputsByStatus } from "./output.ts";
import type { Route } from "./route.ts";

export type OpenApi = Readonly<Record<string, unknown>>;
type JsonSchema = Readonly<Record<string, unknown>>;

export function openApi(routes: readonly Route[], version: string): OpenApi {
  nameRecords();
  const schemas = new NamedSchemas();
  const paths: Record<string, Record<string, object>> = {};
  for (const route of routes) {
    const path = route.path.replace(/:(\w+)/g, "{$1}");
    paths[path] ??= {};
    paths[path][route.method.toLowerCase()] = operation(route, schemas);
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
      schemas: schemas.all(),
    },
  };
}

function operation(route: Route, schemas: NamedSchemas): object {
  const { method, access, tag, summary, name } = route;
  return {
    operationId: name,
    tags: [tag],
    summary,
    "x-access": access,
    security: access === "anonymous" ? [] : [{ token: scopesOf(access) }],
    parameters: [
      ...parameters(route.params, "path"),
      ...parameters(route.query, "query"),
      ...(method === "POST"
        ? [{ name: "Idempotency-Key", in: "header", required: false, schema: { type: "string", maxLength: 255 } }]
        : []),
      ...(isStream(route)
        ? [{ name: "Last-Event-ID", in: "header", required: false, schema: { type: "string" } }]
        : []),
    ],
    requestBody: requestBody(route),
    responses: {
      ...responses(route, schemas),
      default: errorResponse("The problem, and what to do", schemas),
    },
  };
}

function responses({ output, errors = {} }: Route, schemas: NamedSchemas): Readonly<Record<string, object>> {
  const answers = outputsByStatus(output).map(({ status, contents }) => {
    const content = contents.map((one) =>
      isSchema(one) ? ["application/json", { schema: schemas.answer(one) }] : [one.media, {}],
    );
    const description = contents.map((one) => (isSchema(one) ? one.description : one.holds)).find(Boolean);
    return [status, { description: description ?? "The answer.", content: Object.fromEntries(content) }];
  });
  const refusals = Object.entries(errors).map(([status, text]) => [status, errorResponse(text, schemas)]);
  return Object.fromEntries([...answers, ...refusals]);
}

const errorResponse = (description: string, schemas: NamedSchemas): object => ({
  description,
  content: { "application/json": { schema: schemas.answer(errorBodySchema) } },
});

function requestBody(route: Route): object | undefined {
  const { body, bodyType, describes = body, example } = route;
  if (bodyType !== undefined) return { required: true, content: { [bodyType]: {} } };
  if (!describes) return undefined;
  return {
    required: !route.bodyOptional,
    content: { "application/json": { schema: inputSchema(describes), example } },
  };
}

const scopesOf = (access: Access): readonly string[] => (access === "any" || access === "hook" ? [] : [access]);

function parameters(schema: z.ZodType | undefined, place: "path" | "query"): readonly object[] {
  if (!schema) return [];
  const { properties = {}, required = [] } = inputSchema(schema) as {
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

/** The schema of a request. Names are left out: a request may contain a part of a document under the same name. */
function inputSchema(schema: z.ZodType): JsonSchema {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, {
    io: "input",
    unrepresentable: "any",
    metadata: z.registry<Record<string, never>>(),
  });
  return rest;
}

/** The schemas of answers. One with an id is written once, under its name. */
export class NamedSchemas {
  readonly #named: Record<string, JsonSchema> = {};

  /** As it is sent: ids are texts. A client must accept fields that it does not know. */
  answer(schema: z.ZodType): JsonSchema {
    const {
      $schema: _,
      $defs = {},
      ...rest
    } = z.toJSONSchema(schema, {
      io: "input",
      unrepresentable: "any",
      override: ({ jsonSchema }) => {
        if (jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
      },
    });
    Object.assign(this.#named, inComponents($defs));
    return inComponents(rest);
  }

  all(): Readonly<Record<string, JsonSchema>> {
    return Object.fromEntries(Object.entries(this.#named).sort(([a], [b]) => (a < b ? -1 : 1)));
  }
}

/** References of one schema lead to its own definitions; in the document they are shared. */
function inComponents<T>(schema: T): T {
  return JSON.parse(JSON.stringify(schema).replaceAll('"#/$defs/', '"#/components/schemas/')) as T;
}
