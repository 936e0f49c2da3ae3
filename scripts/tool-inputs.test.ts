/** No tool of ours ignores an argument that it does not know: a model must read that it has misspelt one. */
import { expect, it } from "vitest";
import { z } from "zod";
import { messageTools } from "../src/adapters/tools/messages/message-tools.ts";
import type { Tool } from "../src/core/ports/tool.ts";
import { nothing, older, tools } from "./rights/rights-table.ts";

/** Objects with arguments that the tool itself reads strictly. */
const READ_LATER = ["cron/properties/job", "cron/properties/patch", "cron_add/properties/gate"];

const all: readonly Tool[] = [...tools, ...older, ...(messageTools(nothing) as readonly Tool[])];

/** Where a JSON Schema has an object that takes other properties than it names. */
function openObjects(schema: unknown, at: string): readonly string[] {
  if (typeof schema !== "object" || schema === null) return [];
  const { type, properties, additionalProperties } = schema as Record<string, unknown>;
  const isOpen = type === "object" && additionalProperties !== false && typeof properties === "object";
  const inner = Object.entries(schema).flatMap(([key, value]) => openObjects(value, `${at}/${key}`));
  return isOpen ? [at, ...inner] : inner;
}

it("describes every object that our own tools take as closed", () => {
  expect(all.length).toBeGreaterThan(40);
  const open = all.flatMap(({ name, input }) =>
    openObjects(z.toJSONSchema(input, { io: "input", unrepresentable: "any" }), name),
  );
  expect(open.sort()).toEqual(READ_LATER);
});
