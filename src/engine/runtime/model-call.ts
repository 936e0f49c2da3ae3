/** What every model call shares: when it is tried again, what a call without an answer looks like, a tool's wire form. */
import { z } from "zod";
import {
  MODEL_TRIES,
  type ModelErrorClass,
  type ModelRequest,
  type ModelResult,
  type ModelTool,
} from "../../core/ports/model.ts";
import type { Tool } from "../../core/ports/tool.ts";
import { shortSchema } from "./tool-schema.ts";

const BACKOFF_BASE_MS = 2_000;

/** How long to wait before the same call is tried again; undefined if the caller must decide. */
export function waitBefore({ error }: ModelResult, tries: number): number | undefined {
  if (error?.class !== "transient" && error?.class !== "rate") return undefined;
  if (tries >= MODEL_TRIES[error.class]) return undefined;
  return error.retryAfterMs ?? BACKOFF_BASE_MS * 2 ** (tries - 1);
}

/** The result of a call without an answer. */
export const noAnswer = (request: ModelRequest, errorClass: ModelErrorClass, message: string): ModelResult => ({
  content: [],
  stopReason: errorClass === "aborted" ? "aborted" : "error",
  api: "",
  provider: "",
  model: request.model,
  error: { class: errorClass, message },
});

const schemas = new WeakMap<Tool, ModelTool>();

/** A tool as a model is sent it. Made once, so that the same tool always has the same bytes. */
export function modelTool(tool: Tool): ModelTool {
  let known = schemas.get(tool);
  if (!known) {
    const { name, description, parameters } = tool;
    const made = parameters ?? shortSchema(z.toJSONSchema(tool.input) as Record<string, unknown>);
    known = { name, description, parameters: made };
    schemas.set(tool, known);
  }
  return known;
}
