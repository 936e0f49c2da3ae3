/** Standard Schema (standardschema.dev): the part of zod, valibot, arktype and others that validates a value and describes it. */
import { valibotJsonSchema } from "./valibot-schema.ts";

export interface StandardSchema<Output = unknown> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
    /** Of schemas that can describe themselves as JSON Schema. */
    readonly jsonSchema?: {
      readonly input: (options: { readonly target: string }) => Record<string, unknown>;
    };
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined;
  };
}

type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] };

interface StandardIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** What a schema accepts, as JSON Schema. Undefined if the schema cannot say it. */
export function jsonSchemaOf(schema: StandardSchema): Readonly<Record<string, unknown>> | undefined {
  try {
    const { jsonSchema, vendor } = schema["~standard"];
    if (!jsonSchema && vendor === "valibot") return valibotJsonSchema(schema);
    return jsonSchema?.input({ target: "draft-2020-12" });
  } catch {
    // A part of the schema has no form in JSON Schema.
    return undefined;
  }
}

/** One line per issue: `path: message`. */
export const issuesText = (issues: readonly StandardIssue[]): string =>
  issues
    .slice(0, MAX_ISSUES)
    .map(({ message, path = [] }) => {
      const keys = path.map((part) => String(typeof part === "object" ? part.key : part)).join(".");
      return keys === "" ? message : `${keys}: ${message}`;
    })
    .join("\n");

const MAX_ISSUES = 20;
